"""What happened in a step, in words that say what to try next."""

import equinox as eqx


class Status(eqx.Enumeration):
    """Outcome of a step, an integer inside `jit`; `Status[...]` is its text."""

    ok = ""
    nonfinite_residual = (
        "Some residuals, or their powers, were NaN or infinite: those points kept "
        "their weights and `num_rejected` counts them. Lower the learning rate, use "
        "float64, or look for a division by zero in the equation."
    )
    converged = "The gradient is below its tolerance: this is a stationary point."
    target_reached = "The loss is below its target."
    num_steps_reached = (
        "All steps were made and the gradient is not yet small: give more "
        "`max_steps`, or go on from `state`."
    )
    time_reached = "The time that was given is over; go on from there for more."
    interrupted = "Stopped by the user; go on from `state`."
    nonfinite_objective = (
        "The objective or its gradient is NaN or infinite where the step began. Begin "
        "elsewhere, look for a division by zero or the root of zero, or scale the "
        "input."
    )
    search_loosened = (
        "The first line search failed; a looser one, or steepest descent, went on."
    )
    no_descent = (
        "No step lowers the loss, however short: this is the floor of the precision, "
        "or the gradient is not that of the objective. Use float64, change the points "
        "or the weights, or take the result."
    )
    no_improvement = (
        "The error on the validation set has not fallen for as long as `patience` "
        "allows: the selected iterate is the best; more data or a smaller network may "
        "do better."
    )
