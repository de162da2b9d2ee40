"""The interface of an update of the inverse Hessian: coefficients, not matrices."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...core import select_tree

Scalar = Float[Array, ""]
Vector = Float[Array, " params"]


class Secant(eqx.Module):
    """What a step `s = -step_size H g` showed: the gradient changed by `y`.

    `inverse_change` is `H y`. Rules read the scalars below, each formed once.
    """

    step: Vector
    gradient_change: Vector
    gradient: Vector
    step_size: Scalar
    inverse_change: Vector

    @property
    def num_params(self) -> int:
        """The number of parameters."""
        return self.step.size

    @property
    def curvature(self) -> Scalar:
        """`y's`, positive where the objective curves upwards along the step."""
        return jnp.vdot(self.gradient_change, self.step)

    @property
    def inverse_curvature(self) -> Scalar:
        """`y'Hy`."""
        return jnp.vdot(self.gradient_change, self.inverse_change)

    @property
    def hessian_curvature(self) -> Scalar:
        """`s'Bs` with `B` the inverse of `H`: `-step_size s'g`."""
        return -self.step_size * jnp.vdot(self.step, self.gradient)


class Correction(eqx.Module):
    """`H+ = scale H + a (Hy)(Hy)' + b (Hy s' + s (Hy)') + c s s'`."""

    scale: Scalar
    on_inverse: Scalar
    on_both: Scalar
    on_step: Scalar

    def times(
        self, secant: Secant, inverse_times: Vector, vector: Vector
    ) -> Float[Array, " params"]:
        """`H+ v`, given `H v`."""
        hy, s = secant.inverse_change, secant.step
        along_hy, along_s = jnp.vdot(hy, vector), jnp.vdot(s, vector)
        return (
            self.scale * inverse_times
            + (self.on_inverse * along_hy + self.on_both * along_s) * hy
            + (self.on_both * along_hy + self.on_step * along_s) * s
        )

    def apply(
        self, secant: Secant, inverse: Float[Array, "params params"]
    ) -> Float[Array, "params params"]:
        """`H+`, exactly symmetric if `H` is.

        Completing the square, on the larger of the two terms, leaves two squares of
        vectors, so the matrix is read and written once.
        """
        hy, s = secant.inverse_change, secant.step
        sizes = self.on_inverse * jnp.vdot(hy, hy), self.on_step * jnp.vdot(s, s)
        swaps = jnp.abs(sizes[0]) > jnp.abs(sizes[1])
        either = lambda a, b: jnp.where(swaps, a, b)
        main, other = either(hy, s), either(s, hy)
        pivot = either(self.on_inverse, self.on_step)
        ratio = jnp.where(pivot == 0, 0, self.on_both / jnp.where(pivot == 0, 1, pivot))
        rest = either(self.on_step, self.on_inverse) - ratio * self.on_both
        first = jnp.sqrt(jnp.abs(pivot)) * (main + ratio * other)
        second = jnp.sqrt(jnp.abs(rest)) * other
        return (
            self.scale * inverse
            + jnp.sign(pivot) * (first[:, None] * first[None, :])
            + jnp.sign(rest) * (second[:, None] * second[None, :])
        )

    def unless(self, is_bad: Bool[Array, ""]) -> "Correction":
        """The correction that changes nothing, if this one is bad."""
        zero, one = jnp.zeros_like(self.scale), jnp.ones_like(self.scale)
        nothing = Correction(one, zero, zero, zero)
        return select_tree(is_bad, nothing, self)


class AbstractUpdate(eqx.Module):
    """A rule that corrects the inverse Hessian so that `H+ y = s`."""

    @abc.abstractmethod
    def correction(self, secant: Secant) -> Correction:
        """The coefficients, for a positive curvature `y's`."""


def broyden_correction(secant: Secant, share: Scalar, scale: Scalar) -> Correction:
    """The Broyden family for inverses, self-scaled.

    `H+ = [H - Hy y'H/(y'Hy) + share (y'Hy) v v']/scale + s s'/(y's)` with
    `v = s/(y's) - Hy/(y'Hy)`; `share` one is BFGS, zero is DFP.
    """
    rho, hh = 1 / secant.curvature, secant.inverse_curvature
    return Correction(
        1 / scale,
        (share - 1) / (hh * scale),
        -share * rho / scale,
        rho + share * hh * rho**2 / scale,
    )
