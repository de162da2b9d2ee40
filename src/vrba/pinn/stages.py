"""The stages of a solve: training, then the linear stage; once or several times."""

import dataclasses
import math
from typing import Any

from ..problems import Reference
from ..runs import Ended, Ongoing, Run, StopReason
from .polish import training_share, why_left_out
from .polish_run import PolishRun, run_polish

_FIRST_SECONDS, _FIRST_STEPS = 30.0, 40  # of the first of several attempts


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
    limits = _limits(recipe, minutes, tolerance)
    while True:
        max_steps, max_seconds = limits.pop(0)
        ongoing, ended = run.go_on(ongoing, max_steps, max_seconds * share)
        is_over = ended.stop_reason in (StopReason.interrupted, StopReason.not_finite)
        if is_over or not has_polish:
            return Stages(ended, None, ended.stop_reason, ended.seconds)
        polished = _polish(run, ended, reference, max_seconds, tolerance)
        seconds = ended.seconds + polished.seconds
        stop_reason = polished.ends_with(ended.stop_reason)
        if stop_reason != ended.stop_reason or not limits:
            return Stages(ended, polished, stop_reason, seconds)
        ongoing = dataclasses.replace(ongoing, seconds=seconds)


def _limits(
    recipe: Any, minutes: float | int | None, tolerance: float | None
) -> list[tuple[int, float]]:
    """Steps and seconds in all at the end of each attempt."""
    all_seconds = math.inf if minutes is None else 60.0 * minutes
    limits = [(recipe.max_steps, all_seconds)]
    if tolerance is None:
        return limits
    if minutes is None:
        steps = recipe.max_steps // 2
        while steps >= _FIRST_STEPS:
            limits.insert(0, (steps, math.inf))
            steps //= 2
        return limits
    seconds = _FIRST_SECONDS
    early = []
    while seconds < all_seconds:
        early.append((recipe.max_steps, seconds))
        seconds *= 2
    return early + limits


def _polish(
    run: Run,
    ended: Ended,
    reference: Reference | None,
    max_seconds: float,
    tolerance: float | None,
) -> PolishRun:
    trainer: Any = run.trainer
    return run_polish(
        trainer,
        ended.state.best_params,
        int(ended.state.num_steps),
        run.logger,
        run.folder,
        reference=reference,
        seconds=ended.seconds,
        max_seconds=max_seconds,
        tolerance=tolerance,
    )
