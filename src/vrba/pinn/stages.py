"""The stages of a solve: one shot, training and the linear stage."""

import dataclasses
import math
import time
from typing import Any

from ..problems import Reference
from ..runs import Ended, Ongoing, Run, StopReason
from .one_shot import run_one_shot
from .polish import training_share, why_left_out
from .polish_run import PolishRun, begin_polish, run_polish

_FIRST_SECONDS, _FIRST_STEPS = 30.0, 40  # of the first of several attempts
_SHOT_SHARE = 0.25  # of the time, at most, for the one shot
_SHOT_SECONDS = 20.0  # its usual time
_SHOT_DIM = 3  # coordinates, at most


@dataclasses.dataclass(frozen=True)
class Stages:
    """Where training and the linear stage ended."""

    ended: Ended
    polished: PolishRun | None
    stop_reason: StopReason
    seconds: float


def run_stages(
    run: Run,
    ongoing: Ongoing,
    reference: Reference | None,
    *,
    minutes: float | int | None,
    tolerance: float | None,
) -> Stages:
    """Train and polish; with a tolerance, first for a short and then for longer times.

    With a time limit the attempts follow the clock, without one the steps.
    """
    recipe = run.trainer.recipe
    share = training_share(recipe.polish, recipe.dtype, minutes)
    has_polish = recipe.polish is not None and not why_left_out(
        recipe.polish, recipe.dtype, minutes
    )
    limits = limits_of_attempts(recipe, minutes, tolerance)
    options: dict[str, Any] = {"reference": reference, "tolerance": tolerance}
    if has_polish and _wants_one_shot(run, ongoing, minutes, tolerance):
        found = _one_shot(run, ongoing, options, limits[-1][1])
        if found.stop_reason != StopReason.time:
            return found
        ongoing = dataclasses.replace(ongoing, seconds=found.seconds)
    while True:
        max_steps, max_seconds = limits.pop(0)
        ongoing, ended = run.go_on(ongoing, max_steps, max_seconds * share)
        is_over = ended.stop_reason in (StopReason.interrupted, StopReason.not_finite)
        if is_over or not has_polish:
            return Stages(ended, None, ended.stop_reason, ended.seconds)
        polished = _polish(run, ended, options, max_seconds)
        seconds = ended.seconds + polished.seconds
        stop_reason = polished.ends_with(ended.stop_reason)
        if stop_reason != ended.stop_reason or not limits:
            return Stages(ended, polished, stop_reason, seconds)
        ongoing = dataclasses.replace(ongoing, seconds=seconds)


def limits_of_attempts(
    recipe: Any, minutes: float | int | None, tolerance: float | None
) -> list[tuple[int, float]]:
    """Steps and seconds in all at the end of each attempt."""
    all_seconds = math.inf if minutes is None else 60.0 * minutes
    last, early = (recipe.max_steps, all_seconds), []
    if tolerance is None:
        return [last]
    if minutes is None:
        steps = recipe.max_steps // 2
        while steps >= _FIRST_STEPS:
            early.insert(0, (steps, math.inf))
            steps //= 2
        return [*early, last]
    seconds = _FIRST_SECONDS
    while seconds < all_seconds:
        early.append((recipe.max_steps, seconds))
        seconds *= 2
    return [*early, last]


def _wants_one_shot(
    run: Run, ongoing: Ongoing, minutes: float | int | None, tolerance: float | None
) -> bool:
    """Whether the run has a tolerance to meet, no training yet, and enough time."""
    trainer: Any = run.trainer
    dim = len(trainer.evaluator.formulation.domain.coordinates)
    is_new = int(ongoing.state.num_steps) == 0
    seconds = math.inf if minutes is None else 60 * minutes
    has_time = seconds >= _SHOT_SECONDS / _SHOT_SHARE
    return tolerance is not None and is_new and dim <= _SHOT_DIM and has_time


def _one_shot(
    run: Run, ongoing: Ongoing, options: dict[str, Any], max_seconds: float
) -> Stages:
    """Fit random features; `time` as stop reason means that training must follow."""
    trainer: Any = run.trainer
    begun = time.monotonic()
    found = run_one_shot(
        trainer,
        run.logger,
        run.folder,
        seconds=ongoing.seconds,
        max_seconds=_SHOT_SHARE * max_seconds,
        **options,
    )
    state, check = trainer.check(ongoing.state)
    stop_reason = found.ends_with(StopReason.time)
    seconds = ongoing.seconds + time.monotonic() - begun
    return Stages(
        Ended(state, check, stop_reason, seconds), found, stop_reason, seconds
    )


def _polish(
    run: Run, ended: Ended, options: dict[str, Any], max_seconds: float
) -> PolishRun:
    trainer: Any = run.trainer
    num_steps = int(ended.state.num_steps)
    start = begin_polish(trainer, ended.state.best_params, num_steps, run.folder)
    return run_polish(
        start,
        num_steps,
        run.logger,
        run.folder,
        seconds=ended.seconds,
        max_seconds=max_seconds,
        **options,
    )
