"""PINNacle's heat equation over a long time, with a pulsing source."""

import jax.numpy as jnp
import numpy as np
from scipy.fft import dstn, idstn
from typing_extensions import override

from vrba.domains import Box
from vrba.problems import Dirichlet, Initial, Problem, Reference

_DIFFUSION, _STRENGTH, _END = 0.001, 5.0, 100.0
_NUM_FRAMES, _NUM_PLACES = 51, 41


class HeatForLong(Problem):
    """`u_t = (u_xx + u_yy) / 1000 + 5 sin(u^2) (1 + 2 sin(pi t / 4)) sin(4 pi x)
    sin(2 pi y)` on the unit square, for `t` from 0 to 100, `u = 0` on all sides,
    `u(0, x, y) = sin(4 pi x) sin(3 pi y)`.

    The source pulses with the period 8 and changes its sign. It drives `u` to one of
    the values where `sin(u^2)` is zero, with layers of width 0.02 between them. This is
    Heat2d-LT of Hao et al. (2023).
    """

    domain = Box(t=(0, _END), x=(0, 1), y=(0, 1))

    @override
    def equations(self, u, t, x, y):
        pulse = 1 + 2 * jnp.sin(jnp.pi * t / 4)
        shape = jnp.sin(4 * jnp.pi * x) * jnp.sin(2 * jnp.pi * y)
        source = _STRENGTH * jnp.sin(u**2) * pulse * shape
        return {"heat": u.t - _DIFFUSION * (u.xx + u.yy) - source}

    @override
    def conditions(self):
        start = lambda x, y: jnp.sin(4 * jnp.pi * x) * jnp.sin(3 * jnp.pi * y)
        return [Initial(start), Dirichlet(0.0, on="x"), Dirichlet(0.0, on="y")]

    @override
    def reference(self) -> Reference:
        """Return a sine series of 32 x 128 terms and 8,000 steps on 51 x 41 x 41.

        The error is the difference from 24 x 96 terms and 4,000 steps.
        """
        values, coarse = solve_heat(32, 8000), solve_heat(24, 4000)
        error = float(np.linalg.norm(coarse - values) / np.linalg.norm(values))
        axis = np.linspace(0, 1, _NUM_PLACES)
        axes = {"t": np.linspace(0, _END, _NUM_FRAMES), "x": axis, "y": axis}
        return Reference(axes, values, error)


def solve_heat(size: int, num_steps: int) -> np.ndarray:
    """Solve on a quarter of `x`; return values on the reference's grid.

    The solution is odd about `x = 1/4`, `1/2` and `3/4`, as initial values and source
    are. So it is a series of `sin(4 pi k x) sin(pi n y)`, here with `size` and
    `4 size` terms. Each step is one of the exponential method of Cox and Matthews.
    """
    along, across = np.arange(1, size), np.arange(1, 4 * size)
    rates = np.add.outer((4 * along) ** 2, across**2) * -_DIFFUSION * np.pi**2
    x, y = along / (4 * size), across / (4 * size)
    shape = np.outer(np.sin(4 * np.pi * x), np.sin(2 * np.pi * y))
    step = _END / num_steps
    halves, wholes = _weights(rates * step / 2), _weights(rates * step)

    def source(t, coefficients):
        u = np.asarray(idstn(coefficients, 1))
        pulse = _STRENGTH * (1 + 2 * np.sin(np.pi * t / 4))
        return step * np.asarray(dstn(np.sin(u**2) * shape * pulse, 1))

    start = np.outer(np.sin(4 * np.pi * x), np.sin(3 * np.pi * y))
    state = np.asarray(dstn(start, 1))
    frames = [state]
    for number in range(num_steps):
        state = _advance(state, number * step, step, source, halves, wholes)
        if (number + 1) % (num_steps // (_NUM_FRAMES - 1)) == 0:
            frames.append(state)
    points = np.linspace(0, 1, _NUM_PLACES)
    sines_x = np.sin(4 * np.pi * np.outer(points, along))
    sines_y = np.sin(np.pi * np.outer(points, across))
    return sines_x @ np.stack(frames) @ sines_y.T / (4 * size * size)


def _advance(state, t, step, source, halves, wholes):
    """Return the coefficients after one step (Cox and Matthews 2002, fourth order)."""
    decay_half, first_half, *_ = halves
    decay, first, second, third = wholes
    start = source(t, state)
    a = decay_half * state + first_half * start / 2
    at_a = source(t + step / 2, a)
    b = decay_half * state + first_half * at_a / 2
    at_b = source(t + step / 2, b)
    c = decay_half * a + first_half * (2 * at_b - start) / 2
    at_c = source(t + step, c)
    found = decay * state + (first - 3 * second + 4 * third) * start
    found += (2 * second - 4 * third) * (at_a + at_b)
    return found + (4 * third - second) * at_c


def _weights(z: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return `e^z` and the functions phi_1, phi_2, phi_3, by means over circles."""
    circle = np.exp(2j * np.pi * (np.arange(32) + 0.5) / 32)
    mean = lambda fn: np.mean([fn(z + one) for one in circle], axis=0).real
    return (
        np.exp(z),
        mean(lambda r: np.expm1(r) / r),
        mean(lambda r: (np.expm1(r) - r) / r**2),
        mean(lambda r: (np.expm1(r) - r - r**2 / 2) / r**3),
    )
