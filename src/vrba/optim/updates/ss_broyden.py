"""The self-scaled Broyden update."""

import jax.numpy as jnp

from ._base import AbstractUpdate, Correction, Secant, broyden_correction


class SSBroyden(AbstractUpdate):
    """Scale and member of Broyden's family both chosen by the step.

    (Al-Baali and Khalfan 2005; for PINNs, Urban, Stefanou and Pons 2025.) With
    `b = s'Bs/y's`, `h = y'Hy/y's`, `a = bh - 1`: the member `theta` lies between
    bounds that keep `H+` positive definite, and the scale `tau` bounds its
    determinant.
    """

    def correction(self, secant: Secant) -> Correction:
        """The coefficients, for a positive curvature `y's`."""
        b = secant.hessian_curvature / secant.curvature
        h = secant.inverse_curvature / secant.curvature
        a = jnp.maximum(b * h - 1, 0)  # Cauchy-Schwarz, but for round-off
        c = jnp.sqrt(a / (1 + a))
        rho_minus = jnp.minimum(1, h / ((1 + a) * (1 + c)))  # h (1 - c), to all digits
        safe_a = jnp.where(a > 0, a, 1)
        theta_minus = jnp.where(a > 0, (rho_minus - 1) / safe_a, -jnp.inf)
        theta_plus = 1 / rho_minus
        theta = jnp.maximum(theta_minus, jnp.minimum(theta_plus, (1 - b) / b))
        sigma = 1 + theta * a
        kappa = jnp.minimum(1, 1 / b)
        if secant.num_params == 1:  # all members agree, the secant fixes H+
            spread = jnp.ones_like(sigma)
        else:
            spread = jnp.abs(sigma) ** (1 / (1 - secant.num_params))
        safe_theta = jnp.where(theta > 0, theta, 1)
        tau = jnp.where(
            theta > 0,
            kappa * jnp.minimum(spread, 1 / safe_theta),
            jnp.minimum(kappa * spread, sigma),
        )
        return broyden_correction(secant, (1 - theta) / sigma, tau)
