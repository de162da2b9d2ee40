"""The lid-driven cavity: a wall that slides turns the fluid in a box."""

import numpy as np

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from ._spectral import relative_difference
from ._stream import solve_flow
from .conditions import Ansatz, Data
from .reference import Reference


class Cavity(Problem):
    """`(u, v) . grad (u, v) + grad p = lap (u, v) / reynolds`, `u_x + v_y = 0`, in the
    unit square; at rest on three walls, `u = 16 x^2 (1 - x)^2` on the lid `y = 1`.

    One large vortex, its centre above the middle and off to the right, and two weak
    ones in the lower corners. The lid slides slower towards its ends, so that the
    velocity is continuous and the vorticity bounded; `ClassicalCavity` has neither.

    The walls hold exactly, by the form of the solution: the velocity of a stream
    function that does so, and a network times a factor that vanishes there. The
    pressure, which no condition fixes, is zero in the lower left corner.

    Good values: `reynolds = 100`. Above 400 layers at the walls become thin.
    """

    reynolds: float = 100.0
    fields = ("u", "v", "p")
    domain = Box(x=(0, 1), y=(0, 1))

    def __check_init__(self):
        """Steady flow needs viscosity."""
        check_positive(reynolds=self.reynolds)

    def equations(self, u, v, p, x, y):
        """The balance of momentum in both directions, and that of mass."""
        return navier_stokes(u, v, p, self.reynolds)

    def conditions(self):
        """An ansatz for the walls, and the level of the pressure."""

        def solution(x, y, N_u, N_v, N_p):
            slope = 32 * x * (1 - x) * (1 - 2 * x)  # of the lid's velocity
            wall = 16 * x * (1 - x) * y * (1 - y)
            u = lid(x) * (3 * y - 2) * y + wall * N_u
            v = slope * (1 - y) * y**2 + wall * N_v
            return u, v, N_p

        return [Ansatz(solution), Data([[0.0, 0.0]], [0.0], of="p")]

    def reference(self) -> Reference:
        """The velocities of a stream function of 40 x 40 polynomials, on 101 x 101
        points.

        Their error is the distance to those of 32 x 32 polynomials, which is the error
        of these. The pressure is not compared.
        """
        axis = np.linspace(0, 1, 101)
        coarse, values = (
            np.stack(
                solve_flow(known_stream, float(self.reynolds), size).velocity(
                    axis, axis
                )
            )
            for size in (32, 40)
        )
        error = relative_difference(coarse, values)
        return Reference(
            {"x": axis, "y": axis}, {"u": values[0], "v": values[1]}, error
        )


def navier_stokes(u, v, p, reynolds):
    """The residuals of steady plane flow."""
    return {
        "momentum x": u * u.x + v * u.y + p.x - (u.xx + u.yy) / reynolds,
        "momentum y": u * v.x + v * v.y + p.y - (v.xx + v.yy) / reynolds,
        "mass": u.x + v.y,
    }


def lid(x):
    """How fast the lid slides."""
    return 16 * x**2 * (1 - x) ** 2


def known_stream(x, y):
    """A stream function that meets all conditions at the walls."""
    return lid(x) * (y - 1) * y**2
