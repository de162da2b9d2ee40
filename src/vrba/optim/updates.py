"""Updates: rules that correct an inverse Hessian by a secant."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
from typing_extensions import override

from ..core import select_tree

Scalar = Float[Array, ""]
Vector = Float[Array, " params"]


class Secant(eqx.Module):
    """A step `s = -step_size H g` and the change `y` of the gradient along it.

    `inverse_change` is `H y`. Update rules need only the scalars below.
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
        """`s'Bs` for the Hessian `B`, the inverse of `H`: `-step_size s'g`."""
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
        """Return `H+ v`, given `H v`."""
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
        """Return `H+`, exactly symmetric if `H` is.

        Completing the square, on the larger of the two terms, leaves two outer
        products of vectors with themselves. The matrix is read and written once.
        """
        hy, s = secant.inverse_change, secant.step
        sizes = self.on_inverse * jnp.vdot(hy, hy), self.on_step * jnp.vdot(s, s)
        swaps = jnp.abs(sizes[0]) > jnp.abs(sizes[1])
        either = lambda a, b: jnp.where(swaps, a, b)
        main, other = either(hy, s), either(s, hy)
        pivot = either(self.on_inverse, self.on_step)
        ratio = jnp.where(pivot == 0, 0, self.on_both / jnp.where(pivot == 0, 1, pivot))
        remainder = either(self.on_step, self.on_inverse) - ratio * self.on_both
        first = jnp.sqrt(jnp.abs(pivot)) * (main + ratio * other)
        second = jnp.sqrt(jnp.abs(remainder)) * other
        return (
            self.scale * inverse
            + jnp.sign(pivot) * (first[:, None] * first[None, :])
            + jnp.sign(remainder) * (second[:, None] * second[None, :])
        )

    def unless(self, is_bad: Bool[Array, ""]) -> "Correction":
        """Return a correction without effect if `is_bad`, else this one."""
        zero, one = jnp.zeros_like(self.scale), jnp.ones_like(self.scale)
        no_correction = Correction(one, zero, zero, zero)
        return select_tree(is_bad, no_correction, self)


class AbstractUpdate(eqx.Module):
    """A rule that corrects the inverse Hessian so that `H+ y = s`."""

    @abc.abstractmethod
    def correction(self, secant: Secant) -> Correction:
        """Return the coefficients, for a positive curvature `y's`."""


class BFGS(AbstractUpdate):
    """`H+ = (I - rho s y') H (I - rho y s') + rho s s'`, `rho = 1/y's`. (1970)"""

    @override
    def correction(self, secant: Secant) -> Correction:
        one = jnp.ones_like(secant.step_size)
        return _broyden_correction(secant, one, one)


class SSBFGS(AbstractUpdate):
    """Self-scaled BFGS: `H` is first divided by `min(1, y's / s'Bs)`. (Al-Baali 1998)

    Where the loss has less curvature than `H` predicts, all of `H` grows. An inverse
    that is too small then recovers in one step, not one direction at a time.
    """

    @override
    def correction(self, secant: Secant) -> Correction:
        one = jnp.ones_like(secant.step_size)
        tau = jnp.minimum(one, secant.curvature / secant.hessian_curvature)
        return _broyden_correction(secant, one, tau)


class SSBroyden(AbstractUpdate):
    """Self-scaled Broyden: each step chooses the scale and the member of the family.

    (Al-Baali and Khalfan 2005; for PINNs, Urban, Stefanou and Pons 2025.) With
    `b = s'Bs/y's`, `h = y'Hy/y's`, `a = bh - 1`: the bounds of the member `theta` keep
    `H+` positive definite, and the scale `tau` bounds its determinant.
    """

    @override
    def correction(self, secant: Secant) -> Correction:
        b = secant.hessian_curvature / secant.curvature
        h = secant.inverse_curvature / secant.curvature
        a = jnp.maximum(b * h - 1, 0)  # not negative by Cauchy-Schwarz, up to round-off
        c = jnp.sqrt(a / (1 + a))
        rho_minus = jnp.minimum(1, h / ((1 + a) * (1 + c)))  # h (1 - c), stably
        safe_a = jnp.where(a > 0, a, 1)
        theta_minus = jnp.where(a > 0, (rho_minus - 1) / safe_a, -jnp.inf)
        theta_plus = 1 / rho_minus
        theta = jnp.maximum(theta_minus, jnp.minimum(theta_plus, (1 - b) / b))
        sigma = 1 + theta * a
        kappa = jnp.minimum(1, 1 / b)
        if secant.num_params == 1:  # the secant alone determines H+
            spread = jnp.ones_like(sigma)
        else:
            spread = jnp.abs(sigma) ** (1 / (1 - secant.num_params))
        safe_theta = jnp.where(theta > 0, theta, 1)
        tau = jnp.where(
            theta > 0,
            kappa * jnp.minimum(spread, 1 / safe_theta),
            jnp.minimum(kappa * spread, sigma),
        )
        return _broyden_correction(secant, (1 - theta) / sigma, tau)


def _broyden_correction(secant: Secant, member: Scalar, scale: Scalar) -> Correction:
    """Return the correction of a member of the self-scaled Broyden family.

    `H+ = [H - Hy y'H/(y'Hy) + member (y'Hy) v v']/scale + s s'/(y's)` with
    `v = s/(y's) - Hy/(y'Hy)`; `member` one is BFGS, zero is DFP.
    """
    rho, hh = 1 / secant.curvature, secant.inverse_curvature
    return Correction(
        1 / scale,
        (member - 1) / (hh * scale),
        -member * rho / scale,
        rho + member * hh * rho**2 / scale,
    )
