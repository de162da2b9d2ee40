"""Linear elasticity: stress concentration at a hole in a plate."""

from typing import Any

from typing_extensions import override

from ..core import InputError
from ..domains import Box, Disk
from ._base import Problem
from .conditions import Ansatz, Constraint
from .reference import Reference, exact_reference

_SIZE = 4.0
_HOLE = Disk(x=0, y=0, radius=1)


class PlateWithHole(Problem):
    """Plane stress in a quarter of a plate, `x` and `y` from 0 to 4, with a hole of
    radius one about the origin, under tension in `x` far away.

    `u` and `v` are displacements in units of the tension times the hole's radius over
    Young's modulus. The equations of equilibrium are divided by their largest
    coefficient. The plate is symmetric about `x = 0` and `y = 0`, and the hole is free
    of traction. The outer edges have the displacements of an infinite plate (`kirsch`),
    which is the solution. At the top of the hole, the stress along `x` is three times
    the tension; at its side, the stress along `y` is minus the tension.

    The displacements on the outer edges and across the lines of symmetry are hard
    constraints. Zero traction at the hole and zero shear on the lines of symmetry are
    loss terms.

    Good values: `poisson = 0.3`, as for steel.
    """

    poisson: float = 0.3
    fields = ("u", "v")
    domain = Box(x=(0, _SIZE), y=(0, _SIZE)) - _HOLE

    def __check_init__(self):
        if not -1 < self.poisson < 1:
            raise InputError(
                f"`poisson` must be between -1 and 1, got {self.poisson:g}."
            )

    @override
    def equations(self, u, v, x, y):
        shear, mixed = (1 - self.poisson) / 2, (1 + self.poisson) / 2
        return {
            "force x": u.xx + shear * u.yy + mixed * v.xy,
            "force y": v.yy + shear * v.xx + mixed * u.xy,
        }

    @override
    def conditions(self):
        """Return an ansatz for displacements, and loss terms for forces."""

        def solution(x, y, N_u, N_v):
            inside = (1 - x / _SIZE) * (1 - y / _SIZE)
            u, v = self._interpolate_edges(x, y)
            return u + x * inside * N_u, v + y * inside * N_v

        def traction_x(u, v, x, y, normal):
            along, _, shear = self.stresses(u, v)
            return along * normal[0] + shear * normal[1]

        def traction_y(u, v, x, y, normal):
            _, across, shear = self.stresses(u, v)
            return shear * normal[0] + across * normal[1]

        return [
            Ansatz(solution),
            Constraint(traction_x, on=_HOLE),
            Constraint(traction_y, on=_HOLE),
            Constraint(lambda u, v, x, y, normal: v.x, on="x", at=0),
            Constraint(lambda u, v, x, y, normal: u.y, on="y", at=0),
        ]

    def stresses(self, u: Any, v: Any) -> tuple[Any, Any, Any]:
        """Return the stress along `x`, along `y` and the shear stress.

        They are in units of the tension; `u` and `v` are fields with derivatives.
        """
        scale = 1 / (1 - self.poisson**2)
        along = scale * (u.x + self.poisson * v.y)
        across = scale * (v.y + self.poisson * u.x)
        return along, across, (u.y + v.x) / (2 * (1 + self.poisson))

    def _interpolate_edges(self, x, y):
        """Return displacements that are exact on the outer edges and symmetric.

        They interpolate the ratios `u / x` and `v / y` on the edges.
        """
        right = displacement_ratios(_SIZE, y, self.poisson)
        top = displacement_ratios(x, _SIZE, self.poisson)
        corner = displacement_ratios(_SIZE, _SIZE, self.poisson)
        u, v = (r + t - c for r, t, c in zip(right, top, corner, strict=True))
        return x * u, y * v

    @override
    def reference(self) -> Reference:
        """Return Kirsch's solution on 201 x 201 points, NaN in the hole.

        The error is the difference from extended precision.
        """

        def fn(x, y):
            return dict(zip(self.fields, kirsch(x, y, self.poisson), strict=True))

        return exact_reference(self.domain, fn, 201, 201)


def kirsch(x: Any, y: Any, poisson: float) -> tuple[Any, Any]:
    """Return the displacements of an infinite plate with a hole (Kirsch 1898).

    The hole has radius one, the tension in `x` is one, in plane stress. Units are the
    radius and Young's modulus.
    """
    u, v = displacement_ratios(x, y, poisson)
    return x * u, y * v


def displacement_ratios(x: Any, y: Any, poisson: float) -> tuple[Any, Any]:
    """Return `u / x` and `v / y` of Kirsch's solution."""
    square = x**2 + y**2
    kappa = (3 - poisson) / (1 + poisson)
    near = 2 * (1 - 1 / square) / square**2
    u = kappa + 1 + 2 * (1 + kappa) / square + near * (x**2 - 3 * y**2)
    v = kappa - 3 + 2 * (1 - kappa) / square + near * (3 * x**2 - y**2)
    return (1 + poisson) / 4 * u, (1 + poisson) / 4 * v
