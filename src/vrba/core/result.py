"""What a run has come to, in words."""

from collections.abc import Mapping
from typing import Any

from .status import Status

_ENDINGS = {
    str(Status[status]): name
    for name, status in (
        ("num_steps_reached", Status.num_steps_reached),
        ("time_reached", Status.time_reached),
        ("interrupted", Status.interrupted),
        ("no_descent", Status.no_descent),
        ("no_improvement", Status.no_improvement),
        ("nonfinite_objective", Status.nonfinite_objective),
    )
}


def ending(text: str) -> str:
    """The name of the status that has this text."""
    return _ENDINGS.get(text, "ended")


def floor_of(errors: Mapping[str, float]) -> float:
    """Below three times its own error a reference cannot tell errors apart; what is not
    known to have one is taken as it is."""
    return 3 * errors.get("of_reference", 0.0)


def result_sentence(name: str, result: Mapping[str, Any]) -> str:
    """The result of the run of a problem in one sentence."""
    text = (
        f"{name}: residual {result['residual_l2']:.2e} (root mean square on "
        f"held-out points, largest {result['residual_max']:.1e}) after "
        f"{result['step']} steps and {result['seconds']:.0f} s"
    )
    if result.get("unknowns"):
        found = [f"{n} = {value:.6g}" for n, value in result["unknowns"].items()]
        text += f"; {', '.join(found)}"
    errors, end = result.get("errors"), "." + _warning_of(result)
    if not errors:
        return f"{text}; there is no reference to compare with{end}"
    floor = floor_of(errors)
    shown = [max(errors[which], floor) for which in ("selected", "last")]
    signs = ["<" if errors[w] < floor else "" for w in ("selected", "last")]
    return text + (
        f"; relative L2 error {signs[0]}{shown[0]:.2e} (selected by residual), "
        f"{signs[1]}{shown[1]:.2e} (last){end}"
    )


def operator_sentence(name: str, result: Mapping[str, Any]) -> str:
    """The result of a run that trained an operator in one sentence."""
    errors = result["errors"]
    return (
        f"{name}: relative L2 error {errors['selected']:.2e} (selected by validation "
        f"error), {errors['last']:.2e} (last), mean over functions of the test set as "
        f"the network sees them; of the selected half are below {errors['p50']:.2e} "
        f"and the worst is {errors['max']:.2e}; in their own units "
        f"{errors['raw']:.2e}; after {result['step']} steps and "
        f"{result['seconds']:.0f} s.{_warning_of(result)}"
    )


def _warning_of(result: Mapping[str, Any]) -> str:
    """That the time was too short for a first step, if it was."""
    if result["step"] or ending(result["status"]) != "time_reached":
        return ""
    return " No step was made: compiling took all of the time, so give more minutes."
