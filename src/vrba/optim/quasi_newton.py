"""Quasi-Newton methods with a dense inverse Hessian, up to some 10,000 parameters."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int
from typing_extensions import override

from ..core import (
    Status,
    check_count,
    check_matrix_size,
    flatten,
    flatten_gradient,
    select_tree,
)
from ._base import AbstractInfo, AbstractMethod, AbstractObjective, check_dtype
from .changes import AbstractChange, Keep
from .curvatures import AbstractCurvature, Skip
from .searches import AbstractSearch, Backtracking, Fallback, Trial
from .updates import AbstractUpdate, Secant, SSBroyden

Scalar = Float[Array, ""]
Vector = Float[Array, " params"]
STEEPEST_SEARCH = Backtracking(max_trials=60)


class QuasiNewtonState(eqx.Module):
    """Loss, gradient, inverse Hessian and next direction at the current parameters.

    While `is_initial`, the inverse is a multiple of the identity that no secant has
    scaled. `num_idle` counts steps in which neither loss nor gradient fell.
    """

    value: Scalar
    gradient: Vector
    inverse: Float[Array, "params params"]
    direction: Vector
    is_initial: Bool[Array, ""]
    step_length: Scalar
    best_value: Scalar
    best_gradient: Scalar
    num_idle: Int[Array, ""]


class QuasiNewtonInfo(AbstractInfo):
    """Measurements of one step: its length, and whether the direction was `-gradient`.

    `step_size` is relative to the direction.
    """

    value_is_old: ClassVar[bool] = False
    gradient_is_old: ClassVar[bool] = False

    value: Scalar
    gradient_norm: Scalar
    num_evaluations: Int[Array, ""]
    is_stuck: Bool[Array, ""]
    status: Status
    step_size: Scalar
    is_steepest: Bool[Array, ""]
    is_updated: Bool[Array, ""]


class _LineSearch(eqx.Module):
    """The state of the line search of one step.

    It follows the quasi-Newton direction, or steepest descent if `is_steepest`.
    """

    search: Any
    steepest_search: Any
    origin: Trial
    direction: Vector
    is_steepest: Bool[Array, ""]
    kept: Trial
    kept_gradient: Vector
    has_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]
    num_evaluations: Int[Array, ""]


class QuasiNewton(AbstractMethod):
    """Steps `-t H g` with an inverse Hessian `H` that every step updates.

    `search` finds `t`, `update` corrects `H`, `curvature` rejects or repairs bad
    secants, and `on_change` adapts `H` to new points. If the search fails, steepest
    descent with backtracking continues, with a new `H`. The optimizer is stuck if that
    fails too, or if neither loss nor gradient fell in `patience` steps.

    One step reads `H` twice and writes it once.
    """

    update: AbstractUpdate = SSBroyden()
    search: AbstractSearch = Fallback()
    curvature: AbstractCurvature = Skip()
    on_change: AbstractChange = Keep()
    patience: int = 100
    max_params: int = 30_000

    def __check_init__(self):
        """Check that the settings are in range."""
        check_count(patience=self.patience, max_params=self.max_params)

    @property
    @override
    def needs_residuals(self) -> bool:
        return False

    @override
    def is_compiled(self, state: Any) -> bool:
        return True

    @override
    def init(self, objective: AbstractObjective, params: Any) -> QuasiNewtonState:
        """Return a state whose first step has length one."""
        vector, _ = flatten(params)
        check_matrix_size(vector, self.max_params, "use `lbfgs()`")
        return _init(objective, params)

    @override
    def objective_changed(
        self, objective: AbstractObjective, params: Any, state: QuasiNewtonState
    ) -> QuasiNewtonState:
        return _change(self.on_change, objective, params, state)

    @override
    def step(
        self, objective: AbstractObjective, params: Any, state: QuasiNewtonState
    ) -> tuple[Any, QuasiNewtonState, QuasiNewtonInfo]:
        vector, rebuild = flatten(params)
        evaluate = lambda vector: _evaluate(objective, rebuild(vector))
        line = self._search_line(evaluate, vector, state)
        move = jnp.where(line.has_kept, line.kept.step * line.direction, 0)
        new_state, is_updated = self._update_inverse(state, line, move)
        info = self._info(state, new_state, line, is_updated)
        return rebuild(vector + move), new_state, info

    def _search_line(
        self, evaluate, vector: Vector, state: QuasiNewtonState
    ) -> _LineSearch:
        """Search along the direction and, if that fails, along steepest descent."""
        slope = jnp.vdot(state.gradient, state.direction)
        norm = jnp.linalg.norm(state.gradient)
        steepest = -state.step_length / jnp.where(norm > 0, norm, 1) * state.gradient
        is_steepest = ~(slope < 0)

        def must_continue(line):
            return ~line.is_done

        def try_step(line):
            either = lambda a, b: jnp.where(line.is_steepest, a, b)
            step = either(line.steepest_search.next_step, line.search.next_step)
            value, gradient = evaluate(vector + step * line.direction)
            trial = Trial(step, value, jnp.vdot(gradient, line.direction))
            search = self.search.update(line.search, line.origin, trial)
            steepest_search = STEEPEST_SEARCH.update(
                line.steepest_search, line.origin, trial
            )
            is_kept = either(steepest_search.is_kept, search.is_kept)
            is_done = either(steepest_search.is_done, search.is_done)
            kept = select_tree(is_kept, trial, line.kept)
            has_kept = line.has_kept | is_kept
            has_failed = is_done & ~has_kept & ~line.is_steepest
            count = line.num_evaluations + 1
            continued = _LineSearch(
                search,
                steepest_search,
                line.origin,
                line.direction,
                line.is_steepest,
                kept,
                select_tree(is_kept, gradient, line.kept_gradient),
                has_kept,
                is_done,
                count,
            )
            yes, no = jnp.ones((), bool), jnp.zeros((), bool)
            restarted = self._begin_line(state, steepest, yes, no, count)
            return select_tree(has_failed, restarted, continued)

        is_finite = jnp.isfinite(state.value) & jnp.isfinite(norm)
        start = self._begin_line(
            state,
            jnp.where(is_steepest, steepest, state.direction),
            is_steepest,
            ~is_finite | (norm == 0),
            jnp.zeros((), jnp.int32),
        )
        return jax.lax.while_loop(must_continue, try_step, start)

    def _begin_line(
        self,
        state: QuasiNewtonState,
        direction: Vector,
        is_steepest: Bool[Array, ""],
        is_done: Bool[Array, ""],
        num_evaluations: Int[Array, ""],
    ) -> _LineSearch:
        """Return a line search before its first trial, which is the whole direction."""
        slope = jnp.vdot(state.gradient, direction)
        one, zero = jnp.ones_like(slope), jnp.zeros_like(slope)
        origin = Trial(zero, state.value, slope)
        return _LineSearch(
            self.search.init(origin, one),
            STEEPEST_SEARCH.init(origin, one),
            origin,
            direction,
            is_steepest,
            origin,
            state.gradient,
            jnp.zeros((), bool),
            is_done,
            num_evaluations,
        )

    def _update_inverse(
        self, state: QuasiNewtonState, line: _LineSearch, move: Vector
    ) -> tuple[QuasiNewtonState, Bool[Array, ""]]:
        """Return the state with the corrected inverse, and whether it was corrected.

        If the line search kept no trial, the inverse stays as it is.
        """
        old, new, has_kept = state.gradient, line.kept_gradient, line.has_kept
        change = jnp.where(has_kept, new - old, 0)
        is_scaled = (state.is_initial | line.is_steepest) & has_kept
        first_scale = jnp.linalg.norm(line.direction) / jnp.linalg.norm(old)
        secant_scale = jnp.vdot(change, move) / jnp.vdot(change, change)
        is_curved = jnp.isfinite(secant_scale) & (secant_scale > 0)
        scale = jnp.where(is_curved, secant_scale, first_scale)
        times_new = jnp.where(is_scaled, scale * new, state.inverse @ new)
        times_old = jnp.where(is_scaled, scale * old, -line.direction)
        step_size = line.kept.step * jnp.where(is_scaled, first_scale / scale, 1)
        times_change = jnp.where(has_kept, times_new - times_old, 0)
        secant, is_used = self.curvature.guard(
            Secant(move, change, old, step_size, times_change)
        )
        is_used &= has_kept
        correction = self.update.correction(secant).unless(~is_used)
        base = jnp.where(is_scaled, scale * _identity(state.inverse), state.inverse)
        direction = -correction.times(secant, times_new, new)
        value, norm = line.kept.value, jnp.linalg.norm(new)
        has_progressed = (value < state.best_value) | (norm < state.best_gradient)
        new_state = QuasiNewtonState(
            value,
            new,
            correction.apply(secant, base),
            jnp.where(has_kept, direction, state.direction),
            jnp.where(has_kept, is_scaled & ~is_used, state.is_initial),
            jnp.where(has_kept, jnp.linalg.norm(move), state.step_length),
            jnp.minimum(value, state.best_value),
            jnp.minimum(norm, state.best_gradient),
            jnp.where(has_progressed, 0, state.num_idle + 1).astype(jnp.int32),
        )
        return new_state, is_used

    def _info(
        self,
        state: QuasiNewtonState,
        new_state: QuasiNewtonState,
        line: _LineSearch,
        is_updated: Bool[Array, ""],
    ) -> QuasiNewtonInfo:
        is_finite = jnp.isfinite(state.value) & jnp.isfinite(state.gradient).all()
        norm = jnp.linalg.norm(new_state.gradient)
        is_stuck = ~line.has_kept & (norm > 0)
        is_stuck |= new_state.num_idle >= self.patience
        is_loosened = line.is_steepest | self.search.is_loosened(line.search)
        status = Status.where(is_loosened, Status.search_loosened, Status.ok)
        status = Status.where(is_stuck, Status.no_descent, status)
        status = Status.where(is_finite, status, Status.nonfinite_objective)
        return QuasiNewtonInfo(
            new_state.value,
            norm,
            line.num_evaluations,
            is_stuck | ~is_finite,
            status,
            line.kept.step,
            line.is_steepest,
            is_updated,
        )


@eqx.filter_jit
def _init(objective, params):
    vector, _ = flatten(params)
    value, gradient = _evaluate(objective, params)
    norm = jnp.linalg.norm(gradient)
    scale = jnp.where(norm > 0, 1 / norm, 1)
    return QuasiNewtonState(
        value,
        gradient,
        scale * jnp.eye(vector.size, dtype=vector.dtype),
        -scale * gradient,
        jnp.ones((), bool),
        jnp.ones_like(value),
        value,
        norm,
        jnp.zeros((), jnp.int32),
    )


@eqx.filter_jit
def _change(rule, objective, params, state):
    value, gradient = _evaluate(objective, params)
    inverse, direction = state.inverse, -(state.inverse @ gradient)
    factor, is_reset = rule.scale_and_reset(
        state.gradient, state.direction, gradient, direction
    )
    is_reset |= jnp.vdot(direction, gradient) > 0
    norm = jnp.linalg.norm(gradient)
    is_reset &= jnp.isfinite(norm)
    scale = state.step_length / jnp.where(norm > 0, norm, 1)
    return QuasiNewtonState(
        value,
        gradient,
        jnp.where(is_reset, scale * _identity(inverse), factor * inverse),
        jnp.where(is_reset, -scale * gradient, factor * direction),
        is_reset | state.is_initial,
        state.step_length,
        value,
        norm,
        jnp.zeros((), jnp.int32),
    )


def _evaluate(objective: AbstractObjective, params: Any) -> tuple[Scalar, Vector]:
    """Return loss and gradient; raise if their dtype is not that of the parameters."""
    value, gradient = objective.value_and_gradient(params)
    vector = flatten_gradient(gradient)
    check_dtype(value, vector)
    return value, vector


def _identity(matrix: Float[Array, "params params"]) -> Float[Array, "params params"]:
    return jnp.eye(matrix.shape[0], dtype=matrix.dtype)
