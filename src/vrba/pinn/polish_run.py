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
    of the network, the `limit` of the attempt, and earlier `attempts`.
    """

    make_polisher: Callable[[int], Polisher]  # takes the number of growths
    polisher: Polisher
    state: PolishState
    num_growths: int
    steps: list[dict[str, Any]]
    origin: dict[str, Any]
    stop_reason: StopReason | None = None
    begun: PolishRounds | None = None  # rounds of the next step

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

    def ends_with(self, trained: StopReason) -> StopReason:
        """Why the whole run ended, given why training ended."""
        is_told = self.is_final or self.stop_reason == StopReason.no_gain
        return self.stop_reason if self.stop_reason and is_told else trained

    def result(self) -> PolishResult:
        """The polished network, and what the stage adds to a run's result."""
        network = self.polisher.network(self.state.params)
        settings, step = self.polisher.settings, self.origin["step"]
        evaluator, params = evaluator_of(network, self.polisher.evaluator, settings)
        if not self.steps:
            return PolishResult(evaluator, params, {}, step)
        estimate, is_reliable = error_estimate(self.steps)
        result = {
            "estimated_error": estimate,
            "estimate_is_reliable": is_reliable,
            "polish": {
                "is_selected": any(one["is_accepted"] for one in self.steps),
                "num_growths": self.num_growths,
                "settings": describe(settings),
                "stop_reason": self.stop_reason,
                "seconds": self.seconds,
                "steps": self.steps,
            },
        }
        return PolishResult(evaluator, params, result, step)

    def save(self, files: PolishFiles, seconds: float) -> None:
        """Write what the next step needs, `seconds` after the start of the run."""
        header = self.origin | {
            "num_growths": self.num_growths,
            "settings": describe(self.polisher.settings),
            "steps": self.steps,
            "stop_reason": self.stop_reason,
            "end": seconds,
        }
        files.save_stage(header, self.polisher.network(self.state.params), self.state)


def run_polish(
    run: PolishRun,
    logger: Logger,
    files: PolishFiles,
    *,
    reference: Reference | None,
    seconds: float,
    max_seconds: float,
    tolerance: float | None = None,
) -> PolishRun:
    """Polish a network, whose training took `seconds`."""
    logger.rewind(run.origin["step"], len(run.steps))
    before, begun = seconds + run.seconds, time.monotonic()
    clock = lambda: before + time.monotonic() - begun
    with watch_signals() as flag:
        while run.stop_reason is None:
            run.stop_reason = _stop_reason(run, flag, clock(), max_seconds, tolerance)
            if run.stop_reason is not None:
                break
            start = clock()
            run.state, info = run.polisher.step(run.state, run.begun)
            run.begun = None
            found = _describe(run, info, reference)
            found |= {"seconds": clock() - seconds, "step_seconds": clock() - start}
            run.steps.append(found)
            entry = _entry(run, info, seconds)
            if not info.choice.is_accepted and not is_converged(run.steps):
                _grow(run, clock(), max_seconds)
            logger.add(entry)  # before the file: `rewind` drops it again
            run.save(files, clock())
            left = max_seconds - clock()
            logger.report(entry, max(0.0, left) if math.isfinite(left) else 0.0)
    run.save(files, clock())
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
        if not last["is_accepted"] and last["num_growths"] == run.num_growths:
            return StopReason.no_gain
        if seconds + _next_seconds(run, last) > max_seconds:
            return StopReason.time
    if len(run.steps) >= run.polisher.settings.max_steps:
        return StopReason.steps
    return None


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
    """What is stored of a step, as plain values."""
    choice = info.choice
    found = {
        "num_columns": run.polisher.num_columns,
        "num_growths": run.num_growths,
        "estimate": choice.estimate,
        "noise": choice.noise,
        "expected": choice.total,
        "is_accepted": choice.is_accepted,
        "remainder": info.remainder * choice.estimate,
        "data_noise": info.data_noise,
        "used_columns": choice.candidate.num_columns,
        "ridge": choice.candidate.ridge,
        "parts": {name: round(value, 3) for name, value in info.seconds.items()},
    }
    if reference is not None:
        evaluator, params = run.polisher.evaluator, run.state.params
        found["error"] = relative_error(evaluator, params, reference)
    return found


def _entry(run: PolishRun, info: PolishInfo, seconds: float) -> dict[str, Any]:
    """The entry of the log after a step."""
    last = run.steps[-1]
    evaluator, params = run.polisher.evaluator, run.state.params
    residual = run.polisher.residual(params)
    entry = {
        "step": run.origin["step"],
        POLISH_STEP: len(run.steps),
        "seconds": round(seconds + last["seconds"], 3),
        "loss": info.loss,
        "residual_l2": float(np.sqrt(np.mean(residual**2))),
        "residual_max": float(np.max(np.abs(residual))),
        "estimated_error": error_estimate(run.steps)[0],
        "is_accepted": last["is_accepted"],
    }
    for name, value in evaluator.unknowns(params).items():
        entry[f"unknown {name}"] = value
    if "error" in last:
        entry["error"] = last["error"]
    return entry


def error_estimate(steps: list[dict[str, Any]]) -> tuple[float, bool]:
    """The estimated relative error after the last step, and whether it is reliable.

    A step that was not taken measures the error of the solution before it. After a step
    that was taken, its sampling error and its quadratic remainder are left. The noise
    of measured values remains in any case.
    """
    last = steps[-1]
    names = ("expected", "remainder") if last["is_accepted"] else ("estimate", "noise")
    found = max(_ROUNDING, *(last[name] for name in (*names, "data_noise")))
    return found, bool(last["noise"] < last["estimate"]) or found == _ROUNDING


def meets_tolerance(steps: list[dict[str, Any]], tolerance: float) -> bool:
    """Whether the estimated error is reliable and below the tolerance.

    After a step that was not taken, the distance to it and its own sampling error may
    also be below the tolerance together.
    """
    estimate, is_reliable = error_estimate(steps)
    if is_reliable or steps[-1]["is_accepted"]:
        return is_reliable and estimate <= tolerance
    both = steps[-1]["estimate"] + steps[-1]["noise"]
    return max(both, steps[-1]["data_noise"]) <= tolerance


def is_converged(steps: list[dict[str, Any]]) -> bool:
    """Whether rounding errors limit the solution."""
    return error_estimate(steps)[0] == _ROUNDING or steps[-1]["estimate"] < _ROUNDING


def begin_polish(
    trainer: Trainer, trained: Any, files: PolishFiles, origin: dict[str, Any]
) -> PolishRun:
    """The stage that the files hold for this network, or a new one."""
    settings: Any = trainer.recipe.polish
    make_polisher = lambda number: Polisher(
        settings, trainer.evaluator, trained, trainer.pools, number
    )
    header = files.stage_at(origin["step"], trained, describe(settings))
    origin = origin | {"trained": fingerprint(trained)}
    if not header:
        return PolishRun.new(make_polisher, origin)
    polisher = make_polisher(header["num_growths"])
    arrays = files.stage_arrays(polisher.network(polisher.trained))
    steps, number = header["steps"], header["num_growths"]
    count = jnp.asarray(len(steps), jnp.int32)
    state = PolishState(polisher.linear_part(arrays[0]), arrays[1], count)
    ends = (StopReason.converged, StopReason.no_gain)
    stop_reason = next((end for end in ends if end == header["stop_reason"]), None)
    return PolishRun(make_polisher, polisher, state, number, steps, origin, stop_reason)
