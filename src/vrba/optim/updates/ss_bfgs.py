"""BFGS that rescales the old inverse Hessian before each correction."""

import jax.numpy as jnp

from ._base import AbstractUpdate, Correction, Secant, broyden_correction


class SSBFGS(AbstractUpdate):
    """BFGS with `H` divided by `tau = min(1, y's / s'Bs)` first. (Al-Baali 1998)

    Where the objective curves less than `H` believes, all of `H` grows: an inverse
    that was too small recovers in one step instead of one direction at a time.
    """

    def correction(self, secant: Secant) -> Correction:
        """The coefficients, for a positive curvature `y's`."""
        one = jnp.ones_like(secant.step_size)
        tau = jnp.minimum(one, secant.curvature / secant.hessian_curvature)
        return broyden_correction(secant, one, tau)
