"""Bubble growth under a falling pressure."""

from collections.abc import Iterator
from math import factorial, sqrt
from typing import Any, ClassVar

import numpy as np
import scipy
from jaxtyping import Float
from typing_extensions import override

from ..core import check_least, check_positive
from ._base import AbstractMaker

_END = 5e-4  # s
_LENGTH = 5e-5  # s, correlation length of the pressures
_NUM_KNOTS = 1000
_RAMP = 100  # knots
_RADIUS, _RATE = 1e-5, 1e-5  # initial radius in m and its rate in m/s
_DAMPING, _STIFFNESS, _FORCE = 4e4, 2e11, 100.0


class Bubble(AbstractMaker):
    """`r'' = -4e4 r' - 2e11 r - 100 p(t)`, `R = 1e-5 + r`: from the pressure `p` (Pa)
    at 200 times to the radius `R` (m) at 500, both uniform on `[0, 5e-4]` s.

    This is the Rayleigh-Plesset equation of a small bubble, linearised in the change of
    the radius. The pressures are random with mean -1500: a squared exponential kernel
    of length `5e-5` times white noise on 1,000 knots (NumPy's `RandomState`). They rise
    from zero as `t^0.05` over the first tenth. Cubic splines interpolate between knots.

    The equation is solved exactly for these splines. With `rtol`, Runge-Kutta 5(4) with
    this tolerance is used; the published data have `1e-3`. (Lin et al. 2021; Toscano et
    al. 2025)

    Good values: `seed = 15`, as in the paper.
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
        check_least(num_sensors=(self.num_sensors, 2), num_times=(self.num_times, 2))
        if self.rtol is not None:
            check_positive(rtol=self.rtol)

    @override
    def axes(self) -> tuple[Float[np.ndarray, " _"], ...]:
        return (np.linspace(0, _END, self.num_times),)

    @override
    def chunks(self, first: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
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
        """Return the pressures of all functions on the knots."""
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
    """Return the exact radius for a pressure that is a cubic on each piece.

    Over any part of a piece, `r` and `r' / frequency` depend linearly on their initial
    values and on the coefficients of the cubic. Both matrices are parts of a matrix
    exponential.
    """
    knots = _knots()
    pieces = np.clip(np.searchsorted(knots, times, "right") - 1, 0, len(knots) - 2)
    transition, response = _responses(np.diff(knots)[:1])
    transitions, responses = _responses(times - knots[pieces])
    state = np.zeros((2, spline.shape[2]))
    state[1] = _RATE / sqrt(_STIFFNESS)
    states = np.empty((len(knots) - 1, *state.shape))
    for k in range(len(knots) - 1):
        states[k] = state
        state = transition[0] @ state + response[0] @ spline[:, k]
    change = transitions[:, :1] @ states[pieces]
    change += responses[:, :1] @ np.swapaxes(spline[:, pieces], 0, 1)
    return _RADIUS + change[:, 0].T


def _responses(
    durations: Float[np.ndarray, " durations"],
) -> tuple[Float[np.ndarray, "durations 2 2"], Float[np.ndarray, "durations 2 4"]]:
    """Return the state transition after each duration, and the response to a force.

    The forces are the powers `s^3, s^2, s, 1` of the time since the start. The system
    is extended by the powers of `s / piece`, each the integral of the next lower one.
    """
    frequency, piece = sqrt(_STIFFNESS), _END / (_NUM_KNOTS - 1)
    system = np.zeros((6, 6))
    system[:2, :2] = [[0, frequency], [-frequency, -_DAMPING]]
    system[[2, 3, 4], [3, 4, 5]] = 1 / piece
    responses = []
    for power in (3, 2, 1, 0):
        forced = system.copy()
        forced[1, 5 - power] = -_FORCE / frequency * factorial(power) * piece**power
        whole = scipy.linalg.expm(forced * durations[:, None, None])
        responses.append(whole[:, :2, 5])
    return whole[:, :2, :2], np.stack(responses, axis=-1)


def _integrated(
    spline: Float[np.ndarray, "4 pieces funcs"],
    times: Float[np.ndarray, " times"],
    rtol: float,
) -> Float[np.ndarray, "funcs times"]:
    """Return the radius by Runge-Kutta on the knots and spline interpolation."""
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
            [0, _RATE],
            t_eval=knots,
            rtol=rtol,
        )
        found.append(_RADIUS + solved.y[0])
    return scipy.interpolate.CubicSpline(knots, np.array(found), axis=1)(times)
