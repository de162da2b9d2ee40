"""A plane wave that crosses a square: the Helmholtz equation at 20 wavelengths."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from vrba.core import check_positive
from vrba.domains import Box
from vrba.problems import Constraint, Problem, Reference, exact_reference

_ANGLE = math.pi / 8


class ShortWaves(Problem):
    """`u_xx + u_yy + wave^2 u = 0`, and the same for `v`, on the unit square, with
    `wave = 2 pi wavelengths`.

    `u + i v` is a complex wave `w` with the impedance condition
    `dw/dn - i wave w = g` on all sides. The data `g` are those of the plane wave in
    the direction `pi / 8`, which is the solution. `wavelengths` fit along a side.

    Good values: `wavelengths = 20`. With 2 it is easy.
    """

    wavelengths: float = 20.0
    fields = ("u", "v")
    domain = Box(x=(0, 1), y=(0, 1))

    def __check_init__(self):
        check_positive(wavelengths=self.wavelengths)

    @property
    def wave(self) -> float:
        """The wave number."""
        return 2 * math.pi * self.wavelengths

    @override
    def equations(self, u, v, x, y):
        square = self.wave**2
        return {"u": u.xx + u.yy + square * u, "v": v.xx + v.yy + square * v}

    @override
    def conditions(self):
        def leaving(normal):
            """Return the wave number along the outward normal, minus the wave's."""
            along = math.cos(_ANGLE) * normal[0] + math.sin(_ANGLE) * normal[1]
            return self.wave * (along - 1)

        def real_part(u, v, x, y, normal):
            found = _wave(jnp, x, y, self.wave)
            outward = u.x * normal[0] + u.y * normal[1]
            return outward + self.wave * v + leaving(normal) * found["v"]

        def imaginary_part(u, v, x, y, normal):
            found = _wave(jnp, x, y, self.wave)
            outward = v.x * normal[0] + v.y * normal[1]
            return outward - self.wave * u - leaving(normal) * found["u"]

        sides = ("x", "y")
        parts = (real_part, imaginary_part)
        return [Constraint(part, on=side) for side in sides for part in parts]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 201 x 201 points.

        The error is the difference from extended precision.
        """
        fn = lambda x, y: _wave(np, x, y, self.wave)
        return exact_reference(self.domain, fn, 201, 201)


def _wave(xp: Any, x: Any, y: Any, wave: float) -> dict[str, Any]:
    """Evaluate both parts, with `numpy` or `jax.numpy` as `xp`."""
    phase = wave * (math.cos(_ANGLE) * x + math.sin(_ANGLE) * y)
    return {"u": xp.cos(phase), "v": xp.sin(phase)}
