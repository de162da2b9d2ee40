"""The stages of a solve: one shot, training and the linear stage."""

import dataclasses
import math
import time
from typing import Any

from ..problems import Reference
from ..runs import Ended, Ongoing, Run, StopReason, watch_signals
from .one_shot import run_one_shot
from .polish import why_left_out
from .polish_files import PolishFiles, PolishResult
from .polish_run import PolishRun, begin_polish, meets_tolerance, run_polish

Limit = tuple[int, float]  # steps and seconds in all

_FIRST_SECONDS, _FIRST_STEPS = 30.0, 40  # of the first of several attempts
_SHOT_SHARE = 0.25  # of the time, at most, for the one shot
_SHOT_SECONDS = 20.0  # its usual time
_SHOT_DIM = 3  # coordinates, at most


@dataclasses.dataclass(frozen=True)
class Stages:
    """Where training and the linear stage ended."""

    ended: Ended
    polished: PolishResult | None
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
    limits = limits_of_attempts(recipe, minutes, tolerance)
    with watch_signals():
        if recipe.polish is None or why_left_out(recipe.polish, recipe.dtype, minutes):
            _, ended = run.go_on(ongoing, *limits[-1])
            return Stages(ended, None, ended.stop_reason, ended.seconds)
        return _Attempts(run, ongoing, reference, limits, tolerance).run()


class _Attempts:
    """Attempts of training and the linear stage, of which the best is selected.

    An attempt trains for its share of the time that is left up to its limit, so the
    clock decides where training ends. A resumed run knows from its files which attempts
    are over and when they ended.
    """

    def __init__(
        self,
        run: Run,
        ongoing: Ongoing,
        reference: Reference | None,
        limits: list[Limit],
        tolerance: float | None,
    ):
        trainer: Any = run.trainer
        self.one, self.trainer, self.ongoing = run, trainer, ongoing
        self.options = {"reference": reference, "tolerance": tolerance}
        self.files = PolishFiles(run.folder, trainer.evaluator)
        self.done = self.files.attempts(int(ongoing.state.num_steps))
        self.best = self.files.selected() if self.done else None
        known = [attempt["limit"] for attempt in self.done]
        self.last, self.limits = limits[-1], [x for x in limits if list(x) not in known]

    def run(self) -> Stages:
        """Make the attempts that are left."""
        if self._is_met():
            state, check = self.trainer.check(self.ongoing.state)
            state = self.one.checkpointer.with_selected(state)
            stop_reason, seconds = StopReason.tolerance, self.ongoing.seconds
            ended = Ended(state, check, stop_reason, seconds)
            return Stages(ended, self.best, stop_reason, seconds)
        if self._wants_one_shot():
            found = self._one_shot()
            if found is not None:
                return found
        while True:
            limit = self._next_limit()
            found = self._attempt(limit or self.last, is_over=limit is None)
            if found is not None:
                return found

    def _is_met(self) -> bool:
        """Whether an attempt before this resume met the tolerance."""
        tolerance = self.options["tolerance"]
        if tolerance is None or self.best is None:
            return False
        return meets_tolerance(self.best.result["polish"]["steps"], tolerance)

    def _next_limit(self) -> Limit | None:
        """The next limit that lies in the future; `None` if all attempts are over."""
        while len(self.limits) > 1 and self.limits[0][1] <= self.ongoing.seconds:
            self.limits.pop(0)
        return self.limits.pop(0) if self.limits else None

    def _attempt(self, limit: Limit, *, is_over: bool) -> Stages | None:
        """Train and polish; `None` if another attempt follows."""
        max_steps, max_seconds = limit
        begun = self.done[-1]["end"] if self.done else 0.0
        share = 1 - self.trainer.recipe.polish.time_share
        goal = 0.0 if is_over else begun + share * (max_seconds - begun)
        self.ongoing, ended = self.one.go_on(self.ongoing, max_steps, goal)
        if ended.stop_reason in (StopReason.interrupted, StopReason.not_finite):
            return Stages(ended, self.best, ended.stop_reason, ended.seconds)
        step = int(ended.state.num_steps)
        stage = begin_polish(
            self.trainer, ended.state.best_params, self.files, self._origin(step, limit)
        )
        stage = run_polish(
            stage,
            self.one.logger,
            self.files,
            seconds=ended.seconds,
            max_seconds=max_seconds,
            **self.options,
        )
        seconds = self._add(stage, ended.seconds)
        if ended.stop_reason not in (StopReason.steps, StopReason.time):
            self.limits = self.limits[-1:]  # more training is not possible
        if stage.is_final or not self.limits:
            stop_reason = stage.ends_with(ended.stop_reason)
            return Stages(ended, self.best, stop_reason, seconds)
        self.ongoing = dataclasses.replace(self.ongoing, seconds=seconds)
        return None

    def _origin(self, step: int, limit: Limit | None) -> dict[str, Any]:
        known = limit if limit is None else list(limit)
        return {"step": step, "limit": known, "attempts": self.done, "trained": None}

    def _add(self, stage: PolishRun, seconds: float) -> float:
        """Keep the better result; return the seconds at the end of the stage."""
        found, end = stage.result(), seconds + stage.seconds
        self.best = found.or_better(self.best)
        self.files.save_selected(self.best)
        attempt = {name: stage.origin[name] for name in ("step", "limit")}
        self.done = [*self.done, attempt | {"end": end}]
        return end

    def _wants_one_shot(self) -> bool:
        """Whether the run has a tolerance to meet, nothing done, and enough time."""
        dim = len(self.trainer.evaluator.formulation.domain.coordinates)
        is_new = int(self.ongoing.state.num_steps) == 0 and not self.done
        has_time = self.last[1] >= _SHOT_SECONDS / _SHOT_SHARE
        is_asked = self.options["tolerance"] is not None
        return is_asked and is_new and dim <= _SHOT_DIM and has_time

    def _one_shot(self) -> Stages | None:
        """Fit random features; `None` if training must follow."""
        begun, seconds = time.monotonic(), self.ongoing.seconds
        stage = run_one_shot(
            self.trainer,
            self._origin(0, None),
            self.one.logger,
            self.files,
            seconds=seconds,
            max_seconds=_SHOT_SHARE * self.last[1],
            **self.options,
        )
        seconds += time.monotonic() - begun
        self._add(stage, seconds - stage.seconds)
        self.ongoing = dataclasses.replace(self.ongoing, seconds=seconds)
        if not stage.is_final:
            return None
        state, check = self.trainer.check(self.ongoing.state)
        stop_reason = stage.ends_with(StopReason.time)
        ended = Ended(state, check, stop_reason, seconds)
        return Stages(ended, self.best, stop_reason, seconds)


def limits_of_attempts(
    recipe: Any, minutes: float | int | None, tolerance: float | None
) -> list[Limit]:
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
