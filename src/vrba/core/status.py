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
