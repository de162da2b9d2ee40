"""The linear stage of a run: its steps, its time, and what it reports."""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core import describe
from ..problems import Reference
from ..runs import POLISH_STEP, Logger, StopFlag, StopReason, watch_signals
from .accuracy import relative_error
from .polish_files import PolishFiles, PolishResult, evaluator_of, fingerprint
from .polisher import Polisher, PolishInfo, PolishRounds, PolishState
from .trainer import Trainer

_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # no estimate is smaller
_GROWTH_SECONDS = 10.0  # compilation after a growth
_FIRST_SHARE = 0.5  # of the first step: what is not compilation


@dataclasses.dataclass
class PolishRun:
    """The steps of one linear stage so far.

    `origin` says what the stage belongs to: `step` of training, `trained`, a checksum
    of the network, the seconds of the run at its `begin`, the `limit` of the attempt,
    and earlier `attempts`. `start` is the accuracy of the trained network.
    """

    make_polisher: Callable[[int], Polisher]  # takes the number of growths
    polisher: Polisher
    state: PolishState
    num_growths: int
    steps: list[dict[str, Any]]
    origin: dict[str, Any]
    stop_reason: StopReason | None = None
    begun: PolishRounds | None = None  # rounds of the next step
    end: float = 0.0  # seconds of the run at the end of the last step
    start: dict[str, float] = dataclasses.field(default_factory=dict)

    @staticmethod
    def new(
        make_polisher: Callable[[int], Polisher],
        origin: dict[str, Any],
        polisher: Polisher | None = None,
        begun: PolishRounds | None = None,
    ) -> "PolishRun":
        """A stage before its first step, of which some rounds may exist already."""
        polisher = make_polisher(0) if polisher is None else polisher
        state = polisher.init()
        return PolishRun(make_polisher, polisher, state, 0, [], origin, None, begun)

    @property
    def seconds(self) -> float:
        """The time of all steps."""
        return self.steps[-1]["seconds"] if self.steps else 0.0

    @property
    def is_final(self) -> bool:
        """Whether the whole run ends with the stage."""
        ends = (StopReason.interrupted, StopReason.converged, StopReason.tolerance)
        return self.stop_reason in ends

    @property
    def is_selected(self) -> bool:
        """Whether a step was accepted."""
        return any(step["is_accepted"] for step in self.steps)

    def ends_with(self, trained: StopReason) -> StopReason:
        """Why the whole run ended, given why training ended.

        That training had no descent says nothing of a network that was polished.
        """
        limits = (None, StopReason.steps, StopReason.time)
        if self.stop_reason in limits and (trained in limits or not self.is_selected):
            return trained
        return self.stop_reason or trained

    def result(self) -> PolishResult:
        """The polished network, and what the stage adds to a run's result."""
        network = self.polisher.network(self.state.params)
        settings, step = self.polisher.settings, self.origin["step"]
        evaluator, params = evaluator_of(network, self.polisher.evaluator, settings)
        if not self.steps:
            return PolishResult(evaluator, params, {}, step)
        estimate, is_reliable = error_estimate(self.steps)
        result = {
            "estimated_error": estimate if math.isfinite(estimate) else None,
            "estimate_is_reliable": is_reliable,
            "polish": {
                "is_selected": self.is_selected,
                "num_growths": self.num_growths,
                "step": step,
                "start": self.start,
                "settings": describe(settings),
                "stop_reason": self.stop_reason,
                "seconds": self.seconds,
                "steps": list(self.steps),
            },
        }
        return PolishResult(evaluator, params, result, step)

    def save(self, files: PolishFiles) -> None:
        """Write what the next step needs."""
        header = self.origin | {
            "num_growths": self.num_growths,
            "settings": describe(self.polisher.settings),
            "start": self.start,
            "steps": self.steps,
            "stop_reason": self.stop_reason,
            "end": self.end,
        }
        files.save_stage(header, self.polisher.network(self.state.params), self.state)


def run_polish(
    run: PolishRun,
    logger: Logger,
    save_fn: Callable[[PolishRun], Any],
    *,
    reference: Reference | None,
    max_seconds: float,
    tolerance: float | None = None,
) -> PolishRun:
    """Polish a network until there is a reason to stop. Each step is saved."""
    logger.rewind(run.origin["step"], len(run.steps))
    seconds = run.origin["begin"]
    before, begun = seconds + run.seconds, time.monotonic()
    clock = lambda: before + time.monotonic() - begun
    run.start = run.start or _accuracy(run, reference)
    if _has_no_gain(run):  # there may be more time than before
        _grow(run, clock(), max_seconds)
    with watch_signals() as flag:
        while run.stop_reason is None:
            run.stop_reason = _stop_reason(run, flag, clock(), max_seconds, tolerance)
            if run.stop_reason is not None:
                break
            start, polisher = clock(), run.polisher
            rounds = polisher.complete(run.state, run.begun, lambda: flag.is_set)
            if not polisher.is_complete(rounds):
                continue  # the next step begins anew when the run is resumed
            run.state, info = polisher.step(run.state, rounds)
            run.begun = None
            found = _describe(run, info, reference)
            found |= {"seconds": clock() - seconds, "step_seconds": clock() - start}
            run.steps.append(found)
            entry = _entry(run, info, seconds)
            if _has_no_gain(run):
                _grow(run, clock(), max_seconds)
            logger.add(entry)  # before the file: `rewind` drops it again
            run.end = clock()
            save_fn(run)
            left = max_seconds - clock()
            logger.report(entry, max(0.0, left) if math.isfinite(left) else 0.0)
    run.end = clock()
    return run


def _stop_reason(
    run: PolishRun,
    flag: StopFlag,
    seconds: float,
    max_seconds: float,
    tolerance: float | None,
) -> StopReason | None:
    """Why the stage ends here; `None` if another step follows."""
    if flag.is_set:
        return StopReason.interrupted
    last = run.steps[-1] if run.steps else None
    if last is not None:
        if tolerance is not None and meets_tolerance(run.steps, tolerance):
            return StopReason.tolerance
        if is_converged(run.steps):
            return StopReason.converged
        if not math.isfinite(last["estimate"]):
            return StopReason.no_fit
        if _has_no_gain(run):
            return StopReason.no_gain
        if seconds + _next_seconds(run, last) > max_seconds:
            return StopReason.time
    if len(run.steps) >= run.polisher.settings.max_steps:
        return StopReason.steps
    return None


def _has_no_gain(run: PolishRun) -> bool:
    """Whether the last step was not accepted, and there are no features to add."""
    last = run.steps[-1] if run.steps else None
    if last is None or last["is_accepted"] or is_converged(run.steps):
        return False
    return last["num_growths"] == run.num_growths and math.isfinite(last["estimate"])


def _next_seconds(run: PolishRun, last: dict[str, Any]) -> float:
    """The expected time of the next step. Half of the first one is compilation."""
    growth = run.polisher.num_columns / last["num_columns"]
    if growth > 1:
        return last["step_seconds"] * growth**3 + _GROWTH_SECONDS
    share = _FIRST_SHARE if len(run.steps) == 1 else 1.0
    return share * last["step_seconds"]


def _grow(run: PolishRun, seconds: float, max_seconds: float) -> None:
    """Add features if the settings and the time allow."""
    settings = run.polisher.settings
    if run.num_growths >= settings.max_growths:
        return
    number = run.num_growths + 1
    polisher = run.make_polisher(number)
    larger = dataclasses.replace(run, polisher=polisher)
    is_fitting = polisher.num_columns <= settings.max_columns
    if is_fitting and seconds + _next_seconds(larger, run.steps[-1]) <= max_seconds:
        run.state = polisher.adopt(run.state)
        run.polisher, run.num_growths = polisher, number


def _describe(
    run: PolishRun, info: PolishInfo, reference: Reference | None
) -> dict[str, Any]:
    """What is stored of a step, as plain values.

    A quadratic part that is not finite counts as much as the step itself.
    """
    choice = info.choice
    share = info.remainder if math.isfinite(info.remainder) else 1.0
    found = {
        "num_columns": run.polisher.num_columns,
        "num_growths": run.num_growths,
        "estimate": choice.estimate,
        "noise": choice.noise,
        "expected": choice.total,
        "is_accepted": choice.is_accepted,
        "remainder": share * choice.estimate,
        "data_noise": info.data_noise,
        "used_columns": choice.candidate.num_columns,
        "ridge": choice.candidate.ridge,
        "parts": {name: round(value, 3) for name, value in info.seconds.items()},
    }
    return found | _accuracy(run, reference)


def _accuracy(run: PolishRun, reference: Reference | None) -> dict[str, float]:
    """The residual of the present solution, and its error to a reference."""
    evaluator, params = run.polisher.evaluator, run.state.params
    residual = run.polisher.residual(params)
    found = {
        "residual_l2": float(np.sqrt(np.mean(residual**2))),
        "residual_max": float(np.max(np.abs(residual))),
    }
    if reference is not None:
        found["error"] = relative_error(evaluator, params, reference)
    return found


def _entry(run: PolishRun, info: PolishInfo, seconds: float) -> dict[str, Any]:
    """The entry of the log after a step."""
    last = run.steps[-1]
    measured = ("residual_l2", "residual_max", "error", "is_accepted")
    entry = {
        "step": run.origin["step"],
        POLISH_STEP: len(run.steps),
        "seconds": round(seconds + last["seconds"], 3),
        "loss": info.loss,
        "estimated_error": error_estimate(run.steps)[0],
    } | {name: last[name] for name in measured if name in last}
    unknowns = run.polisher.evaluator.unknowns(run.state.params)
    return entry | {f"unknown {name}": value for name, value in unknowns.items()}


def error_estimate(steps: list[dict[str, Any]]) -> tuple[float, bool]:
    """The estimated relative error after the last step, and whether it is reliable.

    A step that was not accepted measures the error of the solution before it. After one
    that was accepted, its sampling error and its quadratic remainder are left. The
    noise of measured values remains in any case. If one of them is not finite, the
    estimate of the step before remains; without any, the error is infinite.
    """
    last = steps[-1]
    names = ("expected", "remainder") if last["is_accepted"] else ("estimate", "noise")
    parts = [last[name] for name in (*names, "data_noise")]
    if not all(map(math.isfinite, parts)):
        is_known = not last["is_accepted"] and any(s["is_accepted"] for s in steps)
        return (error_estimate(steps[:-1])[0] if is_known else math.inf), False
    found = max(_ROUNDING, *parts)
    return found, bool(last["noise"] < last["estimate"]) or found == _ROUNDING


def meets_tolerance(steps: list[dict[str, Any]], tolerance: float) -> bool:
    """Whether the estimated error is reliable and below the tolerance.

    After a step that was not accepted, the distance to it and its own sampling error
    may also be below the tolerance together.
    """
    estimate, is_reliable = error_estimate(steps)
    last = steps[-1]
    both = last["estimate"] + last["noise"]
    is_finite = math.isfinite(both + last["data_noise"])
    if is_reliable or last["is_accepted"] or not is_finite:
        return is_reliable and estimate <= tolerance
    return max(both, last["data_noise"]) <= tolerance


def is_converged(steps: list[dict[str, Any]]) -> bool:
    """Whether rounding errors limit the solution."""
    return error_estimate(steps)[0] == _ROUNDING or steps[-1]["estimate"] < _ROUNDING


def begin_polish(
    trainer: Trainer,
    trained: Any,
    files: PolishFiles,
    origin: dict[str, Any],
    known: PolishRun | None = None,
) -> PolishRun:
    """The stage of this network that is known or in the files, or a new one."""
    settings: Any = trainer.recipe.polish
    make_polisher = lambda number: Polisher(
        settings, trainer.evaluator, trained, trainer.pools, number
    )
    origin = origin | {"trained": fingerprint(trained)}
    if known is not None and _is_same_stage(known.origin, origin):
        origin["begin"] -= known.seconds
        stop_reason = _lasting(known.stop_reason)
        return dataclasses.replace(known, origin=origin, stop_reason=stop_reason)
    header = files.stage_at(origin["step"], trained, describe(settings))
    if not header:
        return PolishRun.new(make_polisher, origin)
    polisher = make_polisher(header["num_growths"])
    arrays = files.stage_arrays(polisher.network(polisher.trained))
    steps, number = header["steps"], header["num_growths"]
    origin["begin"] -= steps[-1]["seconds"] if steps else 0.0  # they count as its own
    count = jnp.asarray(len(steps), jnp.int32)
    state = PolishState(polisher.linear_part(arrays[0]), arrays[1], count)
    found = PolishRun(make_polisher, polisher, state, number, steps, origin)
    stop_reason = _lasting(header["stop_reason"])
    return dataclasses.replace(found, stop_reason=stop_reason, start=header["start"])


def _lasting(stop_reason: str | None) -> StopReason | None:
    """The reason if it holds also with more time and another tolerance."""
    reasons = (StopReason.converged, StopReason.no_fit)
    return next((one for one in reasons if one == stop_reason), None)


def _is_same_stage(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name] == other[name] for name in ("step", "trained"))
