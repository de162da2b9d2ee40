"""Minimisation of any JAX function, until converged, stuck or told to stop."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..core import InputError, Status, check_float64_enabled, to_jax_arrays
from ._base import AbstractInfo, AbstractObjective, AbstractOptimizer
from .objectives import AbstractLeastSquares, LeastSquares, Objective, compiled_value
from .stepping import StoppingCriteria, advance
from .terms import VectorTerm


class Progress(eqx.Module):
    """Argument of a callback: counts so far, and the info of the last step."""

    num_steps: int
    num_evaluations: int
    info: AbstractInfo


class Result(eqx.Module):
    """Parameters and loss at the end of a run.

    `Status[result.status]` is the reason why it ended; pass `state` to `minimise` to
    continue. `values` holds the loss of each step. `num_evaluations` counts losses
    (with or without gradient), Jacobians and accelerations, one each; it does not
    count the products inside `ConjugateGradients`.
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
    target_loss: float = -np.inf,
    state: Any = None,
    steps_per_call: int = 100,
    callback: Callable[[Progress], Any] | None = None,
) -> Result:
    """Minimise `fn(params, *args)`, or an objective, starting from `params`.

    If the optimizer needs residuals, `fn` returns their vector, and the loss is its
    mean square. `callback` is called every `steps_per_call` steps. If it returns a
    true value, or on Ctrl-C, the run stops. Pass `result.state` as `state` to continue
    the run; if `args` or the objective have changed since then, pass the state through
    `optimizer.objective_changed` first.
    """
    if max_steps < 0:
        raise InputError(f"`max_steps` must not be negative, got {max_steps}.")
    if steps_per_call < 1:
        raise InputError(f"`steps_per_call` must be at least 1, got {steps_per_call}.")
    check_float64_enabled(params)
    params = to_jax_arrays(params)
    objective = as_objective(fn, args, optimizer)
    stop = StoppingCriteria(gradient_tolerance, target_loss)
    num_steps, num_evaluations, values = 0, 0, []
    status = Status.num_steps_reached
    if state is None:
        state = optimizer.init(objective, params)
    try:
        while num_steps < max_steps:
            count = min(steps_per_call, max_steps - num_steps)
            inputs = optimizer, objective, params, state, count, stop
            end = advance(*inputs, capacity=steps_per_call)
            num_new = int(end[2].num_steps)  # waits; an interrupt changes nothing yet
            params, state, info = end
            num_steps += num_new
            num_evaluations += int(info.num_evaluations)
            values.append(np.asarray(info.values[:num_new]))
            progress = Progress(num_steps, num_evaluations, info.info)
            if bool(info.status != Status.ok):
                status = info.status
                break
            if callback is not None and bool(callback(progress)):
                status = Status.interrupted
                break
    except KeyboardInterrupt:
        status = Status.interrupted
    loss = compiled_value(objective, params)
    history = np.concatenate([np.zeros(0, loss.dtype), *values])
    return Result(params, loss, status, num_steps, num_evaluations, state, history)


def as_objective(
    fn: Callable[..., Any] | AbstractObjective,
    args: tuple[Any, ...],
    optimizer: AbstractOptimizer,
) -> AbstractObjective:
    """Return `fn` as the kind of objective the optimizer needs."""
    if isinstance(fn, AbstractObjective):
        if args:
            raise InputError(
                "`args` belong to a function, but `fn` is an objective: store them in "
                "the objective."
            )
        if optimizer.needs_residuals and not isinstance(fn, AbstractLeastSquares):
            raise InputError(
                f"{type(optimizer).__name__} needs residuals, but `fn` is of type "
                f"{type(fn).__name__}: pass a `LeastSquares`."
            )
        return fn
    if not callable(fn):
        raise InputError(f"`fn` must be a function or an objective, got {fn!r}.")
    if optimizer.needs_residuals:
        return LeastSquares(VectorTerm(fn, args))
    return Objective(fn, args)
