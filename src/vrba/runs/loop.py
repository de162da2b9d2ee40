"""The training loop: resample, step, check, save, until a limit is reached."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax

from ..core import Status
from ._base import AbstractTrainer
from .outcome import StopReason

_CALL_SECONDS = 1.0  # aimed duration of one compiled call


class StopFlag:
    """Whether a signal asked to stop."""

    def __init__(self):
        self.is_set = False

    def set(self, *_: Any) -> None:
        """Ask to stop after the current step."""
        self.is_set = True


_watching: StopFlag | None = None  # the flag of the main thread


@contextmanager
def watch_signals() -> Iterator[StopFlag]:
    """Set a flag at Ctrl-C, SIGTERM or when the terminal closes.

    A second signal meets the program's own handlers again. Within another
    `watch_signals` the flag is that of the outer one.
    """
    global _watching
    flag = StopFlag() if _watching is None else _watching
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or flag is _watching:
        yield flag if is_main else StopFlag()
        return
    names = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        names.append(signal.SIGHUP)  # set by `nohup`
    before = {name: signal.getsignal(name) for name in names}

    def stop(number, frame):
        flag.set()
        for name, handler in before.items():
            signal.signal(name, handler)

    for name in names:
        signal.signal(name, stop)
    _watching = flag
    try:
        yield flag
    finally:
        _watching = None
        for name, handler in before.items():
            signal.signal(name, handler)


def _num_steps(
    trainer: AbstractTrainer, state: Any, limit: int, seconds_per_step: float
) -> int:
    """The number of steps of the next call, up to a limit of all steps."""
    if trainer.is_stage_over(state):  # the pace of the next stage is not known
        return 1
    return min(
        trainer.resample_every - int(state.num_since_resample),
        limit - int(state.num_steps),
        max(1, int(_CALL_SECONDS / max(seconds_per_step, 1e-6))),
    )


def _why_over(
    trainer: AbstractTrainer,
    state: Any,
    seconds: float,
    max_steps: int,
    max_seconds: float,
    flag: StopFlag,
) -> StopReason | None:
    """Why training ends before the next step; being stuck counts before a limit."""
    reason = trainer.stop_reason(state)
    if reason == StopReason.stuck:
        return reason
    if int(state.num_steps) >= max_steps:
        return StopReason.steps
    if flag.is_set:
        return StopReason.interrupted
    return StopReason.time if seconds >= max_seconds else reason


def run_loop(
    trainer: AbstractTrainer,
    state: Any,
    *,
    max_steps: int,
    max_seconds: float,
    seconds: float,
    seconds_per_step: float,
    on_check: Callable[[Any, Any, float, float, str], None],
    save: Callable[[Any, float], None],
    save_every: float,
    flag: StopFlag,
) -> tuple[Any, StopReason, float]:
    """Train from `state`, which took `seconds` so far; return state, reason, seconds.

    The clock and the saving decide only when to stop, never what is computed.
    """
    value = math.nan
    start = time.monotonic() - seconds
    clock = lambda: time.monotonic() - start
    saved = clock()
    while True:
        limits = max_steps, max_seconds
        stop_reason = _why_over(trainer, state, clock(), *limits, flag)
        if stop_reason is not None:
            break
        done, due = int(state.num_steps), trainer.next_check(state)
        if due > done:
            if trainer.needs_resample(state):
                state = trainer.resample(state)
            count = _num_steps(trainer, state, min(due, max_steps), seconds_per_step)
            before = clock()
            state, steps = trainer.advance(state, count)
            jax.block_until_ready(state.num_steps)
            seconds_per_step = (clock() - before) / max(int(steps.num_steps), 1)
            value = float(steps.info.value)
            if bool(steps.info.status == Status.nonfinite_objective):
                stop_reason = StopReason.not_finite
                break
        if int(state.num_steps) >= due:
            state, check = trainer.check(state)
            changed, message = trainer.after_check(state, check)
            on_check(state, check, value, clock(), message)
            state = changed
        if clock() - saved >= save_every:
            save(state, clock())
            saved = clock()
    return state, stop_reason, clock()
