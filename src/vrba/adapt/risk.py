"""The risk of a potential, its primal and dual value, and the derived norm."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from ..core import find_root, float_dtype
from ._inputs import check_base, log_largest_argument
from .potentials import AbstractPotential
from .temperatures.solved import check_shift, solve_shift


class Duality(eqx.Module):
    """`inf_nu { nu + T E_p phi((r - nu) / T) } = sup_q { E_q r - T D(q | p) }`."""

    primal: Float[Array, ""]  # the risk
    dual: Float[Array, ""]  # the dual value of the given tilt
    gap: Float[Array, ""]  # primal - dual >= 0
    shift: Float[Array, ""]  # the nu that attains the infimum
    weight: Float[Array, " points"]  # the optimal tilt dq/dp, of mean one


def duality(
    potential: AbstractPotential,
    residual: Num[Array | np.ndarray, " points"],
    temperature: float | Float[Array | np.ndarray, ""],
    tilt: Float[Array | np.ndarray, " points"] | None = None,
    base: Float[Array | np.ndarray, " points"] | None = None,
) -> Duality:
    """Primal value, dual value of `tilt`, and the gap between them.

    `tilt` holds probabilities, or a multiple of them; by default the optimal tilt.
    `D(q | p) = E_p[phi*(dq/dp)]`, which need not vanish at `q = p`.
    """
    if potential.degree() != 1:
        check_shift(potential, "duality")
    size = jnp.abs(jnp.asarray(residual))
    if not jnp.issubdtype(size.dtype, jnp.inexact):
        size = size.astype(float_dtype())
    heat = jnp.asarray(temperature, size.dtype)
    return _duality(potential, size, heat, tilt, base)


@eqx.filter_jit
def _duality(potential, size, heat, tilt, base):
    base = jnp.ones_like(size) if base is None else base
    base = check_base(base, size.shape, size.dtype)
    is_good = (heat > 0) & jnp.isfinite(heat)
    heat = eqx.error_if(heat, ~is_good, "`temperature` must be positive and finite.")
    size = eqx.error_if(size, ~jnp.isfinite(size), "`residual` must be finite.")
    if potential.degree() == 1:  # any shift below the smallest size attains the infimum
        shift, weight = jnp.min(size), jnp.ones_like(size)
        argument = (size - shift) / heat
    else:
        count = jnp.zeros((), jnp.int32)
        peak = jnp.max(jnp.where(base > 0, size, 0))
        fit = solve_shift(potential, size, base, peak, heat, count)
        shift, argument = fit.shift, fit.argument(size)
        weight = fit.top_weight * fit.relative_weight(potential, size)
    primal = shift + heat * jnp.sum(base * potential.value(argument))
    if tilt is None:
        given = weight
    else:
        share = jnp.asarray(tilt, size.dtype) / jnp.sum(jnp.asarray(tilt, size.dtype))
        given = share / jnp.where(base > 0, base, 1)
    price = jnp.where(base > 0, base * potential.conjugate(given), 0)
    if tilt is not None:  # the price is infinite outside the support of the base
        price = jnp.where((base == 0) & (given > 0), jnp.inf, price)
    dual = jnp.sum(base * given * size) - heat * jnp.sum(price)
    return Duality(primal, dual, primal - dual, shift, weight)


def derived_functional(
    potential: AbstractPotential,
    residual: Num[Array | np.ndarray, " points"],
    temperature: float | Float[Array | np.ndarray, ""],
    base: Float[Array | np.ndarray, " points"] | None = None,
) -> Float[Array, ""]:
    """`Lambda_T = T phi^-1(risk / T)`.

    For a power `s**p` its supremum over `T` is the L^p norm, reached at the temperature
    of `SolveTemperature`.
    """
    risk = duality(potential, residual, temperature, base=base).primal
    return _derived(potential, risk, jnp.asarray(temperature, risk.dtype))


@eqx.filter_jit
def _derived(potential, risk, temperature):
    bound = jnp.full_like(risk, log_largest_argument(risk.dtype))
    target = risk / temperature
    log_s = find_root(lambda x: potential.value(jnp.exp(x)) - target, -bound, bound)
    return jnp.where(risk > 0, temperature * jnp.exp(log_s), 0)
