"""One run, whatever is trained: begin or go on, log, warn, save, end."""

import abc
import dataclasses
import math
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..core import Status, is_same_description, lock_folder
from ..diagnose import find_current_warnings, find_warnings
from ._base import AbstractTrainer
from .callbacks import AbstractCallback, Plan
from .loop import run_loop, watch_signals
from .run_folder import Kept, RunFolder


class AbstractRun(abc.ABC):
    """What is the same for every trainer; what is not is left open."""

    def __init__(
        self,
        trainer: AbstractTrainer,
        about: dict[str, Any],
        folder: RunFolder | None,
        callback: AbstractCallback,
        save_every: float,
        minutes: float | int | None,
    ):
        self.trainer: Any = trainer
        self.about = about
        self.folder = folder
        self.callback = callback
        self.save_every = save_every
        self.limit = math.inf if minutes is None else 60.0 * minutes
        self.record: list[dict[str, Any]] = []
        self.pace = math.nan
        self.warned: set[str] = set()
        self.kept: Kept | None = None

    def go(self, start: Any, resume: bool) -> Any:
        """Trains, with the folder to itself."""
        if self.folder is None:
            return self.train(start, resume)
        with lock_folder(self.folder.path):
            if not resume:
                self.folder.check_free()
            return self.train(start, resume)

    def train(self, start: Any, resume: bool) -> Any:
        """The time counts compilation, but not what `prepare` does."""
        trainer, folder = self.trainer, self.folder
        self.prepare()
        begun, seconds = time.monotonic(), 0.0
        if resume and folder is not None:
            state, header = folder.load(trainer)
            seconds = header["seconds"]
            self.record = folder.rewind(int(state.num_steps))
            self.warned = {warning.name for warning in find_warnings(self.record)}
            self.kept = folder.load_kept(state.params)
            if not is_same_description(
                _judged_by(folder.about()), _judged_by(self.about)
            ):
                state, self.kept = _judged_anew(trainer, state, self.kept)
            folder.write_about(self.about)
        else:
            state = self.begin(start)
            if folder is not None:
                folder.rewind(-1)  # what is no run may have left some of it
                folder.write_about(self.about)
            self.save(state, 0.0)
        self.pace = _pace(trainer, state)
        plan = self.plan(state, seconds)
        self.planned(seconds + plan.seconds)
        self.callback.begin(plan)
        with watch_signals() as flag:
            state, status, seconds = run_loop(
                trainer,
                state,
                max_steps=trainer.recipe.max_steps,
                max_seconds=self.limit,
                seconds=seconds + time.monotonic() - begun,
                seconds_per_step=self.pace,
                on_check=self.on_check,
                save=self.save,
                save_every=self.save_every,
                flag=flag,
            )
            self.save(state, seconds)
        return self.finish(state, status, seconds)

    def on_check(self, state: Any, check: Any, info: Any, seconds: float) -> None:
        """Logs and tells."""
        entry = self.entry(state, check, float(info.value), seconds)
        entry |= self.more(state, seconds)
        self.log(state, entry)
        done = int(state.num_steps)
        rate = seconds / max(done, 1)
        left = min(self.limit - seconds, rate * (self.trainer.recipe.max_steps - done))
        self.callback.check(entry, max(left, 0.0))

    def log(self, state: Any, entry: dict[str, Any]) -> None:
        """Keeps an entry, with what it warns of."""
        self.record.append(entry)
        self.warn(entry)
        if self.folder is not None:
            self.folder.log(entry)
            self.keep(state)

    def warn(self, entry: dict[str, Any]) -> None:
        """Adds to the entry what looks wrong since, once each."""
        new = [
            w for w in find_current_warnings(self.record) if w.name not in self.warned
        ]
        self.warned |= {warning.name for warning in new}
        if new:
            entry["warnings"] = [f"{w.text} {w.advice}" for w in new]

    def save(self, state: Any, seconds: float) -> None:
        """A checkpoint, if there is a folder."""
        if self.folder is not None:
            header = {"seconds": seconds, "step": int(state.num_steps)}
            self.folder.save(self.trainer, state, self.selected(state), header)

    def selected(self, state: Any) -> Any:
        """The state with the better of its best iterate and that which the run had come
        to when it was resumed: where it once ended is checked there only, and is no
        part of an unbroken run."""
        kept = self.kept
        if kept is None or not kept.score < float(state.best_score):
            return state
        dtypes = state.best_score.dtype, state.best_step.dtype
        numbers = map(jnp.asarray, (kept.score, kept.step), dtypes)
        where = lambda s: (s.best_params, s.best_score, s.best_step)
        return eqx.tree_at(where, state, (kept.params, *numbers))

    @abc.abstractmethod
    def prepare(self) -> None:
        """What is needed, and is no part of training."""

    @abc.abstractmethod
    def begin(self, start: Any) -> Any:
        """The state before the first step."""

    @abc.abstractmethod
    def plan(self, state: Any, seconds: float) -> Plan:
        """What is about to be done."""

    @abc.abstractmethod
    def planned(self, seconds: float) -> None:
        """How long the run is meant to take, with what it has taken."""

    @abc.abstractmethod
    def entry(
        self, state: Any, check: Any, loss: float, seconds: float
    ) -> dict[str, Any]:
        """A line of the log."""

    @abc.abstractmethod
    def more(self, state: Any, seconds: float) -> dict[str, Any]:
        """What is measured at some checks only."""

    @abc.abstractmethod
    def keep(self, state: Any) -> None:
        """Files beside the log."""

    @abc.abstractmethod
    def finish(self, state: Any, status: Status, seconds: float) -> Any:
        """What comes of the run."""


def _judged_by(about: dict[str, Any]) -> list[Any]:
    """What a score depends on, and perhaps more."""
    recipe, without = about.get("recipe", {}), ("max_steps", "block_size")
    others = {name: part for name, part in recipe.items() if name not in without}
    return [about.get("problem"), others]


def _judged_anew(
    trainer: Any, state: Any, kept: Kept | None
) -> tuple[Any, Kept | None]:
    """Selected iterates with the scores that they have now: those that they had may be
    of another problem."""
    score = trainer.check_of(state.best_params).score
    is_known = jnp.isfinite(state.best_score)  # else nothing was selected yet
    score = jnp.where(is_known, score, jnp.inf).astype(state.best_score.dtype)
    if kept is not None:
        found = float(trainer.check_of(kept.params).score)
        kept = dataclasses.replace(kept, score=found)
    return eqx.tree_at(lambda s: s.best_score, state, score), kept


def _pace(trainer: AbstractTrainer, state: Any) -> float:
    """Seconds a step, from steps that are thrown away; the first one compiles."""
    state, _ = trainer.advance(trainer.resample(state), 1)
    trainer.check(state)
    start = time.monotonic()
    end, _ = trainer.advance(state, 1)
    jax.block_until_ready(end.num_steps)
    return time.monotonic() - start
