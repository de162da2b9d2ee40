"""Line searches by the Wolfe conditions: strong ones, and those of Hager and Zhang."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int
from typing_extensions import override

from ...core import InputError, check_between, check_count, select_tree
from ._base import (
    AbstractSearch,
    AbstractSearchState,
    Scalar,
    Trial,
    clip_inside,
    has_decreased,
    minimise_cubic,
)

# Kinds of the next trial: a longer step, a first secant, a second one, a midpoint.
_GROW, _FIRST_SECANT, _SECOND_SECANT, _MIDPOINT = range(4)


class StrongWolfeState(AbstractSearchState):
    """The best end `low` of the interval, and its other end.

    Before an interval is found, `low` is the last trial.
    """

    next_step: Float[Array, ""]
    num_trials: Int[Array, ""]
    is_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]
    low: Trial
    high: Trial
    is_bracketed: Bool[Array, ""]


class StrongWolfe(AbstractSearch):
    """The strong Wolfe conditions, by bracketing and zoom.

    `phi(t) <= phi(0) + decrease t phi'(0)` and `|phi'(t)| <= curvature |phi'(0)|`.
    Growing steps find the interval, and cubic interpolation narrows it. (Nocedal and
    Wright 2006, algorithms 3.5 and 3.6)
    """

    decrease: float = 1e-4
    curvature: float = 0.9
    max_trials: int = 20

    def __check_init__(self):
        """Check that the settings are in range."""
        check_between(
            decrease=(self.decrease, 0.0, self.curvature),
            curvature=(self.curvature, 0.0, 1.0),
        )
        check_count(max_trials=self.max_trials)

    @override
    def init(self, origin: Trial, first_step: Float[Array, ""]) -> StrongWolfeState:
        no, zero = jnp.zeros((), bool), jnp.zeros((), jnp.int32)
        return StrongWolfeState(first_step, zero, no, no, origin, origin, no)

    @override
    def update(
        self, state: StrongWolfeState, origin: Trial, trial: Trial
    ) -> StrongWolfeState:
        low, high = state.low, state.high
        is_kept = self.accepts(origin, trial)
        is_high = ~has_decreased(origin, trial, self.decrease)
        is_high |= ~(trial.value < low.value) & (state.is_bracketed | (low.step > 0))
        end = jnp.where(state.is_bracketed, high.step, jnp.inf)
        is_past = trial.slope * (end - low.step) >= 0  # past the minimum
        new_low = select_tree(is_high, low, trial)
        new_high = select_tree(is_high, trial, select_tree(is_past, low, high))
        is_bracketed = state.is_bracketed | is_high | is_past
        count = state.num_trials + 1
        narrow = _interpolate(new_low, new_high)
        grown = jnp.clip(minimise_cubic(low, trial), 2 * trial.step, 10 * trial.step)
        grown = jnp.where(jnp.isfinite(grown), grown, 2 * trial.step)
        next_step = jnp.where(is_bracketed, narrow, grown)
        has_failed = (next_step == new_low.step) | ~jnp.isfinite(next_step)
        width = jnp.abs(new_high.step - new_low.step)
        round_off = jnp.finfo(width.dtype).eps * jnp.abs(origin.value)
        is_below_round_off = jnp.abs(new_low.slope) * width <= round_off
        has_failed |= is_bracketed & is_below_round_off
        is_done = is_kept | has_failed | (count >= self.max_trials)
        return StrongWolfeState(
            next_step, count, is_kept, is_done, new_low, new_high, is_bracketed
        )

    @override
    def is_loosened(self, state: StrongWolfeState) -> Bool[Array, ""]:
        return jnp.zeros((), bool)

    @override
    def accepts(self, origin: Trial, trial: Trial) -> Bool[Array, ""]:
        is_flat = jnp.abs(trial.slope) <= self.curvature * jnp.abs(origin.slope)
        return has_decreased(origin, trial, self.decrease) & is_flat


def _interpolate(low: Trial, high: Trial) -> Float[Array, ""]:
    """Interpolate; go a tenth of the way if the far end is not finite."""
    step = clip_inside(minimise_cubic(low, high), low.step, high.step, 0.1)
    return jnp.where(high.is_finite, step, low.step + 0.1 * (high.step - low.step))


class _Point(eqx.Module):
    """A step and the slope at this step."""

    step: Scalar
    slope: Scalar


class HagerZhangState(AbstractSearchState):
    """An interval with a falling left and a rising right end, and the next trial.

    `left_before` and `right_before` are the interval at the last first secant. While
    `is_blocked`, the value at the right end is too high, and the interval is halved.
    `phase` is the kind of the next trial.
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
    """The Wolfe conditions, or approximate ones where values differ by round-off.

    Wolfe: `phi(t) <= phi(0) + decrease t phi'(0)` and `phi'(t) >= curvature phi'(0)`.
    Approximate: `(2 decrease - 1) phi'(0) >= phi'(t) >= curvature phi'(0)` while
    `phi(t) <= phi(0) + tolerance |phi(0)|`. Steps come from secants of the slope.
    (Hager and Zhang 2005) `tolerance` is by default the larger of 1e-6 and a hundred
    times the machine precision.
    """

    decrease: float = 0.1
    curvature: float = 0.9
    tolerance: float | None = None
    max_trials: int = 50

    def __check_init__(self):
        """Check that the settings are in range."""
        check_between(
            decrease=(self.decrease, 0.0, 0.5),
            curvature=(self.curvature, self.decrease, 1.0),
        )
        check_count(max_trials=self.max_trials)
        if self.tolerance is not None and self.tolerance < 0:
            raise InputError(f"`tolerance` must not be negative, got {self.tolerance}.")

    @override
    def init(self, origin: Trial, first_step: Float[Array, ""]) -> HagerZhangState:
        no, zero = jnp.zeros((), bool), jnp.zeros((), jnp.int32)
        left = _Point(jnp.zeros_like(origin.slope), origin.slope)
        right = _Point(jnp.full_like(origin.slope, jnp.inf), -origin.slope)
        return HagerZhangState(
            first_step, zero, no, no, left, right, left, right, no, zero + _GROW
        )

    @override
    def update(
        self, state: HagerZhangState, origin: Trial, trial: Trial
    ) -> HagerZhangState:
        is_kept = self.accepts(origin, trial)
        is_low = trial.value <= origin.value + self._round_off(origin)
        is_left = trial.is_finite & (trial.slope < 0) & is_low
        is_right = trial.is_finite & (trial.slope >= 0)
        point = _Point(trial.step, trial.slope)
        left = select_tree(is_left, point, state.left)
        right = select_tree(is_left, state.right, point)
        is_blocked = jnp.where(is_left, state.is_blocked, ~is_right)
        phase = _next_phase(state, left, right, is_blocked)
        is_first_secant = phase == _FIRST_SECANT
        left_before = select_tree(is_first_secant, left, state.left_before)
        right_before = select_tree(is_first_secant, right, state.right_before)
        step = _next_step(state, left, right, is_left, phase, trial)
        count = state.num_trials + 1
        has_failed = (step <= left.step) | (step >= right.step) | ~jnp.isfinite(step)
        is_done = is_kept | has_failed | (count >= self.max_trials)
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

    @override
    def is_loosened(self, state: HagerZhangState) -> Bool[Array, ""]:
        return jnp.zeros((), bool)

    @override
    def accepts(self, origin: Trial, trial: Trial) -> Bool[Array, ""]:
        is_flat = trial.slope >= self.curvature * origin.slope
        is_wolfe = has_decreased(origin, trial, self.decrease)
        is_low = trial.value <= origin.value + self._round_off(origin)
        is_low &= trial.slope <= (2 * self.decrease - 1) * origin.slope
        return trial.is_finite & is_flat & (is_wolfe | is_low)

    def _round_off(self, origin: Trial) -> Scalar:
        """Return the increase of a value that counts as round-off."""
        default = max(1e-6, 100 * float(jnp.finfo(origin.value.dtype).eps))
        tolerance = default if self.tolerance is None else self.tolerance
        return tolerance * jnp.abs(origin.value)


def _next_phase(state, left, right, is_blocked):
    """Grow until there is a right end, then alternate two secants and a midpoint."""
    has_no_right = ~jnp.isfinite(right.step)
    width = right.step - left.step
    is_slow = width > 0.66 * (state.right_before.step - state.left_before.step)
    phase = jnp.where(state.phase == _FIRST_SECANT, _SECOND_SECANT, _FIRST_SECANT)
    needs_midpoint = (state.phase == _SECOND_SECANT) & is_slow
    phase = jnp.where(needs_midpoint | is_blocked, _MIDPOINT, phase)
    return jnp.where(has_no_right, _GROW, phase).astype(jnp.int32)


def _next_step(state, left, right, is_left, phase, trial):
    """Return the step of a phase; the midpoint if a secant leads outside."""
    midpoint = 0.5 * (left.step + right.step)
    midpoint = jnp.where(trial.is_finite, midpoint, 0.9 * left.step + 0.1 * right.step)
    secant = _secant(left, right)
    before = select_tree(is_left, state.left_before, state.right_before)
    second = _secant(before, select_tree(is_left, left, right))
    is_inside = lambda step: (step > left.step) & (step < right.step)
    second = jnp.where(is_inside(second), second, secant)
    step = jnp.where(phase == _SECOND_SECANT, second, secant)
    step = jnp.where(is_inside(step) & (phase != _MIDPOINT), step, midpoint)
    return jnp.where(phase == _GROW, 5 * trial.step, step)


def _secant(a: _Point, b: _Point) -> Scalar:
    """Return the zero of the line through two slopes."""
    return (a.step * b.slope - b.step * a.slope) / (b.slope - a.slope)
