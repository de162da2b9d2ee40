"""Outcome of a step or run, with a text that says what to try next."""

import equinox as eqx


class Status(eqx.Enumeration):
    """Outcome of a step, an integer inside `jit`; `Status[...]` is its text."""

    ok = ""
    nonfinite_residual = (
        "Some residuals, or their powers, were NaN or infinite. Those points kept "
        "their weights; `num_rejected` counts them. Lower the learning rate, use "
        "float64, or look for a division by zero in the equation."
    )
    converged = "The gradient is below its tolerance: this is a stationary point."
    target_reached = "The loss is below its target."
    num_steps_reached = (
        "Step limit reached before the gradient was small. Raise `max_steps`, or "
        "continue from `state`."
    )
    time_reached = "Time limit reached. Continue the run to train for longer."
    interrupted = "Interrupted by the user. Continue from `state`."
    nonfinite_objective = (
        "The objective or its gradient is NaN or infinite at the start of the step. "
        "Change the initial values, look for a division by zero or the root of zero, "
        "or scale the input."
    )
    search_loosened = (
        "The first line search failed. A looser search or steepest descent was used."
    )
    no_descent = (
        "No step lowers the loss, however short. Either rounding errors dominate, or "
        "the gradient is not that of the objective. Use float64, change the points or "
        "the weights, or accept the result."
    )
    no_improvement = (
        "The validation error has not fallen for `patience` evaluations. The selected "
        "iterate is the best one. Use more data or a smaller network."
    )
