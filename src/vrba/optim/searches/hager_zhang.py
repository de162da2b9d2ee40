"""Hager and Zhang's search, which goes by slopes and so works in the last digits."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...core import InputError, check_between, check_count, select_tree
from ._base import (
    AbstractSearch,
    AbstractSearchState,
    Scalar,
    Trial,
    has_decreased,
)

# What the next trial is: a longer step, a first secant, its second, or a middle.
_GROW, _SECANT, _SECOND, _MIDDLE = range(4)


class _Point(eqx.Module):
    """A step and the slope there."""

    step: Scalar
    slope: Scalar


class HagerZhangState(AbstractSearchState):
    """An interval with a falling left and a rising right end, and what comes next.

    `before` is the interval at the last secant, `is_blocked` tells that the right end
    lies too high to be trusted: halve until it does not.
    """

    next_step: Float[Array, ""]
    num_trials: Int[Array, ""]
    is_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]
    left: _Point
    right: _Point
    left_before: _Point
    right_before: _Point
    is_blocked: Bool[Array, ""]
    phase: Int[Array, ""]


class HagerZhang(AbstractSearch):
    """The Wolfe conditions or, where values drown in round-off, the approximate ones.

    Wolfe: `phi(t) <= phi(0) + decrease t phi'(0)` and `phi'(t) >= curvature phi'(0)`.
    Approximate: `(2 decrease - 1) phi'(0) >= phi'(t) >= curvature phi'(0)` while
    `phi(t) <= phi(0) + tolerance |phi(0)|`. Steps come from secants of the slope.
    (Hager and Zhang 2005) `tolerance` not given: 1e-6, or a hundred times the
    precision if that is more.
    """

    decrease: float = 0.1
    curvature: float = 0.9
    tolerance: float | None = None
    max_trials: int = 50

    def __check_init__(self):
        """Settings in range."""
        check_between(
            decrease=(self.decrease, 0.0, 0.5),
            curvature=(self.curvature, self.decrease, 1.0),
        )
        check_count(max_trials=self.max_trials)
        if self.tolerance is not None and self.tolerance < 0:
            raise InputError(f"`tolerance` must not be negative, got {self.tolerance}.")

    def init(self, origin: Trial, first_step: Float[Array, ""]) -> HagerZhangState:
        """The state before the first trial."""
        no, zero = jnp.zeros((), bool), jnp.zeros((), jnp.int32)
        left = _Point(jnp.zeros_like(origin.slope), origin.slope)
        right = _Point(jnp.full_like(origin.slope, jnp.inf), -origin.slope)
        return HagerZhangState(
            first_step, zero, no, no, left, right, left, right, no, zero + _GROW
        )

    def update(
        self, state: HagerZhangState, origin: Trial, trial: Trial
    ) -> HagerZhangState:
        """Narrows the interval by the trial, and says where to look next."""
        is_kept = self.accepts(origin, trial)
        is_low = trial.value <= origin.value + self._slack(origin)
        is_left = trial.is_finite & (trial.slope < 0) & is_low
        is_right = trial.is_finite & (trial.slope >= 0)
        point = _Point(trial.step, trial.slope)
        left = select_tree(is_left, point, state.left)
        right = select_tree(is_left, state.right, point)
        is_blocked = jnp.where(is_left, state.is_blocked, ~is_right)
        phase = _next_phase(state, left, right, is_blocked)
        starts_anew = phase == _SECANT
        left_before = select_tree(starts_anew, left, state.left_before)
        right_before = select_tree(starts_anew, right, state.right_before)
        step = _next_step(state, left, right, is_left, phase, trial)
        count = state.num_trials + 1
        is_lost = (step <= left.step) | (step >= right.step) | ~jnp.isfinite(step)
        is_done = is_kept | is_lost | (count >= self.max_trials)
        return HagerZhangState(
            step,
            count,
            is_kept,
            is_done,
            left,
            right,
            left_before,
            right_before,
            is_blocked,
            phase,
        )

    def is_loosened(self, state: HagerZhangState) -> Bool[Array, ""]:
        """Never."""
        return jnp.zeros((), bool)

    def accepts(self, origin: Trial, trial: Trial) -> Bool[Array, ""]:
        """The Wolfe or the approximate Wolfe conditions."""
        is_flat = trial.slope >= self.curvature * origin.slope
        is_wolfe = has_decreased(origin, trial, self.decrease)
        is_low = trial.value <= origin.value + self._slack(origin)
        is_low &= trial.slope <= (2 * self.decrease - 1) * origin.slope
        return trial.is_finite & is_flat & (is_wolfe | is_low)

    def _slack(self, origin: Trial) -> Scalar:
        """By how much a value may rise and still count as no higher."""
        default = max(1e-6, 100 * float(jnp.finfo(origin.value.dtype).eps))
        share = default if self.tolerance is None else self.tolerance
        return share * jnp.abs(origin.value)


def _next_phase(state, left, right, is_blocked):
    """Grow until there is a right end, then two secants, then perhaps a middle."""
    is_open = ~jnp.isfinite(right.step)
    width = right.step - left.step
    is_slow = width > 0.66 * (state.right_before.step - state.left_before.step)
    phase = jnp.where(state.phase == _SECANT, _SECOND, _SECANT)
    wants_middle = (state.phase == _SECOND) & is_slow
    phase = jnp.where(wants_middle | is_blocked, _MIDDLE, phase)
    return jnp.where(is_open, _GROW, phase).astype(jnp.int32)


def _next_step(state, left, right, is_left, phase, trial):
    """The step that a phase tries; the middle where a secant leads outside."""
    middle = 0.5 * (left.step + right.step)
    middle = jnp.where(trial.is_finite, middle, 0.9 * left.step + 0.1 * right.step)
    secant = _secant(left, right)
    moved = select_tree(is_left, state.left_before, state.right_before)
    second = _secant(moved, select_tree(is_left, left, right))
    is_inside = lambda step: (step > left.step) & (step < right.step)
    second = jnp.where(is_inside(second), second, secant)
    step = jnp.where(phase == _SECOND, second, secant)
    step = jnp.where(is_inside(step) & (phase != _MIDDLE), step, middle)
    return jnp.where(phase == _GROW, 5 * trial.step, step)


def _secant(a: _Point, b: _Point) -> Scalar:
    """Where the line through two slopes is zero."""
    return (a.step * b.slope - b.step * a.slope) / (b.slope - a.slope)
