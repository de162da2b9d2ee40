"""The Lorenz system: ordinary differential equations with chaotic solutions."""

import numpy as np
from scipy.integrate import solve_ivp
from typing_extensions import override

from vrba.core import check_positive
from vrba.domains import Box
from vrba.problems import Initial, Problem, Reference

_START = (-8.0, 7.0, 27.0)
_END = 2.0


class Lorenz(Problem):
    """`x' = prandtl (y - x)`, `y' = x (rayleigh - z) - y`, `z' = x y - aspect z` for
    `t` from 0 to 2, from `(x, y, z) = (-8, 7, 27)`.

    The system of Lorenz (1963). Its solutions turn about one of two states, and change
    between them without a period. Small errors grow like `e^(0.9 t)` on average.

    Good values: `prandtl = 10`, `rayleigh = 28`, `aspect = 8 / 3`.
    """

    prandtl: float = 10.0
    rayleigh: float = 28.0
    aspect: float = 8 / 3
    fields = ("x", "y", "z")
    domain = Box(t=(0, _END))

    def __check_init__(self):
        check_positive(prandtl=self.prandtl, rayleigh=self.rayleigh, aspect=self.aspect)

    @override
    def equations(self, x, y, z, t):
        rate_x, rate_y, rate_z = self._rates(x, y, z)
        return {"x": x.t - rate_x, "y": y.t - rate_y, "z": z.t - rate_z}

    @override
    def conditions(self):
        pairs = zip(self.fields, _START, strict=True)
        return [Initial(value, field=field) for field, value in pairs]

    @override
    def reference(self) -> Reference:
        """Return the method of Dormand and Prince of order 8 on 2,001 points.

        The error is the difference between the relative tolerances 1e-12 and 3e-14.
        """
        axis = np.linspace(0, _END, 2001)
        coarse, values = (self._integrate(axis, size) for size in (1e-12, 3e-14))
        error = float(np.linalg.norm(coarse - values) / np.linalg.norm(values))
        fields = dict(zip(self.fields, values, strict=True))
        return Reference({"t": axis}, fields, error)

    def _rates(self, x, y, z):
        """Return the right-hand side."""
        return (
            self.prandtl * (y - x),
            x * (self.rayleigh - z) - y,
            x * y - self.aspect * z,
        )

    def _integrate(self, axis: np.ndarray, tolerance: float) -> np.ndarray:
        """Return the three fields at the times of `axis`."""
        found = solve_ivp(
            lambda t, state: self._rates(*state),
            (0, _END),
            _START,
            method="DOP853",
            t_eval=axis,
            rtol=tolerance,
            atol=tolerance,
        )
        return found.y
