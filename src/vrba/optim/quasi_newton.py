"""Quasi-Newton methods with a dense inverse Hessian, for up to some ten thousand."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core import (
    Status,
    check_count,
    check_matrix_size,
    flatten,
    flatten_gradient,
    select_tree,
)
from ._base import AbstractInfo, AbstractMethod, check_type
from .changes import AbstractChange, Keep
from .curvatures import AbstractCurvature, Skip
from .objective import AbstractObjective
from .searches import AbstractSearch, Backtracking, Fallback, Trial
from .updates import AbstractUpdate, Secant, SSBroyden

Scalar = Float[Array, ""]
Vector = Float[Array, " params"]
RESCUE = Backtracking(max_trials=60)


class QuasiNewtonState(eqx.Module):
    """Loss, gradient, inverse Hessian and next direction at the current parameters.

    While `is_new`, the inverse is a multiple of the identity that no step has set.
    """

    value: Scalar
    gradient: Vector
    inverse: Float[Array, "params params"]
    direction: Vector
    is_new: Bool[Array, ""]
    step_length: Scalar
    best_value: Scalar
    best_gradient: Scalar
    num_idle: Int[Array, ""]


class QuasiNewtonInfo(AbstractInfo):
    """What happened: `step_size` along the direction, and whether it was steepest."""

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


class _Walk(eqx.Module):
    """A line search under way: along the direction, or along steepest descent."""

    search: Any
    rescue: Any
    origin: Trial
    direction: Vector
    is_steepest: Bool[Array, ""]
    kept: Trial
    kept_gradient: Vector
    has_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]
    num_evaluations: Int[Array, ""]


class QuasiNewton(AbstractMethod):
    """Steps `-t H g` with an inverse Hessian `H` that learns from every step.

    `update` is the rule it learns by, `search` finds `t`, `curvature` guards against
    bad secants, `on_change` says what `H` is worth for new points. If the search
    fails, steepest descent by backtracking goes on, with a fresh `H`. A run is stuck
    only if that fails too, or if neither loss nor gradient fell in `patience` steps.

    One step reads `H` twice and writes it once.
    """

    update: AbstractUpdate = SSBroyden()
    search: AbstractSearch = Fallback()
    curvature: AbstractCurvature = Skip()
    on_change: AbstractChange = Keep()
    patience: int = 100
    max_params: int = 30_000

    def __check_init__(self):
        """Settings in range."""
        check_count(patience=self.patience, max_params=self.max_params)

    @property
    def needs_residuals(self) -> bool:
        """A loss is enough."""
        return False

    def is_compiled(self, state: Any) -> bool:
        """Steps can be compiled."""
        return True

    def init(self, objective: AbstractObjective, params: Any) -> QuasiNewtonState:
        """Loss and gradient, and an inverse whose first step has length one."""
        vector, _ = flatten(params)
        check_matrix_size(vector, self.max_params, "take `lbfgs()`")
        return _init(objective, params)

    def objective_changed(
        self, objective: AbstractObjective, params: Any, state: QuasiNewtonState
    ) -> QuasiNewtonState:
        """Loss and gradient anew; the inverse as `on_change` says."""
        return _change(self.on_change, objective, params, state)

    def step(
        self, objective: AbstractObjective, params: Any, state: QuasiNewtonState
    ) -> tuple[Any, QuasiNewtonState, QuasiNewtonInfo]:
        """A line search, then what its end teaches."""
        vector, rebuild = flatten(params)
        evaluate = lambda vector: _evaluate(objective, rebuild(vector))
        walk = self._walk(evaluate, vector, state)
        move = jnp.where(walk.has_kept, walk.kept.step * walk.direction, 0)
        new_state, is_updated = self._learn(state, walk, move)
        info = self._report(state, new_state, walk, is_updated)
        return rebuild(vector + move), new_state, info

    def _walk(self, evaluate, vector: Vector, state: QuasiNewtonState) -> _Walk:
        """Searches along the direction and, if that fails, along steepest descent."""
        slope = jnp.vdot(state.gradient, state.direction)
        norm = jnp.linalg.norm(state.gradient)
        steepest = -state.step_length / jnp.where(norm > 0, norm, 1) * state.gradient
        is_steepest = ~(slope < 0)

        def go_on(walk):
            return ~walk.is_done

        def try_step(walk):
            either = lambda a, b: jnp.where(walk.is_steepest, a, b)
            step = either(walk.rescue.next_step, walk.search.next_step)
            value, gradient = evaluate(vector + step * walk.direction)
            trial = Trial(step, value, jnp.vdot(gradient, walk.direction))
            search = self.search.update(walk.search, walk.origin, trial)
            rescue = RESCUE.update(walk.rescue, walk.origin, trial)
            is_kept = either(rescue.is_kept, search.is_kept)
            is_done = either(rescue.is_done, search.is_done)
            kept = select_tree(is_kept, trial, walk.kept)
            has_kept = walk.has_kept | is_kept
            turns = is_done & ~has_kept & ~walk.is_steepest
            count = walk.num_evaluations + 1
            going = _Walk(
                search,
                rescue,
                walk.origin,
                walk.direction,
                walk.is_steepest,
                kept,
                select_tree(is_kept, gradient, walk.kept_gradient),
                has_kept,
                is_done,
                count,
            )
            yes, no = jnp.ones((), bool), jnp.zeros((), bool)
            anew = self._begin(state, steepest, yes, no, count)
            return select_tree(turns, anew, going)

        is_finite = jnp.isfinite(state.value) & jnp.isfinite(norm)
        start = self._begin(
            state,
            jnp.where(is_steepest, steepest, state.direction),
            is_steepest,
            ~is_finite | (norm == 0),
            jnp.zeros((), jnp.int32),
        )
        return jax.lax.while_loop(go_on, try_step, start)

    def _begin(
        self,
        state: QuasiNewtonState,
        direction: Vector,
        is_steepest: Bool[Array, ""],
        is_done: Bool[Array, ""],
        num_evaluations: Int[Array, ""],
    ) -> _Walk:
        """A walk before its first trial, which is the whole direction."""
        slope = jnp.vdot(state.gradient, direction)
        one, zero = jnp.ones_like(slope), jnp.zeros_like(slope)
        origin = Trial(zero, state.value, slope)
        return _Walk(
            self.search.init(origin, one),
            RESCUE.init(origin, one),
            origin,
            direction,
            is_steepest,
            origin,
            state.gradient,
            jnp.zeros((), bool),
            is_done,
            num_evaluations,
        )

    def _learn(
        self, state: QuasiNewtonState, walk: _Walk, move: Vector
    ) -> tuple[QuasiNewtonState, Bool[Array, ""]]:
        """The inverse corrected by the secant, and the next direction from it.

        A walk that kept nothing teaches nothing.
        """
        old, new, has_kept = state.gradient, walk.kept_gradient, walk.has_kept
        change = jnp.where(has_kept, new - old, 0)
        is_fresh = (state.is_new | walk.is_steepest) & has_kept
        first_scale = jnp.linalg.norm(walk.direction) / jnp.linalg.norm(old)
        fresh_scale = jnp.vdot(change, move) / jnp.vdot(change, change)
        is_curved = jnp.isfinite(fresh_scale) & (fresh_scale > 0)
        scale = jnp.where(is_curved, fresh_scale, first_scale)
        times_new = jnp.where(is_fresh, scale * new, state.inverse @ new)
        times_old = jnp.where(is_fresh, scale * old, -walk.direction)
        step_size = walk.kept.step * jnp.where(is_fresh, first_scale / scale, 1)
        times_change = jnp.where(has_kept, times_new - times_old, 0)
        secant, is_used = self.curvature.guard(
            Secant(move, change, old, step_size, times_change)
        )
        is_used &= has_kept
        correction = self.update.correction(secant).unless(~is_used)
        base = jnp.where(is_fresh, scale * _identity(state.inverse), state.inverse)
        direction = -correction.times(secant, times_new, new)
        value, norm = walk.kept.value, jnp.linalg.norm(new)
        has_moved = (value < state.best_value) | (norm < state.best_gradient)
        new_state = QuasiNewtonState(
            value,
            new,
            correction.apply(secant, base),
            jnp.where(has_kept, direction, state.direction),
            jnp.where(has_kept, is_fresh & ~is_used, state.is_new),
            jnp.where(has_kept, jnp.linalg.norm(move), state.step_length),
            jnp.minimum(value, state.best_value),
            jnp.minimum(norm, state.best_gradient),
            jnp.where(has_moved, 0, state.num_idle + 1).astype(jnp.int32),
        )
        return new_state, is_used

    def _report(
        self,
        state: QuasiNewtonState,
        new_state: QuasiNewtonState,
        walk: _Walk,
        is_updated: Bool[Array, ""],
    ) -> QuasiNewtonInfo:
        is_finite = jnp.isfinite(state.value) & jnp.isfinite(state.gradient).all()
        norm = jnp.linalg.norm(new_state.gradient)
        is_stuck = ~walk.has_kept & (norm > 0)
        is_stuck |= new_state.num_idle >= self.patience
        is_loose = walk.is_steepest | self.search.is_loosened(walk.search)
        status = Status.where(is_loose, Status.search_loosened, Status.ok)
        status = Status.where(is_stuck, Status.no_descent, status)
        status = Status.where(is_finite, status, Status.nonfinite_objective)
        return QuasiNewtonInfo(
            new_state.value,
            norm,
            walk.num_evaluations,
            is_stuck | ~is_finite,
            status,
            walk.kept.step,
            walk.is_steepest,
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
    factor, forgets = rule.judge(state.gradient, state.direction, gradient, direction)
    forgets |= jnp.vdot(direction, gradient) > 0
    norm = jnp.linalg.norm(gradient)
    forgets &= jnp.isfinite(norm)
    scale = state.step_length / jnp.where(norm > 0, norm, 1)
    return QuasiNewtonState(
        value,
        gradient,
        jnp.where(forgets, scale * _identity(inverse), factor * inverse),
        jnp.where(forgets, -scale * gradient, factor * direction),
        forgets | state.is_new,
        state.step_length,
        value,
        norm,
        jnp.zeros((), jnp.int32),
    )


def _evaluate(objective: AbstractObjective, params: Any) -> tuple[Scalar, Vector]:
    """Loss and gradient, of the type that the parameters have."""
    value, gradient = objective.value_and_gradient(params)
    vector = flatten_gradient(gradient)
    check_type(value, vector)
    return value, vector


def _identity(like: Float[Array, "params params"]) -> Float[Array, "params params"]:
    return jnp.eye(like.shape[0], dtype=like.dtype)
