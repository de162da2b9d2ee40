"""Many steps in one call: a compiled loop with stopping criteria."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from ..core import InputError, Status, select_tree, to_jax_arrays
from ._base import (
    AbstractInfo,
    AbstractObjective,
    AbstractObjectiveStream,
    AbstractOptimizer,
)


class StoppingCriteria(eqx.Module):
    """When to stop early: a small Euclidean norm of the gradient, or a small loss."""

    gradient_tolerance: Float[Array, ""] = eqx.field(default=0.0, converter=jnp.asarray)
    target_loss: Float[Array, ""] = eqx.field(default=-jnp.inf, converter=jnp.asarray)

    def status(self, info: AbstractInfo) -> Status:
        """Return the reason to stop after this step, or `Status.ok` to continue."""
        dtype, is_finite = info.value.dtype, jnp.isfinite(info.value)
        is_low = is_finite & (info.value <= self.target_loss.astype(dtype))
        tolerance = self.gradient_tolerance.astype(dtype)
        is_flat = is_finite & (info.gradient_norm <= tolerance)
        status = Status.where(info.is_stuck, info.status, Status.ok)
        status = Status.where(is_flat, Status.converged, status)
        return Status.where(is_low, Status.target_reached, status)

    def undoes_step(self, info: AbstractInfo) -> Bool[Array, ""]:
        """Whether the criteria were met before the step, so that it must be undone."""
        status = self.status(info)
        is_flat = (status == Status.converged) & info.gradient_is_old
        return is_flat | ((status == Status.target_reached) & info.value_is_old)


class AdvanceInfo(eqx.Module):
    """Measurements of one call of `advance`.

    `values` holds the loss of each step, then NaN; `info` belongs to the last step.
    `status` is the reason to stop early, or `Status.ok`.
    """

    num_steps: Int[Array, ""]
    num_evaluations: Int[Array, ""]
    values: Float[Array, " capacity"]
    status: Status
    info: AbstractInfo


def advance(
    optimizer: AbstractOptimizer,
    objective: AbstractObjective,
    params: Any,
    state: Any,
    num_steps: int,
    stop: StoppingCriteria | None = None,
    *,
    capacity: int | None = None,
) -> tuple[Any, Any, AdvanceInfo]:
    """Make up to `num_steps` steps on one objective.

    Returns `(params, state, info)`. The call ends early when `stop` is met, the
    optimizer is stuck, or its stage is over. The steps are one compiled loop if the
    optimizer allows it. The loop is compiled once for each `capacity`, the length of
    `info.values` (default: `num_steps`).
    """
    stop = StoppingCriteria() if stop is None else stop
    params, state, _, info = _advance(
        _same_objective,
        optimizer,
        objective,
        params,
        state,
        None,
        num_steps,
        stop,
        capacity,
    )
    return params, state, info


def advance_stream(
    optimizer: AbstractOptimizer,
    stream: AbstractObjectiveStream,
    params: Any,
    state: Any,
    stream_state: Any,
    num_steps: int,
    stop: StoppingCriteria | None = None,
    *,
    capacity: int | None = None,
) -> tuple[Any, Any, Any, AdvanceInfo]:
    """Make up to `num_steps` steps, each on the next objective of `stream`.

    Returns `(params, state, stream_state, info)`; otherwise like `advance`. Before
    each step the optimizer is told that the objective has changed. By default no
    gradient or loss is small enough to stop: it belongs to one objective of many. A
    loss that is not finite, or an optimizer that is stuck, always ends the call.
    """
    stop = StoppingCriteria(gradient_tolerance=-jnp.inf) if stop is None else stop
    return _advance(
        _next_objective,
        optimizer,
        stream,
        params,
        state,
        stream_state,
        num_steps,
        stop,
        capacity,
    )


def _same_objective(optimizer, objective, stream_state, params, state):
    del optimizer, params
    return objective, stream_state, state


def _next_objective(optimizer, stream, stream_state, params, state):
    objective, stream_state = stream.next_objective(stream_state, params)
    state = optimizer.objective_changed(objective, params, state)
    return objective, stream_state, state


def _advance(
    begin_step: Callable[..., tuple[AbstractObjective, Any, Any]],
    optimizer: AbstractOptimizer,
    source: AbstractObjective | AbstractObjectiveStream,
    params: Any,
    state: Any,
    stream_state: Any,
    num_steps: int,
    stop: StoppingCriteria,
    capacity: int | None,
) -> tuple[Any, Any, Any, AdvanceInfo]:
    """Choose between the compiled loop and the loop in Python.

    `begin_step` returns the objective of the next step, taken from `source`, with the
    new states of the stream and of the optimizer.
    """
    capacity = num_steps if capacity is None else capacity
    if not 1 <= num_steps <= capacity:
        raise InputError(
            f"`num_steps` must be between 1 and `capacity`, {capacity}, got "
            f"{num_steps}."
        )
    params = to_jax_arrays(params)
    is_over = optimizer.is_stage_over(state)
    if not isinstance(is_over, Tracer) and bool(is_over):
        objective, _, _ = begin_step(optimizer, source, stream_state, params, state)
        state = optimizer.next_stage(objective, params, state)
    inputs = begin_step, optimizer, source, params, state, stream_state
    if optimizer.is_compiled(state):
        limit = jnp.asarray(num_steps, jnp.int32)
        return _compiled_loop(*inputs, limit, stop, capacity)
    return _python_loop(*inputs, num_steps, stop, capacity)


@eqx.filter_jit
def _compiled_loop(
    begin_step, optimizer, source, params, state, stream_state, limit, stop, capacity
):
    trained, fixed = eqx.partition(params, eqx.is_inexact_array)
    moving, still = eqx.partition(stream_state, eqx.is_array)

    def make_step(carry):
        trained, state, moving, total = carry
        params, stream_state = eqx.combine(trained, fixed), eqx.combine(moving, still)
        objective, stream_state, state = begin_step(
            optimizer, source, stream_state, params, state
        )
        params, new_state, info = optimizer.step(objective, params, state)
        new = eqx.filter(params, eqx.is_inexact_array), new_state
        trained, state = select_tree(stop.undoes_step(info), (trained, state), new)
        moving = eqx.filter(stream_state, eqx.is_array)
        return trained, state, moving, _add_step(total, info, stop)

    def must_continue(carry):
        _, state, _, total = carry
        is_open = (total.status == Status.ok) & ~optimizer.is_stage_over(state)
        return (total.num_steps < limit) & is_open

    start = trained, state, moving, None
    shapes = jax.eval_shape(make_step, start)[-1].info
    blank = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    trained, state, moving, total = jax.lax.while_loop(
        must_continue, make_step, (*start[:-1], _no_steps(blank, capacity))
    )
    params, stream_state = eqx.combine(trained, fixed), eqx.combine(moving, still)
    return params, state, stream_state, total


def _python_loop(
    begin_step, optimizer, source, params, state, stream_state, limit, stop, capacity
):
    total = None
    while total is None or int(total.num_steps) < limit:
        try:
            objective, next_stream_state, old_state = begin_step(
                optimizer, source, stream_state, params, state
            )
            new, new_state, info = optimizer.step(objective, params, old_state)
        except KeyboardInterrupt:
            if total is None:
                raise
            total = eqx.tree_at(lambda t: t.status, total, Status.interrupted)
            break
        total = _add_step(total or _no_steps(info, capacity), info, stop)
        stream_state, is_undone = next_stream_state, bool(stop.undoes_step(info))
        params, state = (params, old_state) if is_undone else (new, new_state)
        if bool(total.status != Status.ok) or bool(optimizer.is_stage_over(state)):
            break
    return params, state, stream_state, total


def _no_steps(info: AbstractInfo, capacity: int) -> AdvanceInfo:
    zero = jnp.zeros((), jnp.int32)
    values = jnp.full((capacity,), jnp.nan, info.value.dtype)
    return AdvanceInfo(zero, zero, values, Status.ok, info)


def _add_step(
    total: AdvanceInfo | None, info: AbstractInfo, stop: StoppingCriteria
) -> AdvanceInfo:
    if total is None:  # only the shapes are needed
        total = _no_steps(info, 1)
    return AdvanceInfo(
        total.num_steps + 1,
        total.num_evaluations + info.num_evaluations,
        total.values.at[total.num_steps].set(info.value),
        stop.status(info),
        info,
    )
