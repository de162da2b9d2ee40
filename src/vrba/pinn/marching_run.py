"""Time marching of a run: its time, its files and its log."""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

from ..problems import Reference
from ..runs import POLISH_STEP, Logger, RunFolder, StopReason, watch_signals
from .march import March, Report
from .marching import TimeMarching
from .marching_files import MarchFiles, MarchState, save_marched
from .marching_result import marched_result
from .polish_files import PolishResult, fingerprint
from .slabs import Slabs
from .trainer import Trainer


@dataclasses.dataclass(frozen=True)
class MarchEnd:
    """How time marching ended, after `seconds` of the run.

    `found` is selected if the slabs reach the last time and its score is lower than
    that of the trained network.
    """

    found: PolishResult
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
    tolerance: float | None = None,
) -> MarchEnd:
    """Solve slab after slab. Each slab is saved; a resumed run goes on with the next.

    `trained` is the network that the stage shall improve on, after `step` steps and
    `seconds` of the run. Check `why_not_marched` first.
    """
    begun = time.monotonic()
    slabs = Slabs.of(trainer.evaluator)
    origin = {"step": step, "trained": fingerprint(trained)}
    files = MarchFiles(folder, slabs, settings, origin)
    first = MarchState(slabs.interval.length / settings.num_slabs)
    state = _without_limits(files.load() or first)
    logger.rewind(step, state.num_reports)
    before = seconds + state.seconds
    clock = lambda: before + time.monotonic() - begun
    report = _reporter(logger, step, max_seconds, clock)
    limits = seconds, max_seconds, tolerance
    with watch_signals() as flag:
        march = March(slabs, settings, files, report, flag, clock, *limits)
        state = march.run(state)
    found = marched_result(trainer, trained, slabs, settings, state, step, reference)
    if folder is not None and found.is_selected:
        save_marched(folder, found, files.identity["problem"])
    reason = state.stop_reason or StopReason.interrupted
    return MarchEnd(found, reason, clock())


def _without_limits(state: MarchState) -> MarchState:
    """A state whose end by the time or by another tolerance does not count any more."""
    passing = (StopReason.time, StopReason.tolerance)
    return state.with_(stop_reason=None) if state.stop_reason in passing else state


def _reporter(
    logger: Logger, step: int, max_seconds: float, clock: Callable[[], float]
) -> Report:
    """A function that logs and reports a sentence."""

    def report(state: MarchState, message: str) -> None:
        now = clock()
        left = max_seconds - now if math.isfinite(max_seconds) else 0.0
        entry = {
            "step": step,
            POLISH_STEP: state.num_reports,
            "seconds": round(now, 3),
            "message": message,
        }
        logger.add(entry)  # before the file: `rewind` drops it again
        logger.report(entry, max(0.0, left))

    return report
