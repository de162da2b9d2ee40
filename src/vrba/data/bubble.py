"""A bubble that grows as the pressure around it falls."""

from collections.abc import Iterator
from math import factorial, sqrt
from typing import Any, ClassVar

import numpy as np
import scipy
from jaxtyping import Float

from ..core import check_least, check_positive
from ._base import AbstractMaker

_END = 5e-4  # s
_LENGTH = 5e-5  # s, over which pressures change
_NUM_KNOTS = 1000
_RAMP = 100  # knots
_REST, _SLOPE = 1e-5, 1e-5  # radius in m, its rate in m/s
_DAMPING, _STIFFNESS, _FORCE = 4e4, 2e11, 100.0


class Bubble(AbstractMaker):
    """`r'' = -4e4 r' - 2e11 r - 100 p(t)`, `R = 1e-5 + r`: from the pressure `p` (Pa)
    at 200 times to the radius `R` (m) at 500, both even on `[0, 5e-4]` s.

    It is the Rayleigh-Plesset equation of a small bubble, linear in the change of the
    radius. Pressures are random with a mean of -1500, drawn on 1,000 knots by the
    squared exponential kernel of length `5e-5` times white noise (seeds of NumPy's
    `RandomState`), and ramped up from zero as `t^0.05` over the first tenth; between
    knots they are cubic splines. The equation is solved exactly for these; with `rtol`
    by Runge-Kutta of order 5(4) with that tolerance and interpolated, as published with
    `1e-3`. (Lin et al. 2021; Toscano et al. 2025)

    Good values: `seed = 15`, those of the paper.
    """

    num_train: int = 1200
    num_valid: int = 150
    num_test: int = 150
    num_sensors: int = 200
    num_times: int = 500
    rtol: float | None = None
    seed: int = 15
    names: ClassVar[tuple[str, ...]] = ("t",)
    scales: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {},
        "laptop": {"num_train": 400, "num_valid": 50, "num_test": 100},
        "tiny": {
            "num_train": 20,
            "num_valid": 5,
            "num_test": 5,
            "num_sensors": 40,
            "num_times": 50,
        },
    }

    def __check_init__(self):
        """Counts are positive, and a tolerance is one."""
        check_least(num_sensors=(self.num_sensors, 2), num_times=(self.num_times, 2))
        if self.rtol is not None:
            check_positive(rtol=self.rtol)

    def axes(self) -> tuple[Float[np.ndarray, " _"], ...]:
        """Times in seconds."""
        return (np.linspace(0, _END, self.num_times),)

    def chunks(self, first: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pressures and radii."""
        pressure = scipy.interpolate.CubicSpline(_knots(), self._pressures(), axis=1)
        sensors = pressure(np.linspace(0, _END, self.num_sensors))
        size = self.num_funcs if self.rtol is None else 50
        for start in range(first, self.num_funcs, size):
            rows = slice(start, min(start + size, self.num_funcs))
            coefficients = pressure.c[:, :, rows]
            if self.rtol is None:
                radius = _exact(coefficients, self.axes()[0])
            else:
                radius = _integrated(coefficients, self.axes()[0], self.rtol)
            yield sensors[rows, :, None], radius[..., None]

    def _pressures(self) -> Float[np.ndarray, "funcs knots"]:
        """On the knots."""
        knots = _knots()
        noise = np.random.RandomState(self.seed).normal(
            0, 25, (_NUM_KNOTS, self.num_funcs)
        )
        kernel = np.exp(-(((knots[:, None] - knots) / _LENGTH) ** 2) / 2)
        pressure = (kernel @ noise).T - 1500
        pressure[:, :_RAMP] *= (knots[:_RAMP] / _LENGTH) ** 0.05
        return pressure


def _knots() -> Float[np.ndarray, " knots"]:
    return np.linspace(0, _END, _NUM_KNOTS)


def _exact(
    spline: Float[np.ndarray, "4 pieces funcs"], times: Float[np.ndarray, " times"]
) -> Float[np.ndarray, "funcs times"]:
    """The radius under a pressure that is a cubic on each piece.

    `r` and `r' / frequency` change by a linear map over any part of a piece, and by a
    linear map of the cubic's coefficients; both are parts of a matrix exponential.
    """
    knots = _knots()
    pieces = np.clip(np.searchsorted(knots, times, "right") - 1, 0, len(knots) - 2)
    turn, push = _response(np.diff(knots)[:1])
    turns, pushes = _response(times - knots[pieces])
    state = np.zeros((2, spline.shape[2]))
    state[1] = _SLOPE / sqrt(_STIFFNESS)
    states = np.empty((len(knots) - 1, *state.shape))
    for k in range(len(knots) - 1):
        states[k] = state
        state = turn[0] @ state + push[0] @ spline[:, k]
    change = turns[:, :1] @ states[pieces]
    change += pushes[:, :1] @ np.swapaxes(spline[:, pieces], 0, 1)
    return _REST + change[:, 0].T


def _response(
    spans: Float[np.ndarray, " spans"],
) -> tuple[Float[np.ndarray, "spans 2 2"], Float[np.ndarray, "spans 2 4"]]:
    """What a state becomes after each span, and what the powers `s^3, s^2, s, 1` of the
    time since its beginning add to it. The powers of `s / piece` are carried along,
    each the integral of the one below it."""
    frequency, piece = sqrt(_STIFFNESS), _END / (_NUM_KNOTS - 1)
    system = np.zeros((6, 6))
    system[:2, :2] = [[0, frequency], [-frequency, -_DAMPING]]
    system[[2, 3, 4], [3, 4, 5]] = 1 / piece
    pushes = []
    for power in (3, 2, 1, 0):
        forced = system.copy()
        forced[1, 5 - power] = -_FORCE / frequency * factorial(power) * piece**power
        whole = scipy.linalg.expm(forced * spans[:, None, None])
        pushes.append(whole[:, :2, 5])
    return whole[:, :2, :2], np.stack(pushes, axis=-1)


def _integrated(
    spline: Float[np.ndarray, "4 pieces funcs"],
    times: Float[np.ndarray, " times"],
    rtol: float,
) -> Float[np.ndarray, "funcs times"]:
    """The radius on the knots by steps of Runge-Kutta, then a spline through it."""
    knots = _knots()
    found = []
    for k in range(spline.shape[2]):
        pressure = scipy.interpolate.PPoly(spline[..., k], knots)
        solved = scipy.integrate.solve_ivp(
            lambda t, y, p=pressure: [
                y[1],
                -_DAMPING * y[1] - _STIFFNESS * y[0] - _FORCE * p(t),
            ],
            (0, _END),
            [0, _SLOPE],
            t_eval=knots,
            rtol=rtol,
        )
        found.append(_REST + solved.y[0])
    return scipy.interpolate.CubicSpline(knots, np.array(found), axis=1)(times)
