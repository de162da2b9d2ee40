"""The stages of a solve: one shot, training and the linear stage."""

import dataclasses
import math
import time
from typing import Any

from ..problems import Reference
from ..runs import Ended, Ongoing, Run, StopReason, watch_signals
from .continuing import has_easier_problem
from .marching_run import run_marching
from .one_shot import run_one_shot
from .polish import why_left_out
from .polish_files import PolishFiles, PolishResult, best_result
from .polish_run import (
    PolishRun,
    begin_polish,
    is_converged,
    meets_tolerance,
    run_polish,
)

Limit = tuple[int, float]  # steps and seconds in all

_FIRST_SECONDS, _FIRST_STEPS = 30.0, 40  # of the first of several attempts
_FIRST_SHARE = 0.125  # of the steps of a first-order optimizer
_LEAST_SHARE = 2 / 3  # of `_FIRST_SECONDS`, which an attempt needs
_LONG_SHARE = 0.8  # of the time, for training that solves an easier problem first
_LEFT_SHARE = 0.25  # of the time, for which training goes on after a stage
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
    trainer: Any = run.trainer
    recipe, num_params = trainer.recipe, trainer.evaluator.num_params
    limits = limits_of_attempts(recipe, minutes, tolerance)
    left_out = why_left_out(recipe.polish, recipe.dtype, minutes, num_params)
    with watch_signals():
        if recipe.polish is None or left_out:
            _, ended = run.go_on(ongoing, *limits[-1])
            if ended.stop_reason == StopReason.stuck:
                return _march(run, ended, reference, tolerance)
            return Stages(ended, None, ended.stop_reason, ended.seconds)
        return _Attempts(run, ongoing, reference, limits, tolerance).run()


def _march(
    run: Run, ended: Ended, reference: Reference | None, tolerance: float | None
) -> Stages:
    """Solve one slab of time after another, without the linear stage if the run has
    none."""
    trainer: Any = run.trainer
    recipe, num_params = trainer.recipe, trainer.evaluator.num_params
    settings = recipe.time_marching.as_in_run(
        recipe.polish, recipe.dtype, run.manifest["minutes"], num_params
    )
    end = run_marching(
        trainer,
        ended.state.best_params,
        settings,
        run.folder,
        run.logger,
        step=int(ended.state.num_steps),
        seconds=ended.seconds,
        max_seconds=run.max_seconds,
        reference=reference,
        tolerance=tolerance,
    )
    found, reason = end.found, end.stop_reason
    if not found.is_selected:  # its estimate is of no use
        marching = {"marching": found.result["marching"]}
        found = dataclasses.replace(found, result=marching)
        may_go_on = reason in (StopReason.interrupted, StopReason.time)
        if marching["marching"]["is_complete"] and not may_go_on:
            reason = StopReason.stuck  # of the selected network
    return Stages(ended, found, reason, end.seconds)


class _Attempts:
    """Attempts of training and the linear stage, of which the best is selected.

    An attempt trains for its share of the time that is left up to its limit, so the
    clock decides where training ends. A resumed run knows from its files which attempts
    are over and when they ended.

    `best` is the best selected network of the attempts that are over, `interrupted`
    that of a stage that was interrupted before a resume.
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
        self.whole_run, self.trainer = run, trainer
        self.options = {"reference": reference, "tolerance": tolerance}
        self.files = PolishFiles(run.folder, trainer.evaluator)
        num_steps = int(ongoing.state.num_steps)
        seconds = max(ongoing.seconds, self.files.seconds(num_steps))
        self.ongoing = dataclasses.replace(ongoing, seconds=seconds)
        self.done = self.files.attempts(num_steps)
        self.begun = self.done[-1]["end"] if self.done else 0.0  # of this attempt
        self.best, self.interrupted = self.files.ended(), self.files.interrupted()
        self.stage: PolishRun | None = None  # the last one of this process
        known = [attempt["limit"] for attempt in self.done]
        *early, self.last = limits
        self.early = [limit for limit in early if list(limit) not in known]
        if list(self.last) in known and not self._is_resumed_for_more(self.done[-1]):
            self.early, self.is_over = [], True
        else:
            steps = self.files.last_steps(num_steps)
            self.is_over = bool(steps) and self._why_enough(steps) is not None

    def run(self) -> Stages:
        """Make the attempts that are left."""
        if self.best is not None:
            reason = self._why_enough(self.best.result["polish"]["steps"])
            if reason is not None:
                return self._without_training(reason)
        if self._wants_one_shot() and (found := self._one_shot()) is not None:
            return found
        while True:
            found = self._attempt(self._next_limit())
            if found is not None:
                return found

    def _why_enough(self, steps: list[dict[str, Any]]) -> StopReason | None:
        """Why a stage before this resume is exact enough, if a tolerance is given."""
        tolerance = self.options["tolerance"]
        if tolerance is None:
            return None
        if meets_tolerance(steps, tolerance):
            return StopReason.tolerance
        return StopReason.converged if is_converged(steps) else None

    def _is_resumed_for_more(self, attempt: dict[str, Any]) -> bool:
        """Whether the last attempt left time: for training, or another tolerance."""
        met_tolerance = attempt["stop_reason"] == StopReason.tolerance
        return met_tolerance or self._can_train_on(attempt)

    def _next_limit(self) -> Limit:
        """The next limit that leaves enough time for an attempt, or the last one."""
        least = self.ongoing.seconds + _LEAST_SHARE * _FIRST_SECONDS
        self.early = [limit for limit in self.early if limit[1] >= least]
        return self.early.pop(0) if self.early and not self.is_over else self.last

    def _attempt(self, limit: Limit) -> Stages | None:
        """Train and polish; `None` if another attempt follows."""
        max_steps, max_seconds = limit
        ended = self._train(max_steps, max_seconds)
        if ended.stop_reason == StopReason.stuck:
            marched = _march(self.whole_run, ended, **self.options)
            if marched.polished is not None and marched.polished.is_selected:
                return marched
            found = best_result([self.best, self.interrupted]) or marched.polished
            return dataclasses.replace(marched, polished=found)
        if ended.stop_reason in (StopReason.interrupted, StopReason.not_finite):
            found = best_result([self.best, self.interrupted])
            return Stages(ended, found, ended.stop_reason, ended.seconds)
        step, is_last = int(ended.state.num_steps), limit == self.last
        if not is_last and step == (self.done[-1]["step"] if self.done else 0):
            self.begun = self.ongoing.seconds
            return None  # no step of training was possible in this time
        begun, origin = time.monotonic(), self._origin(step, limit, ended.seconds)
        stage = begin_polish(
            self.trainer, ended.state.best_params, self.files, origin, self.stage
        )
        stage.origin["begin"] += time.monotonic() - begun
        logger = self.whole_run.logger
        self.stage = stage = run_polish(
            stage, logger, self._save, max_seconds=max_seconds, **self.options
        )
        found = self._add(stage)
        end = self.ongoing.seconds
        is_limited = ended.stop_reason in (StopReason.steps, StopReason.time)
        if not is_limited:  # more training is not possible
            self.early = []
        goes_on = is_limited and self._can_train_on(self.done[-1] if self.done else {})
        if stage.is_final or (is_last and not goes_on) or self.is_over:
            return Stages(ended, found, stage.ends_with(ended.stop_reason), end)
        return None

    def _train(self, max_steps: int, max_seconds: float) -> Ended:
        share = 1 - self.trainer.recipe.polish.time_share
        goal = self.begun + share * (max_seconds - self.begun)
        goal = 0.0 if self.is_over else goal
        self.ongoing, ended = self.whole_run.go_on(self.ongoing, max_steps, goal)
        is_on_the_way = has_easier_problem(self.ongoing.state)
        if ended.stop_reason == StopReason.time and is_on_the_way and not self.is_over:
            goal = self.begun + _LONG_SHARE * (max_seconds - self.begun)
            self.ongoing, ended = self.whole_run.go_on(self.ongoing, max_steps, goal)
        return ended

    def _can_train_on(self, attempt: dict[str, Any]) -> bool:
        """Whether an attempt without a gain in its last step left time for training."""
        max_steps, max_seconds = self.last
        if attempt.get("stop_reason") != StopReason.no_gain:
            return False
        left = max_seconds - attempt["end"]
        is_enough = _LEFT_SHARE * max_seconds <= left < math.inf
        return is_enough and int(self.ongoing.state.num_steps) < max_steps

    def _origin(self, step: int, limit: Limit | None, seconds: float) -> dict[str, Any]:
        known = limit if limit is None else list(limit)
        origin = {"step": step, "limit": known, "begin": seconds}
        return origin | {"attempts": self.done, "trained": None}

    def _add(self, stage: PolishRun) -> PolishResult:
        """Note a stage; return the better of its result and those of earlier ones."""
        found = self._save(stage)
        self.ongoing = dataclasses.replace(self.ongoing, seconds=stage.end)
        if stage.stop_reason == StopReason.interrupted:
            return found
        self.interrupted = None
        self.best = found if found.is_selected else self.best
        names = ("step", "limit")
        attempt: dict[str, Any] = {name: stage.origin[name] for name in names}
        attempt |= {"end": stage.end, "stop_reason": stage.stop_reason}
        self.done, self.begun = [*self.done, attempt], stage.end
        return found

    def _save(self, stage: PolishRun) -> PolishResult:
        """Save a stage and the best result so far, which is returned.

        An older result of the same stage does not count: the newer estimate is better
        founded. Only an interrupted one shot, which starts again, keeps it.
        """
        found = stage.result()
        if self.best is not None and self.best.is_same_stage(found):
            self.best = None
        if self.interrupted is not None and self.interrupted.step != found.step:
            self.best = best_result([self.interrupted, self.best])
            self.interrupted = None
        is_over = stage.stop_reason not in (None, StopReason.interrupted)
        older = None if is_over or stage.steps else self.interrupted
        found = best_result([found, older, self.best]) or found
        self.files.save_selected(found, None if is_over else self.best)
        stage.save(self.files)  # last: it says that the stage is over
        return found

    def _wants_one_shot(self) -> bool:
        """Whether the run has a tolerance to meet, nothing done, and enough time.

        A finite set of points has no other points to choose the scale by.
        """
        domain = self.trainer.evaluator.formulation.domain
        is_new = int(self.ongoing.state.num_steps) == 0 and not self.done
        has_time = self.last[1] >= _SHOT_SECONDS / _SHOT_SHARE
        is_small = len(domain.coordinates) <= _SHOT_DIM and not domain.num_available
        return (
            self.options["tolerance"] is not None and is_new and has_time and is_small
        )

    def _one_shot(self) -> Stages | None:
        """Fit random features; `None` if training must follow."""
        self.whole_run.announce(self.ongoing.state)
        stage = run_one_shot(
            self.trainer,
            self._origin(0, None, self.ongoing.seconds),
            self.whole_run.logger,
            self._save,
            max_seconds=_SHOT_SHARE * self.last[1],
            **self.options,
        )
        found = self._add(stage)
        if not stage.is_final:
            return None
        return self._without_training(stage.ends_with(StopReason.time), found)

    def _without_training(
        self, stop_reason: StopReason, found: PolishResult | None = None
    ) -> Stages:
        """The end of a run whose present network is trained no further."""
        state, check = self.trainer.check(self.ongoing.state)
        state = self.whole_run.checkpointer.with_selected(state)
        seconds = self.ongoing.seconds
        ended = Ended(state, check, stop_reason, seconds)
        return Stages(ended, found or self.best, stop_reason, seconds)


def limits_of_attempts(
    recipe: Any, minutes: float | int | None, tolerance: float | None
) -> list[Limit]:
    """Steps and seconds in all at the end of each attempt."""
    all_seconds = math.inf if minutes is None else 60.0 * minutes
    last, early = (recipe.max_steps, all_seconds), []
    if tolerance is None:
        return [last]
    if minutes is None:
        steps, least = recipe.max_steps // 2, _FIRST_STEPS
        if not recipe.optimizer.needs_residuals:
            least = max(least, _FIRST_SHARE * recipe.max_steps)
        while steps >= least:
            early.insert(0, (steps, math.inf))
            steps //= 2
        return [*early, last]
    seconds, least = _FIRST_SECONDS, _LEAST_SHARE * _FIRST_SECONDS
    while seconds + least <= all_seconds:
        early.append((recipe.max_steps, seconds))
        seconds *= 2
    return [*early, last]
