"""One run: a trainer, a logger and a checkpointer."""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import jax

from ..core import is_same_description
from ._base import AbstractTrainer
from .callbacks import Plan
from .checkpoint import Checkpointer
from .folder import RunFolder
from .logger import Logger
from .loop import run_loop, watch_signals
from .outcome import StopReason

_NOT_SCORED = ("max_steps", "block_size")  # settings that leave scores as they are


@dataclasses.dataclass(frozen=True)
class Ended:
    """Where a run ended: `state` holds the best iterate of the whole run."""

    state: Any
    check: Any
    stop_reason: StopReason
    seconds: float


@dataclasses.dataclass(frozen=True)
class Ongoing:
    """A state to go on from, the seconds spent so far, and the seconds of a step.

    The latter are not known before the first training.
    """

    state: Any
    seconds: float
    pace: float | None = None


class Run:
    """Trains within a time limit: start or resume, log, save."""

    def __init__(
        self,
        trainer: AbstractTrainer,
        logger: Logger,
        checkpointer: Checkpointer,
        manifest: dict[str, Any],
        minutes: float | int | None,
    ):
        self.trainer, self.logger, self.checkpointer = trainer, logger, checkpointer
        self.manifest = manifest
        self.max_seconds = math.inf if minutes is None else 60.0 * minutes

    @property
    def folder(self) -> RunFolder | None:
        """The run folder, if there is one."""
        return self.checkpointer.folder

    def train(self, init_fn: Callable[[], Any], *, resume: bool) -> Ended:
        """Train from `init_fn()`, or from the folder. The time counts compilation."""
        begun = self.begin(init_fn, resume=resume)
        return self.go_on(begun, self.trainer.recipe.max_steps, self.max_seconds)[1]

    def begin(self, init_fn: Callable[[], Any], *, resume: bool) -> Ongoing:
        """The state from `init_fn()` or from the folder."""
        begun = time.monotonic()
        state, seconds = self._restored() if resume else (self._started(init_fn), 0.0)
        return Ongoing(state, seconds + time.monotonic() - begun)

    def go_on(
        self, ongoing: Ongoing, max_steps: int, max_seconds: float | int
    ) -> tuple[Ongoing, Ended]:
        """Train up to a limit: the state to go on from, and that which is selected.

        The first call compiles and reports the plan.
        """
        trainer, logger, checkpointer = self.trainer, self.logger, self.checkpointer
        seconds, pace = ongoing.seconds, ongoing.pace
        if pace is None:
            begun = time.monotonic()
            pace = _seconds_per_step(trainer, ongoing.state)
            self._start(ongoing.state, seconds, pace)
            seconds += time.monotonic() - begun
        with watch_signals() as flag:
            state, stop_reason, seconds = run_loop(
                trainer,
                ongoing.state,
                max_steps=max_steps,
                max_seconds=max_seconds,
                seconds=seconds,
                seconds_per_step=pace,
                on_check=self._on_check,
                save=checkpointer.save,
                save_every=checkpointer.save_every,
                flag=flag,
            )
            checkpointer.save(state, seconds)
        ongoing = Ongoing(state, seconds, pace)
        state, check = trainer.check(state)
        logged = logger.record[-1]["step"] if logger.record else 0
        if stop_reason == StopReason.no_descent and logged < int(state.num_steps):
            logger.log(state, check, math.nan, seconds)  # that loss is not known here
        state = checkpointer.with_selected(state)
        return ongoing, Ended(state, check, stop_reason, seconds)

    def _started(self, init_fn: Callable[[], Any]) -> Any:
        state = init_fn()
        if self.folder is not None:
            self.logger.rewind(-1)  # an unfinished start may have left files
            self.folder.write_manifest(self.manifest)
        self.checkpointer.save(state, 0.0)
        return state

    def _restored(self) -> tuple[Any, float]:
        state, seconds = self.checkpointer.restore()
        self.logger.rewind(int(state.num_steps))
        if self.folder is not None:
            before = self.folder.read_manifest()
            if not is_same_description(
                _scored_settings(before), _scored_settings(self.manifest)
            ):
                state = self.checkpointer.rescore(state)
            self.folder.write_manifest(self.manifest)
        return state, seconds

    def announce(self, state: Any) -> None:
        """Report the plan before a step is timed."""
        left = self.max_seconds if math.isfinite(self.max_seconds) else 0.0
        self.logger.announce(self._plan(state, seconds=left))

    def _start(self, state: Any, seconds: float, pace: float) -> None:
        left = self.trainer.recipe.max_steps - int(state.num_steps)
        seconds_left = max(min(self.max_seconds - seconds, pace * left), 0.0)
        plan = self._plan(state, seconds_per_step=pace, seconds=seconds_left)
        self.logger.start(plan, seconds + seconds_left)

    def _plan(self, state: Any, **cost: float) -> Plan:
        folder = None if self.folder is None else str(self.folder.path)
        return dataclasses.replace(self.trainer.plan(state), folder=folder, **cost)

    def _on_check(
        self, state: Any, check: Any, loss: float, seconds: float, message: str
    ) -> None:
        entry = self.logger.log(state, check, loss, seconds, message)
        done = int(state.num_steps)
        left = seconds / max(done, 1) * (self.trainer.recipe.max_steps - done)
        self.logger.report(entry, max(min(self.max_seconds - seconds, left), 0.0))


def _scored_settings(manifest: dict[str, Any]) -> list[Any]:
    """All settings that a score may depend on."""
    recipe = manifest.get("recipe", {})
    kept = {name: part for name, part in recipe.items() if name not in _NOT_SCORED}
    return [manifest.get("problem"), kept]


def _seconds_per_step(trainer: AbstractTrainer, state: Any) -> float:
    """The time of a step whose result is dropped; the step before it compiles."""
    state, _ = trainer.advance(trainer.resample(state), 1)
    trainer.check(state)
    start = time.monotonic()
    end, _ = trainer.advance(state, 1)
    jax.block_until_ready(end.num_steps)
    return time.monotonic() - start
