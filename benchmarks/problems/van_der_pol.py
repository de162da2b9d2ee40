"""The van der Pol oscillator: slow parts and fast jumps."""

import numpy as np
from scipy.integrate import solve_ivp
from typing_extensions import override

from vrba.core import check_between
from vrba.domains import Box
from vrba.problems import Initial, Problem, Reference

_START = (2.0, 0.0)
_END = 20.0


class VanDerPol(Problem):
    """`x' = y`, `y' = damping (1 - x^2) y - x` for `t` from 0 to 20, from
    `(x, y) = (2, 0)`.

    The oscillator of van der Pol (1926). `x` falls slowly from 2 to 1 and jumps to -2,
    then does the same with the other sign. A jump lasts about `1 / damping`, and `y`
    reaches `4/3 damping` in it.

    Good values: `damping = 10`, which is moderately stiff and has the period 19.
    """

    damping: float = 10.0
    fields = ("x", "y")
    domain = Box(t=(0, _END))

    def __check_init__(self):
        check_between(damping=(self.damping, 0.0, 100.0))

    @override
    def equations(self, x, y, t):
        force = self.damping * (1 - x**2) * y - x
        return {"position": x.t - y, "velocity": y.t - force}

    @override
    def conditions(self):
        pairs = zip(self.fields, _START, strict=True)
        return [Initial(value, field=field) for field, value in pairs]

    @override
    def reference(self) -> Reference:
        """Return the method of Dormand and Prince of order 8 on 4,001 points.

        The error is the difference between the relative tolerances 1e-12 and 3e-14.
        """
        axis = np.linspace(0, _END, 4001)
        coarse, values = (self._integrate(axis, size) for size in (1e-12, 3e-14))
        error = float(np.linalg.norm(coarse - values) / np.linalg.norm(values))
        fields = dict(zip(self.fields, values, strict=True))
        return Reference({"t": axis}, fields, error)

    def _integrate(self, axis: np.ndarray, tolerance: float) -> np.ndarray:
        """Return both fields at the times of `axis`."""

        def rates(t, state):
            x, y = state
            return y, self.damping * (1 - x**2) * y - x

        found = solve_ivp(
            rates,
            (0, _END),
            _START,
            method="DOP853",
            t_eval=axis,
            rtol=tolerance,
            atol=tolerance,
        )
        return found.y
