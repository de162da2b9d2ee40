"""Linear elasticity: a hole concentrates the stress of a plate in tension."""

from typing import Any

import numpy as np

from ..core import InputError
from ..domains import Box, Disk
from ._base import Problem
from .conditions import Ansatz, Constraint
from .reference import Reference

_SIZE = 4.0
_HOLE = Disk(x=0, y=0, radius=1)


class PlateWithHole(Problem):
    """Plane stress in a quarter of a plate, `x` and `y` from 0 to 4, with a hole of
    radius one about the origin, under tension in `x` far away.

    `u` and `v` are displacements in units of the tension times the hole's radius over
    Young's modulus; the equations of equilibrium are divided by their largest
    coefficient. The plate is symmetric about `x = 0` and `y = 0`, nothing pulls at the
    hole, and on the outer edges the displacements are those of an infinite plate
    (`kirsch`), which is then the solution. The stress along `x` is three times the
    tension at the top of the hole, and minus the tension in `y` at its side.

    The displacements on the outer edges and those across the lines of symmetry hold
    exactly, by the form of the solution; that the hole is free, and the lines of
    symmetry free of shear, are terms of the loss.

    Good values: `poisson = 0.3`, as of steel.
    """

    poisson: float = 0.3
    fields = ("u", "v")
    domain = Box(x=(0, _SIZE), y=(0, _SIZE)) - _HOLE

    def __check_init__(self):
        """A ratio for which the energy is positive in plane stress."""
        if not -1 < self.poisson < 1:
            raise InputError(
                f"`poisson` must be between -1 and 1, got {self.poisson:g}."
            )

    def equations(self, u, v, x, y):
        """The balance of forces in both directions."""
        shear, mixed = (1 - self.poisson) / 2, (1 + self.poisson) / 2
        return {
            "force x": u.xx + shear * u.yy + mixed * v.xy,
            "force y": v.yy + shear * v.xx + mixed * u.xy,
        }

    def conditions(self):
        """An ansatz for displacements; forces at the hole, shear on the symmetries."""

        def solution(x, y, N_u, N_v):
            inside = (1 - x / _SIZE) * (1 - y / _SIZE)
            u, v = self._from_edges(x, y)
            return u + x * inside * N_u, v + y * inside * N_v

        def pull_x(u, v, x, y, normal):
            along, _, shear = self.stresses(u, v)
            return along * normal[0] + shear * normal[1]

        def pull_y(u, v, x, y, normal):
            _, across, shear = self.stresses(u, v)
            return shear * normal[0] + across * normal[1]

        return [
            Ansatz(solution),
            Constraint(pull_x, on=_HOLE),
            Constraint(pull_y, on=_HOLE),
            Constraint(lambda u, v, x, y, normal: v.x, on="x", at=0),
            Constraint(lambda u, v, x, y, normal: u.y, on="y", at=0),
        ]

    def stresses(self, u: Any, v: Any) -> tuple[Any, Any, Any]:
        """The stress along `x`, along `y` and the shear stress, in units of the
        tension, from fields with derivatives."""
        scale = 1 / (1 - self.poisson**2)
        along = scale * (u.x + self.poisson * v.y)
        across = scale * (v.y + self.poisson * u.x)
        return along, across, (u.y + v.x) / (2 * (1 + self.poisson))

    def _from_edges(self, x, y):
        """Displacements that are exact on the outer edges, blended from what they are
        there: the stretches, so that the symmetries hold, too."""
        right = stretches(_SIZE, y, self.poisson)
        top = stretches(x, _SIZE, self.poisson)
        corner = stretches(_SIZE, _SIZE, self.poisson)
        u, v = (r + t - c for r, t, c in zip(right, top, corner, strict=True))
        return x * u, y * v

    def reference(self) -> Reference:
        """Kirsch's solution on 201 x 201 points, NaN in the hole; its error is that of
        rounding."""

        def fn(x, y):
            return dict(zip(self.fields, kirsch(x, y, self.poisson), strict=True))

        rounding = float(np.finfo(float).eps)
        return Reference.from_function(self.domain, fn, (201, 201), rounding)


def kirsch(x: Any, y: Any, poisson: float) -> tuple[Any, Any]:
    """Displacements of an infinite plate with a hole of radius one under unit tension
    in `x` (Kirsch 1898), in plane stress, in units of radius and Young's
    modulus."""
    u, v = stretches(x, y, poisson)
    return x * u, y * v


def stretches(x: Any, y: Any, poisson: float) -> tuple[Any, Any]:
    """`u / x` and `v / y` of Kirsch's solution, functions of the squares of both."""
    square = x**2 + y**2
    kappa = (3 - poisson) / (1 + poisson)
    near = 2 * (1 - 1 / square) / square**2
    u = kappa + 1 + 2 * (1 + kappa) / square + near * (x**2 - 3 * y**2)
    v = kappa - 3 + 2 * (1 - kappa) / square + near * (3 * x**2 - y**2)
    return (1 + poisson) / 4 * u, (1 + poisson) / 4 * v
