"""Viscous Burgers: a front forms at the centre and stays."""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from ._spectral import relative_difference
from .conditions import Ansatz, Periodic
from .reference import Reference


class Burgers(Problem):
    """`u_t + u u_x = viscosity u_xx`, `u(0, x) = -sin(pi x)`, `u(t, -1) = u(t, 1) = 0`.

    The slope at the centre steepens until viscosity halts it, near `t = 0.5`, at a
    front of thickness about `4 viscosity`; then the front decays slowly. The initial
    and boundary values hold exactly, by the form of the solution.

    Good values: `viscosity = 0.01 / pi`, the usual test, whose steepest slope is -152.
    With 1 / 1000 the front is three times as thin (slope -495), thinner than the
    spacing of the reference, and published errors are ten times larger; above 0.05
    there is hardly a front.

    `is_periodic` is the form of Toscano et al. (2025): the network is periodic in `x`,
    and the values at the ends, which are zero because the solution is odd, are left for
    it to learn.
    """

    viscosity: float = 0.01 / math.pi
    is_periodic: bool = False
    domain = Box(t=(0, 1), x=(-1, 1))

    def __check_init__(self):
        """A front needs viscosity."""
        check_positive(viscosity=self.viscosity)

    def equations(self, u, t, x):
        """The balance of momentum."""
        return {"momentum": u.t + u * u.x - self.viscosity * u.xx}

    def conditions(self):
        """An ansatz that meets them all, or all but the values at the ends."""
        if self.is_periodic:
            start = lambda t, x, N: -jnp.sin(jnp.pi * x) + t * N
            return [Periodic("x"), Ansatz(start)]
        return [Ansatz(lambda t, x, N: -jnp.sin(jnp.pi * x) + t * (1 - x**2) * N)]

    def reference(self) -> Reference:
        """Cole and Hopf's formula on 201 x 513 points.

        Its error is what another step of the quadrature changes, plus the rounding of
        the exponents.
        """
        t, x = np.linspace(0, 1, 201), np.linspace(-1, 1, 513)
        values = cole_hopf(t, x, self.viscosity, step=0.08)
        coarse = cole_hopf(t, x, self.viscosity, step=0.1)
        rounding = float(np.finfo(float).eps) / (math.pi * self.viscosity)
        error = relative_difference(coarse, values) + rounding
        return Reference({"t": t, "x": x}, values, error)


def cole_hopf(
    t: Float[np.ndarray, " times"],
    x: Float[np.ndarray, " places"],
    viscosity: float,
    step: float,
) -> Float[np.ndarray, "times places"]:
    """The solution as a ratio of integrals over `s` (Cole 1951, Hopf 1950),
    `-<sin(pi y)>` with `y = x - sqrt(4 viscosity t) s` and the weight
    `exp(-s^2 - cos(pi y) / (2 pi viscosity))`.

    By the trapezoidal rule, whose error falls like `exp(-2.4 / step^2)` or faster: the
    narrowest peak of the weight is a Gaussian of variance `1 / (2 + 2 pi t)`.
    """
    sine, cosine = np.sin(np.pi * x), np.cos(np.pi * x)
    rows = []
    for time in t:
        # All peaks lie within |s| <= sqrt(t / (4 viscosity)); seven further out the
        # weight has fallen to exp(-49) of the largest of them.
        reach = math.sqrt(time / (4 * viscosity)) + 7
        s = step * np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1)
        shift = np.pi * math.sqrt(4 * viscosity * time) * s
        cos_shift, sin_shift = np.cos(shift), np.sin(shift)
        height = np.outer(cosine, cos_shift) + np.outer(sine, sin_shift)
        exponent = -height / (2 * np.pi * viscosity) - s**2
        weight = np.exp(exponent - np.max(exponent, axis=1, keepdims=True))
        sums = weight @ np.stack([np.ones_like(s), cos_shift, sin_shift], axis=1)
        rows.append((cosine * sums[:, 2] - sine * sums[:, 1]) / sums[:, 0])
    return np.stack(rows)
