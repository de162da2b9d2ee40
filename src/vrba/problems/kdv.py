"""Korteweg-de Vries: interaction of two solitons."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from ..core import InputError, check_positive
from ..domains import Box
from ._base import Problem
from .conditions import Ansatz
from .reference import Reference, exact_reference

_END = 20.0


class KdV(Problem):
    """`u_t + 6 u u_x + u_xxx = 0` with two solitons, which meet at `x = t = 0`.

    A soliton of wave number `k` has height `k^2 / 2`, width `2 / k` and speed `k^2`.
    The fast one passes through the slow one; both keep their shape and are shifted, the
    fast one forwards. At `t = -1` and 1 they are separate, on `x` from -20 to 20.

    The equation needs a value at both ends and a derivative at the right end: those of
    the solitons, which are below 1e-10 there; other wave numbers raise an error. These
    and the initial condition are hard constraints. Constant ends would change the
    solution by 1e-11.

    Good values: `fast = 2.5` and `slow = 1.5`. Closer wave numbers make the interaction
    longer.
    """

    fast: float = 2.5
    slow: float = 1.5
    domain = Box(t=(-1, 1), x=(-_END, _END))

    def __check_init__(self):
        check_positive(slow=self.slow)
        if not self.fast > self.slow:
            raise InputError(
                f"`fast` must be larger than `slow`, {self.slow:g}, got {self.fast:g}."
            )
        times = np.linspace(-1, 1, 201)
        ends = [
            _two_solitons(np, times, x, self.fast, self.slow) for x in (-_END, _END)
        ]
        if np.max(ends) > 1e-10:
            raise InputError(
                f"With `fast` = {self.fast:g} and `slow` = {self.slow:g} the solution "
                f"is {np.max(ends):.1e} at x = -{_END:g} or {_END:g}, more than 1e-10: "
                "take a smaller `fast` or a larger `slow`."
            )

    @override
    def equations(self, u, t, x):
        return {"momentum": u.t + 6 * u * u.x + u.xxx}

    @override
    def conditions(self):

        def solution(t, x, N):
            initial = _two_solitons(jnp, -jnp.ones_like(t), x, self.fast, self.slow)
            left, right = 1 + x / _END, 1 - x / _END
            known = initial + self._change_at_ends(t, x)
            return known + (t + 1) * left * right**2 * N

        return [Ansatz(solution)]

    def _change_at_ends(self, t, x):
        """Return a cubic in `x` with the change since `t = -1` at both ends.

        At the right end it has the change of the derivative, too.
        """

        def change(place):
            exact = lambda t: _two_solitons(jnp, t, place, self.fast, self.slow)
            return exact(t) - exact(-jnp.ones_like(t))

        end = jnp.full_like(t, _END)
        value, slope = jax.value_and_grad(change)(end)
        left, right = (1 + x / _END) / 2, (1 - x / _END) / 2
        at_right = value + (slope - value / _END) * (x - _END)
        return change(-end) * right**2 + at_right * left**2

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 201 x 513 points.

        The error is the difference from extended precision.
        """
        solution = lambda t, x: _two_solitons(np, t, x, self.fast, self.slow)
        return exact_reference(self.domain, solution, 201, 513)


def _two_solitons(xp: Any, t: Any, x: Any, fast: float, slow: float) -> Any:
    """Evaluate Hirota's solution (1971), with `numpy` or `jax.numpy` as `xp`.

    It is `2 (log tau)_xx`, where `tau` is, up to an irrelevant factor, the sum of four
    exponentials `exp(+-p)` and `ratio exp(+-q)`. The second derivative of the logarithm
    is the variance of the wave numbers `+-middle` and `+-half_gap`, with the
    exponentials as weights. A sum over pairs has only positive terms.
    """
    middle, half_gap = (fast + slow) / 2, (fast - slow) / 2
    p = middle * x - (fast**3 + slow**3) / 2 * t
    q = half_gap * x - (fast**3 - slow**3) / 2 * t
    # A common factor cancels, with its derivatives. This one keeps the largest
    # exponential near one.
    top = xp.maximum(xp.abs(p), xp.abs(q))
    top = jax.lax.stop_gradient(top) if xp is jnp else top
    up, down = xp.exp(p - top), xp.exp(-p - top)
    ratio = middle / half_gap
    forward, backward = ratio * xp.exp(q - top), ratio * xp.exp(-q - top)
    pairs = 4 * middle**2 * up * down + 4 * half_gap**2 * forward * backward
    pairs = pairs + fast**2 * (up * backward + down * forward)
    pairs = pairs + slow**2 * (up * forward + down * backward)
    return 2 * pairs / (up + down + forward + backward) ** 2
