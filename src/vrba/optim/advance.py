"""Many steps in one call: one compiled loop, stopped by what the steps reach."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from ..core import InputError, Status, select_tree, to_jax_arrays
from ._base import AbstractInfo, AbstractOptimizer
from .objective import AbstractObjective


class Stop(eqx.Module):
    """When to stop early: a small gradient (its Euclidean norm), or a small loss."""

    gradient_tolerance: Float[Array, ""] = eqx.field(default=0.0, converter=jnp.asarray)
    target: Float[Array, ""] = eqx.field(default=-jnp.inf, converter=jnp.asarray)

    def status(self, info: AbstractInfo) -> Status:
        """Why to stop after this step, or `Status.ok`."""
        dtype, is_finite = info.value.dtype, jnp.isfinite(info.value)
        is_low = is_finite & (info.value <= self.target.astype(dtype))
        tolerance = self.gradient_tolerance.astype(dtype)
        is_flat = is_finite & (info.gradient_norm <= tolerance)
        status = Status.where(info.is_stuck, info.status, Status.ok)
        status = Status.where(is_flat, Status.converged, status)
        return Status.where(is_low, Status.target_reached, status)

    def takes_back(self, info: AbstractInfo) -> Bool[Array, ""]:
        """Whether it stops for what was known before the last step."""
        status = self.status(info)
        is_flat = (status == Status.converged) & info.gradient_is_old
        return is_flat | ((status == Status.target_reached) & info.value_is_old)


class Steps(eqx.Module):
    """What came of many steps: how many, the loss each reports, and the last one."""

    num_steps: Int[Array, ""]
    num_evaluations: Int[Array, ""]
    values: Float[Array, " most"]
    status: Status
    info: AbstractInfo


def advance(
    optimizer: AbstractOptimizer,
    objective: AbstractObjective,
    params: Any,
    state: Any,
    num_steps: int,
    stop: Stop | None = None,
    *,
    room: int | None = None,
) -> tuple[Any, Any, Steps]:
    """At most `num_steps` steps; fewer if `stop` says so, or a stage ends.

    Where the optimizer allows it, all of them are one compiled loop. It is compiled
    once for each `room`, the length of `values`, which is `num_steps` if not given.
    """
    room = num_steps if room is None else room
    if not 1 <= num_steps <= room:
        raise InputError(
            f"`num_steps` must be at least 1 and at most `room`, {room}, got "
            f"{num_steps}."
        )
    stop = Stop() if stop is None else stop
    params = to_jax_arrays(params)
    is_due = optimizer.is_stage_over(state)
    if not isinstance(is_due, Tracer) and bool(is_due):
        state = optimizer.next_stage(objective, params, state)
    if optimizer.is_compiled(state):
        limit = jnp.asarray(num_steps, jnp.int32)
        return _compiled(optimizer, objective, params, state, limit, stop, room)
    return _step_by_step(optimizer, objective, params, state, num_steps, stop, room)


@eqx.filter_jit
def _compiled(optimizer, objective, params, state, num_steps, stop, room):
    trained, fixed = eqx.partition(params, eqx.is_inexact_array)

    def make_step(carry):
        trained, state, steps = carry
        params = eqx.combine(trained, fixed)
        params, new_state, info = optimizer.step(objective, params, state)
        new = eqx.filter(params, eqx.is_inexact_array), new_state
        goes_back = stop.takes_back(info)
        chosen = select_tree(goes_back, (trained, state), new)
        return *chosen, _added(steps, info, stop)

    def go_on(carry):
        _, state, steps = carry
        is_open = (steps.status == Status.ok) & ~optimizer.is_stage_over(state)
        return (steps.num_steps < num_steps) & is_open

    kind = jax.eval_shape(make_step, (trained, state, None))[2].info
    blank = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), kind)
    start = _no_steps(blank, room)
    trained, state, steps = jax.lax.while_loop(
        go_on, make_step, (trained, state, start)
    )
    return eqx.combine(trained, fixed), state, steps


def _step_by_step(optimizer, objective, params, state, num_steps, stop, room):
    steps = None
    while steps is None or int(steps.num_steps) < num_steps:
        try:
            new, new_state, info = optimizer.step(objective, params, state)
        except KeyboardInterrupt:
            if steps is None:
                raise
            steps = eqx.tree_at(lambda s: s.status, steps, Status.interrupted)
            break
        steps = _added(steps or _no_steps(info, room), info, stop)
        if not bool(stop.takes_back(info)):
            params, state = new, new_state
        if bool(steps.status != Status.ok) or bool(optimizer.is_stage_over(state)):
            break
    return params, state, steps


def _no_steps(info: AbstractInfo, most: int) -> Steps:
    zero = jnp.zeros((), jnp.int32)
    values = jnp.full((most,), jnp.nan, info.value.dtype)
    return Steps(zero, zero, values, Status.ok, info)


def _added(steps: Steps | None, info: AbstractInfo, stop: Stop) -> Steps:
    if steps is None:  # only the shapes are asked for
        steps = _no_steps(info, 1)
    return Steps(
        steps.num_steps + 1,
        steps.num_evaluations + info.num_evaluations,
        steps.values.at[steps.num_steps].set(info.value),
        stop.status(info),
        info,
    )
