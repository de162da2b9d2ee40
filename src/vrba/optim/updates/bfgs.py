"""The update of Broyden, Fletcher, Goldfarb and Shanno."""

import jax.numpy as jnp

from ._base import AbstractUpdate, Correction, Secant, broyden_correction


class BFGS(AbstractUpdate):
    """`H+ = (I - rho s y') H (I - rho y s') + rho s s'`, `rho = 1/y's`. (1970)"""

    def correction(self, secant: Secant) -> Correction:
        """The coefficients, for a positive curvature `y's`."""
        one = jnp.ones_like(secant.step_size)
        return broyden_correction(secant, one, one)
