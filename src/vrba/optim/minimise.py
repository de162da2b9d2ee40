"""The driver for any JAX function: steps until it is solved, stuck or told to stop."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..core import InputError, Status, check_float64_enabled, to_jax_arrays
from ._base import AbstractInfo, AbstractOptimizer
from .advance import Stop, advance
from .least_squares import AbstractLeastSquares, LeastSquares, VectorTerm
from .objective import AbstractObjective, Objective, value_of


class Progress(eqx.Module):
    """What a callback sees: counts so far, and the last step."""

    num_steps: int
    num_evaluations: int
    info: AbstractInfo


class Result(eqx.Module):
    """Where a run ended. `Status[result.status]` says why, `state` goes on from there.

    `values` holds the loss that each step reports. `num_evaluations` is what the steps
    report: a loss, with or without its gradient, a Jacobian, an acceleration count one
    each; the products inside `ConjugateGradients` are not counted.
    """

    params: Any
    loss: Float[Array, ""]
    status: Status
    num_steps: int
    num_evaluations: int
    state: Any
    values: Float[np.ndarray, " steps"]


def minimise(
    fn: Callable[..., Any] | AbstractObjective,
    params: Any,
    optimizer: AbstractOptimizer,
    *,
    max_steps: int,
    args: tuple[Any, ...] = (),
    gradient_tolerance: float = 0.0,
    target: float = -np.inf,
    state: Any = None,
    steps_per_call: int = 100,
    callback: Callable[[Progress], Any] | None = None,
) -> Result:
    """Minimises `fn(params, *args)`, or an objective, from `params`.

    For an optimizer of residuals `fn` returns their vector, and the loss is its mean
    square. `callback` is called every `steps_per_call` steps: if what it returns is
    true, or on Ctrl-C, the run stops, and `state` of the result goes on from there. If
    `args` or the objective are others than before, pass it through
    `optimizer.objective_changed` first.
    """
    if max_steps < 0:
        raise InputError(f"`max_steps` must not be negative, got {max_steps}.")
    if steps_per_call < 1:
        raise InputError(f"`steps_per_call` must be at least 1, got {steps_per_call}.")
    check_float64_enabled(params)
    params = to_jax_arrays(params)
    objective = as_objective(fn, args, optimizer)
    stop = Stop(gradient_tolerance, target)
    num_steps, num_evaluations, values = 0, 0, []
    status = Status.num_steps_reached
    if state is None:
        state = optimizer.init(objective, params)
    try:
        while num_steps < max_steps:
            count = min(steps_per_call, max_steps - num_steps)
            end = advance(
                optimizer, objective, params, state, count, stop, room=steps_per_call
            )
            done = int(end[2].num_steps)
            params, state, steps = end
            num_steps += done
            num_evaluations += int(steps.num_evaluations)
            values.append(np.asarray(steps.values[:done]))
            progress = Progress(num_steps, num_evaluations, steps.info)
            if bool(steps.status != Status.ok):
                status = steps.status
                break
            if callback is not None and bool(callback(progress)):
                status = Status.interrupted
                break
    except KeyboardInterrupt:
        status = Status.interrupted
    loss = value_of(objective, params)
    history = np.concatenate([np.zeros(0, loss.dtype), *values])
    return Result(params, loss, status, num_steps, num_evaluations, state, history)


def as_objective(
    fn: Callable[..., Any] | AbstractObjective,
    args: tuple[Any, ...],
    optimizer: AbstractOptimizer,
) -> AbstractObjective:
    """A function as what the optimizer needs: a loss, or residuals."""
    if isinstance(fn, AbstractObjective):
        if args:
            raise InputError("`args` belong to a function; an objective holds its own.")
        if optimizer.needs_residuals and not isinstance(fn, AbstractLeastSquares):
            raise InputError(
                f"{type(optimizer).__name__} needs residuals, `fn` is an "
                f"{type(fn).__name__}: make it a `LeastSquares`."
            )
        return fn
    if not callable(fn):
        raise InputError(f"`fn` must be a function or an objective, got {fn!r}.")
    if optimizer.needs_residuals:
        return LeastSquares(VectorTerm(fn, args))
    return Objective(fn, args)
