"""Korteweg-de Vries: a fast soliton overtakes a slow one."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core import InputError, check_positive
from ..domains import Box
from ._base import Problem
from ._exact import exact_reference
from .conditions import Ansatz
from .reference import Reference

_END = 20.0


class KdV(Problem):
    """`u_t + 6 u u_x + u_xxx = 0` with two solitons, which meet at `x = t = 0`.

    A soliton of wave number `k` has height `k^2 / 2`, width `2 / k`, speed `k^2`. The
    fast one passes through the slow one; both keep their shape and are shifted, the
    fast one forwards. At `t = -1` and 1 they are apart, on `x` from -20 to 20.

    The equation needs one value at the left end and a value and a slope at the right
    end. On the line the solution falls exponentially; here it is kept at its initial
    value at both ends and at its initial slope at the right end, which is exact to
    1e-10 (wave numbers for which it is not are refused). These and the initial values
    hold by the form of the solution.

    Good values: `fast = 2.5` and `slow = 1.5`. The closer they are, the longer the
    solitons stay together.
    """

    fast: float = 2.5
    slow: float = 1.5
    domain = Box(t=(-1, 1), x=(-_END, _END))

    def __check_init__(self):
        """Two different solitons that stay inside."""
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

    def equations(self, u, t, x):
        """The balance of steepening and dispersion."""
        return {"momentum": u.t + 6 * u * u.x + u.xxx}

    def conditions(self):
        """An ansatz that meets them all."""

        def solution(t, x, N):
            initial = _two_solitons(jnp, -jnp.ones_like(t), x, self.fast, self.slow)
            left, right = 1 + x / _END, 1 - x / _END
            return initial + (t + 1) * left * right**2 * N

        return [Ansatz(solution)]

    def reference(self) -> Reference:
        """The exact solution on 201 x 513 points."""
        solution = lambda t, x: _two_solitons(np, t, x, self.fast, self.slow)
        return exact_reference(self.domain, solution, 201, 513)


def _two_solitons(xp: Any, t: Any, x: Any, fast: float, slow: float) -> Any:
    """Hirota's solution (1971), with `numpy` or `jax.numpy` as `xp`.

    It is `2 (log tau)_xx`, and `tau`, up to a factor that does not count, is the sum of
    four exponentials `exp(+-p)` and `ratio exp(+-q)`. The second derivative of its
    logarithm is the variance of their wave numbers, `+-middle` and `+-half_gap`, with
    the exponentials as weights. Written as a sum over pairs all terms are positive.
    """
    middle, half_gap = (fast + slow) / 2, (fast - slow) / 2
    p = middle * x - (fast**3 + slow**3) / 2 * t
    q = half_gap * x - (fast**3 - slow**3) / 2 * t
    # Any common factor cancels, with its derivatives; this one keeps the largest
    # exponential near one.
    top = xp.maximum(xp.abs(p), xp.abs(q))
    top = jax.lax.stop_gradient(top) if xp is jnp else top
    up, down = xp.exp(p - top), xp.exp(-p - top)
    ratio = middle / half_gap
    forth, back = ratio * xp.exp(q - top), ratio * xp.exp(-q - top)
    pairs = 4 * middle**2 * up * down + 4 * half_gap**2 * forth * back
    pairs = pairs + fast**2 * (up * back + down * forth)
    pairs = pairs + slow**2 * (up * forth + down * back)
    return 2 * pairs / (up + down + forth + back) ** 2
