"""The lid-driven cavity at the Reynolds number 400, with plain conditions."""

from typing_extensions import override

from vrba.core import check_between
from vrba.domains import Box
from vrba.problems import Cavity, Data, Dirichlet, Problem, Reference


class Cavity400(Problem):
    """`(u, v) . grad (u, v) + grad p = lap (u, v) / reynolds`, `u_x + v_y = 0`, in the
    unit square; at rest on three walls, `u = 16 x^2 (1 - x)^2` on the lid `y = 1`.

    The flow of `vrba.problems.Cavity`, without its ansatz. One large vortex fills the
    square, with boundary layers on the walls and two weak vortices in the lower
    corners. The pressure is zero in the lower left corner.

    Good values: `reynolds = 400`. Values from 1,000 on raise an error.
    """

    reynolds: float = 400.0
    fields = ("u", "v", "p")
    domain = Box(x=(0, 1), y=(0, 1))

    def __check_init__(self):
        check_between(reynolds=(self.reynolds, 0.0, 1000.0))

    @override
    def equations(self, u, v, p, x, y):
        return {
            "momentum x": u * u.x + v * u.y + p.x - (u.xx + u.yy) / self.reynolds,
            "momentum y": u * v.x + v * v.y + p.y - (v.xx + v.yy) / self.reynolds,
            "mass": u.x + v.y,
        }

    @override
    def conditions(self):
        lid = lambda x, y: 16 * x**2 * (1 - x) ** 2
        return [
            Dirichlet(0.0, on="x", field="u"),
            Dirichlet(0.0, on="x", field="v"),
            Dirichlet(0.0, on="y", at=0, field="u"),
            Dirichlet(lid, on="y", at=1, field="u"),
            Dirichlet(0.0, on="y", field="v"),
            Data([[0.0, 0.0]], [0.0], field="p"),
        ]

    @override
    def reference(self) -> Reference:
        """Return the velocities from 96 x 96 polynomials on 101 x 101 points.

        The error is the difference from 80 x 80 polynomials. The pressure is not
        compared.
        """
        return Cavity(self.reynolds).reference()
