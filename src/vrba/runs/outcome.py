"""How a run ends: codes for files and programs, sentences for people."""

import enum
from collections.abc import Mapping, Sequence
from typing import Any

_ONE_SHOT = "one shot, without training"
UNSOLVED_SHARE = 0.03  # of the size of the terms of an equation


class StopReason(enum.StrEnum):
    """Why a run ended, as stored in its folder."""

    steps = "steps"
    time = "time"
    no_descent = "no_descent"
    stuck = "stuck"
    no_improvement = "no_improvement"
    no_gain = "no_gain"
    no_fit = "no_fit"
    marched = "marched"
    short_slab = "short_slab"
    tolerance = "tolerance"
    converged = "converged"
    interrupted = "interrupted"
    not_finite = "not_finite"

    @property
    def advice(self) -> str:
        """What happened, and what to try next."""
        return _ADVICE[self]


_ADVICE = {
    StopReason.steps: "All steps were made. Resume with more steps to go on.",
    StopReason.time: "The time limit was reached. Resume with more minutes to go on.",
    StopReason.no_descent: (
        "No step lowers the loss: this is the limit of the precision, or the gradient "
        "is wrong. Use float64, change the points or the weights, or accept the result."
    ),
    StopReason.stuck: (
        "The residual hardly fell. Train longer, change the network or the points, or "
        "scale the problem."
    ),
    StopReason.no_improvement: (
        "The validation error did not fall for `patience` checks. The selected iterate "
        "is the best; more data or a smaller network may do better."
    ),
    StopReason.no_gain: (
        "The linear stage cannot improve this network. Resume with more minutes or "
        "steps to train it further."
    ),
    StopReason.no_fit: (
        "The linear stage met a residual or a derivative that is NaN or infinite at "
        "some point. Look for a root, a logarithm or a division by zero in the "
        "equations."
    ),
    StopReason.marched: (
        "All slabs of time were solved. For a smaller error, use a larger network or a "
        "smaller `tolerance` of the slabs, or allow more sweeps of the linear stage."
    ),
    StopReason.short_slab: (
        "A slab of time was still too hard at its smallest length. Use a larger "
        "network, more steps on each slab, or a lower `smallest` in `TimeMarching`."
    ),
    StopReason.tolerance: "The estimated error is below the tolerance.",
    StopReason.converged: (
        "The estimated error is at the limit of the precision: more time does not help."
    ),
    StopReason.interrupted: "Stopped by the user. Resume to go on.",
    StopReason.not_finite: (
        "The loss or its gradient became NaN or infinite. Lower the learning rate, use "
        "float64, or look for a division by zero in the equations."
    ),
}


class RunStatus(enum.StrEnum):
    """Whether a run can be used, where that is known."""

    no_step = "no_step"
    diverged = "diverged"
    improving = "improving"
    stalled = "stalled"


def status_of(stop_reason: StopReason, num_steps: int) -> RunStatus | None:
    """`diverged`, `no_step`, or `None` where neither holds."""
    if stop_reason == StopReason.not_finite:
        return RunStatus.diverged
    return RunStatus.no_step if num_steps == 0 else None


def unsolved_status(
    share: float, record: Sequence[Mapping[str, Any]]
) -> RunStatus | None:
    """`improving` or `stalled` if the residual is a large share of its terms.

    A run improves if its score fell to a half over the last third of the log.
    """
    if share <= UNSOLVED_SHARE:
        return None
    scores = [entry["score"] for entry in record if "score" in entry]
    late = scores[2 * len(scores) // 3 :]
    has_fallen = len(scores) < 3 or late[-1] < late[0] / 2
    return RunStatus.improving if has_fallen else RunStatus.stalled


def stop_advice(result: Mapping[str, Any]) -> str:
    """The advice for the stop reason of a stored result."""
    code = result.get("stop_reason")
    return StopReason(code).advice if code else "The run has not ended."


def reference_floor(errors: Mapping[str, float]) -> float:
    """Three times the error of the reference: errors below it are only bounds."""
    return 3 * errors.get("of_reference", 0.0)


def solution_sentence(name: str, result: Mapping[str, Any]) -> str:
    """The result of solving a problem in one sentence."""
    text = (
        f"{name}: residual {result['residual_l2']:.2e} (root mean square on "
        f"held-out points, largest {result['residual_max']:.1e}) after "
        f"{result['step']} steps and {result['seconds']:.0f} s"
    )
    if result.get("unknowns"):
        found = [f"{n} = {value:.6g}" for n, value in result["unknowns"].items()]
        text += f"; {', '.join(found)}"
    text += f"{_accuracy(result)}.{_no_step_warning(result)}{_note(result)}"
    return _unsolved_warning(result) + text


def _unsolved_warning(result: Mapping[str, Any]) -> str:
    """What a result says first if the problem is not solved; else empty."""
    if result.get("status") not in (RunStatus.improving, RunStatus.stalled):
        return ""
    shares = result["residual_shares"]
    name = max(shares, key=shares.get)
    text = f"NOT SOLVED: the residual of `{name}` is {100 * shares[name]:.3g} % of the "
    text += "size of its terms"
    if result["status"] == RunStatus.improving:
        return text + " and still falls. Train longer before you use it. "
    return text + ". Do not use this solution. "


def _accuracy(result: Mapping[str, Any]) -> str:
    """The estimated error, and the errors to a reference, as parts of a sentence."""
    text = ""
    if result.get("estimated_error") is not None:
        word = "" if result["estimate_is_reliable"] else " (uncertain)"
        text = f"; estimated relative error {result['estimated_error']:.1e}{word}"
    errors = result.get("errors")
    if not errors:
        return text + "; there is no reference to compare with"
    floor = reference_floor(errors)
    say = lambda value: f"{'<' if value < floor else ''}{max(value, floor):.2e}"
    if "before_polish" in result:
        stage = result["polish"]
        before = f"{say(stage['start']['error'])} before "
        how = before + "the linear stage" if stage["step"] else _ONE_SHOT
        if "marching" in result:
            how = f"in {len(result['marching']['slabs'])} slabs of time; {before}them"
        return f"{text}; relative L2 error {say(errors['selected'])} ({how})"
    return (
        f"{text}; relative L2 error {say(errors['selected'])} (selected by residual), "
        f"{say(errors['last'])} (last)"
    )


def _note(result: Mapping[str, Any]) -> str:
    """What else there is to say: of the linear stage, and of undetermined parts."""
    notes = [result.get("note"), *result.get("undetermined", [])]
    marching = result.get("marching", {})
    if not marching.get("is_complete", True):
        reached = f"{marching['reached']:.4g}"
        notes.append(f"Time marching did not get beyond {reached}.")
    return "".join(f" {note}" for note in notes if note)


def operator_sentence(name: str, result: Mapping[str, Any]) -> str:
    """The result of training an operator in one sentence."""
    if "errors" not in result:
        return f"{name}: the run has not ended."
    errors = result["errors"]
    return (
        f"{name}: relative L2 error {errors['selected']:.2e} (selected by validation "
        f"error), {errors['last']:.2e} (last), mean over the test functions as the "
        f"network sees them; for the selected iterate the median is "
        f"{errors['p50']:.2e} and the maximum {errors['max']:.2e}; in physical units "
        f"{errors['raw']:.2e}; after {result['step']} steps and "
        f"{result['seconds']:.0f} s.{_no_step_warning(result)}"
    )


def _no_step_warning(result: Mapping[str, Any]) -> str:
    if result["step"] or result.get("stop_reason") != StopReason.time:
        return ""
    return " No step was made: compilation took all of the time. Give more minutes."
