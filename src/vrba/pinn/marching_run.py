"""Time marching of a run: its slabs, its time, and what it reports."""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np

from ..problems import Reference
from ..runs import Logger, RunFolder, StopFlag, StopReason, watch_signals
from .marching import TimeMarching
from .marching_files import MarchFiles, MarchState, save_marched
from .marching_result import result_of
from .polish_files import PolishResult, fingerprint
from .polisher import polished_network
from .slab_steps import ROUNDING, SlabStep, SlabTraining, polish_slab, train_slab
from .slabs import Interval, Slabs, Start
from .trainer import Trainer

_LEFT_OVER = 1.25  # so many lengths that are left become one slab
_PATIENCE = 3  # slabs after one that was stuck, before a longer one is tried
_TRAIN_SHARE = 0.6  # of a slab's share of the time


@dataclasses.dataclass(frozen=True)
class MarchEnd:
    """How time marching ended, after `seconds` of the run.

    `found` is selected if the slabs reach the last time and its score is lower than
    that of the trained network.
    """

    found: PolishResult | None
    stop_reason: StopReason
    seconds: float


def run_marching(
    trainer: Trainer,
    trained: Any,
    settings: TimeMarching,
    folder: RunFolder | None,
    logger: Logger,
    *,
    step: int,
    seconds: float,
    max_seconds: float,
    reference: Reference | None,
) -> MarchEnd:
    """Solve slab after slab. Each slab is saved; a resumed run goes on with the next.

    `trained` is the network that the stage shall improve on, after `step` steps and
    `seconds` of the run. Check `why_not_marched` first.
    """
    begun = time.monotonic()
    slabs = Slabs.of(trainer.evaluator)
    origin = {"step": step, "trained": fingerprint(trained)}
    files = MarchFiles(folder, slabs, settings, origin)
    interval = slabs.interval
    first = MarchState(interval.length / settings.num_slabs)
    state = files.load() or first
    before = seconds + state.seconds
    clock = lambda: before + time.monotonic() - begun
    report = _reporter(logger, step, max_seconds, clock)
    with watch_signals() as flag:
        march = _March(
            slabs, settings, files, report, flag, clock, seconds, max_seconds
        )
        state = march.run(_without_limits(state))
    found = None
    if state.slabs:
        found = result_of(trainer, trained, slabs, settings, state, step, reference)
        if folder is not None and found.is_selected:
            save_marched(folder, found, files.identity["problem"])
    reason = state.stop_reason or StopReason.interrupted
    return MarchEnd(found, reason, clock())


class _March:
    """The steps of time marching, with the time that they have."""

    def __init__(
        self,
        slabs: Slabs,
        settings: TimeMarching,
        files: MarchFiles,
        report: Callable[[str], None],
        flag: StopFlag,
        clock: Callable[[], float],
        begun: float,
        max_seconds: float,
    ):
        self.slabs, self.settings, self.files = slabs, settings, files
        self.report, self.flag, self.clock = report, flag, clock
        self.begun, self.max_seconds = begun, max_seconds
        self.polish_seconds = 0.0  # of the last step of the linear stage

    def run(self, state: MarchState) -> MarchState:
        """All slabs that are left, then the sweeps."""
        while state.stop_reason is None:
            if self.flag.is_set:
                return self._saved(state)
            if self._reached(state) >= self.slabs.interval.end:
                state = self._saved(self._swept(state))
            elif self.clock() >= self.max_seconds:
                state = self._saved(state.with_(stop_reason=StopReason.time))
            else:
                state = self._advanced(state)
        return state

    def _saved(self, state: MarchState) -> MarchState:
        state = state.with_(seconds=self.clock() - self.begun)
        self.files.save(state)
        return state

    def _reached(self, state: MarchState) -> float:
        return state.slabs[-1]["end"] if state.slabs else self.slabs.interval.start

    def _advanced(self, state: MarchState) -> MarchState:
        """The state after the next slab was tried; the same if it was stopped."""
        begin, end = self._reached(state), self.slabs.interval.end
        is_last = end - begin <= _LEFT_OVER * state.length
        interval = Interval(begin, end if is_last else begin + state.length)
        now, left = self.clock(), self.max_seconds - self.clock()
        share = _TRAIN_SHARE * left * interval.length / (end - begin)
        start, params = self._start(state), self._initial_params(state)
        done = train_slab(
            self.slabs,
            interval,
            params,
            start,
            self.settings,
            is_stopped=lambda: self.flag.is_set,
            is_late=lambda: self.clock() > now + share,
        )
        if done is None:
            return state
        is_stuck = done.is_stuck(self.settings)
        attempt = interval._asdict() | {
            "steps": done.num_steps,
            "residual": done.residual,
            "is_stuck": is_stuck,
        }
        tried = state.with_(attempts=(*state.attempts, attempt))
        self.report(_sentence(len(state.slabs) + 1, attempt))
        if is_stuck:
            tried = tried.with_(length=interval.length / 2)
            least = self.settings.smallest * self.slabs.interval.length
            if tried.length < least:
                tried = tried.with_(stop_reason=StopReason.no_descent)
            return self._saved(tried)
        network, change = self._polished(interval, done, start)
        if self.flag.is_set:
            return state  # the slab begins anew when the run is resumed
        slab = attempt | {"factors": done.factors, "change": change}
        return self._saved(
            tried.with_(
                slabs=(*state.slabs, slab),
                networks=(*state.networks, network),
                length=self._next_length(tried, interval, done),
            )
        )

    def _next_length(
        self, state: MarchState, interval: Interval, done: SlabTraining
    ) -> float:
        last = [one["is_stuck"] for one in state.attempts[-_PATIENCE:]]
        grows = done.is_easy(self.settings) and not any(last)
        return (2 if grows else 1) * interval.length

    def _start(self, state: MarchState) -> Start:
        """The initial values of the next slab."""
        if not state.slabs:
            return self.slabs.first_values()
        last, network = state.intervals[-1], state.networks[-1]
        return self.slabs.values_of(last, network, self.settings.polish)

    def _initial_params(self, state: MarchState) -> Any:
        if not state.networks:
            return self.slabs.whole.initial_params()
        last = state.networks[-1]
        base = last if self.settings.polish is None else last.base
        return eqx.filter(base, eqx.is_inexact_array)

    def _polished(
        self, interval: Interval, done: SlabTraining, start: Start
    ) -> tuple[Any, float | None]:
        """The network after a step of the linear stage, if there is time for it, and
        the relative change."""
        settings, slabs = self.settings.polish, self.slabs
        network = eqx.combine(done.params, slabs.whole.skeleton)
        if settings is None:
            return network, None
        if self.clock() + self.polish_seconds > self.max_seconds or self.flag.is_set:
            return polished_network(settings, slabs.whole, done.params), None
        found = self._step(interval, network, done.factors, start, 0)
        if found.is_accepted:
            return found.network, _relative(found.after - found.before, found.after)
        return polished_network(settings, slabs.whole, done.params), 0.0

    def _step(
        self,
        interval: Interval,
        network: Any,
        factors: dict[str, float],
        start: Start,
        number: int,
    ) -> SlabStep:
        settings: Any = self.settings.polish
        begun = self.clock()
        found = polish_slab(
            self.slabs, interval, network, factors, start, settings, number
        )
        self.polish_seconds = self.clock() - begun
        return found

    def _swept(self, state: MarchState) -> MarchState:
        """The state after the next slab of a sweep; with a reason to stop if there is
        nothing more to do."""
        settings, count = self.settings, len(state.swept)
        is_over = bool(state.sweeps) and not state.sweeps[-1]["is_accepted"]
        if settings.polish is None or is_over:
            return state.with_(stop_reason=StopReason.converged)
        if len(state.sweeps) >= settings.max_sweeps:
            return state.with_(stop_reason=StopReason.steps)
        left = self.polish_seconds * (len(state.slabs) - count)
        if self.clock() + left > self.max_seconds:
            return state.with_(stop_reason=StopReason.time)
        interval, start = state.intervals[count], self.slabs.first_values()
        if count:
            before = state.intervals[count - 1]
            start = self.slabs.values_of(before, state.swept[-1], settings.polish)
        factors, number = state.slabs[count]["factors"], len(state.sweeps) + 1
        found = self._step(interval, state.networks[count], factors, start, number)
        swept, parts = (*state.swept, found.network), _parts(found, interval)
        state = state.with_(swept=swept, swept_parts=(*state.swept_parts, parts))
        if len(swept) < len(state.slabs):
            return state
        sweep = _join_parts(state.swept_parts)
        self.report(_sweep_sentence(number, sweep))
        networks = swept if sweep["is_accepted"] else state.networks
        sweeps = (*state.sweeps, sweep)
        return state.with_(networks=networks, sweeps=sweeps, swept=(), swept_parts=())


def _without_limits(state: MarchState) -> MarchState:
    """A state whose end by the time or by a signal does not count any more."""
    passing = (StopReason.time, StopReason.interrupted)
    return state.with_(stop_reason=None) if state.stop_reason in passing else state


def _reporter(
    logger: Logger, step: int, max_seconds: float, clock: Callable[[], float]
) -> Callable[[str], None]:
    """A function that reports a sentence."""

    def report(message: str) -> None:
        now = clock()
        left = max_seconds - now if math.isfinite(max_seconds) else 0.0
        entry = {"step": step, "seconds": round(now, 3), "message": message}
        logger.report(entry, max(0.0, left))

    return report


def _sentence(number: int, attempt: dict[str, Any]) -> str:
    place = f"Slab {number} [{attempt['start']:.4g}, {attempt['end']:.4g}]"
    found = f"residual {attempt['residual']:.1e} after {attempt['steps']} steps"
    return f"{place}: {found}{', stuck: half as long' * attempt['is_stuck']}"


def _sweep_sentence(number: int, sweep: dict[str, Any]) -> str:
    word = "" if sweep["is_accepted"] else ", not accepted"
    return f"Linear sweep {number}: relative change {sweep['estimate']:.1e}{word}"


def _relative(change: Any, values: Any) -> float:
    return float(np.linalg.norm(change) / (np.linalg.norm(values) or 1.0))


def _parts(found: SlabStep, interval: Interval) -> dict[str, float]:
    """Squares of the solution and of its errors, integrated over a slab."""
    size = interval.length * float(np.mean(found.after**2))
    change = interval.length * float(np.mean((found.after - found.before) ** 2))
    errors = {"noise": size * found.noise**2, "expected": size * found.expected**2}
    sizes = {"size": size, "change": change, "num_columns": found.num_columns}
    return sizes | errors


def _join_parts(parts: tuple[dict[str, float], ...]) -> dict[str, Any]:
    """What a sweep found, relative to the whole solution."""
    total = lambda name: math.fsum(one[name] for one in parts)
    size = total("size") or 1.0
    root = lambda name: math.sqrt(total(name) / size)
    found: dict[str, Any] = {
        "estimate": root("change"),
        "noise": root("noise"),
        "expected": root("expected"),
        "num_columns": int(parts[0]["num_columns"]),
    }
    is_gain = max(found["expected"], ROUNDING) < 0.5 * found["estimate"]
    return found | {"is_accepted": is_gain and math.isfinite(found["estimate"])}
