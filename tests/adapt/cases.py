"""Potentials to test: every class of the room, and some of one's own."""

import equinox as eqx
import jax.numpy as jnp
import mpmath as mp
import numpy as np

from tests.rooms import concrete
from vrba.adapt import AbstractPotential, Custom, Linear, Power

OWN = {
    "own_quartic": Custom(lambda s: s**2 + s**4),
    "own_exponential": Custom(jnp.exp, everywhere=True),
}
BUILT_IN = {
    cls.__name__: cls()
    for cls in concrete("vrba.adapt", AbstractPotential)
    if cls is not Custom
} | {"Power1.2": Power(1.2)}
POTENTIALS = BUILT_IN | OWN
ADAPTIVE = {n: p for n, p in POTENTIALS.items() if not isinstance(p, Linear)}
WITHOUT_SHIFT = {  # those whose slope starts below one
    n: p for n, p in ADAPTIVE.items() if n not in ("Exponential", "own_exponential")
}


def exact(name: str):
    """The potential in mpmath, written from the page, not from the code."""
    return {
        "Exponential": lambda s: mp.expm1(s),
        "own_exponential": lambda s: mp.exp(s),
        "Quadratic": lambda s: mp.mpf(s) ** 2,
        "Power": lambda s: mp.mpf(s) ** 3,
        "Power1.2": lambda s: mp.mpf(s) ** mp.mpf(1.2),
        "own_quartic": lambda s: mp.mpf(s) ** 2 + mp.mpf(s) ** 4,
        "Cosh": lambda s: mp.cosh(s) - 1,
        "Logarithmic": lambda s: (1 + mp.mpf(s)) * mp.log(1 + mp.mpf(s)) - s,
        "SuperExponential": lambda s: mp.expm1(mp.mpf(s) ** 2) / 2,
        "Linear": lambda s: mp.mpf(s),
    }[name]


@eqx.filter_jit
def call(potential, method: str, *numbers):
    """A method of a potential, compiled once for each shape."""
    return getattr(potential, method)(*numbers)


@eqx.filter_jit
def _tilt(potential, temperature, size, base, count):
    scale = temperature.measure(potential, size, base, jnp.max(size), count)
    return scale.top_weight * scale.relative_weight(potential, size), scale


def tilt(potential, temperature, size, base=None, count=0):
    """The weight `dq/dp` of each point, and the scale."""
    count = jnp.asarray(count, jnp.int32)
    size = jnp.asarray(size)
    base = jnp.full(size.shape, 1 / size.size) if base is None else jnp.asarray(base)
    weight, scale = _tilt(potential, temperature, size, base, count)
    return np.asarray(weight), scale
