"""The one loop: redraw, step, check, save, until time, steps or the user say stop."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax

from ..core import Status
from ._base import AbstractTrainer

_CALL_SECONDS = 1.0


class StopFlag:
    """Whether a signal asked the run to stop."""

    def __init__(self):
        self.is_set = False

    def set(self, *_: Any) -> None:
        """Stops after the current step."""
        self.is_set = True


@contextmanager
def watch_signals() -> Iterator[StopFlag]:
    """Ctrl-C, SIGTERM and a terminal that closes set the flag; for a second one the
    program's own handlers are back."""
    flag = StopFlag()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    names = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        names.append(signal.SIGHUP)  # `nohup` asks to go on
    before = {name: signal.getsignal(name) for name in names}

    def stop(number, frame):
        flag.set()
        for name, handler in before.items():
            signal.signal(name, handler)

    for name in names:
        signal.signal(name, stop)
    try:
        yield flag
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def run_loop(
    trainer: AbstractTrainer,
    state: Any,
    *,
    max_steps: int,
    max_seconds: float,
    seconds: float,
    seconds_per_step: float,
    on_check: Callable[[Any, Any, Any, float], None],
    save: Callable[[Any, float], None],
    save_every: float,
    flag: StopFlag,
) -> tuple[Any, Status, float]:
    """Trains from `state`, which has taken `seconds`; returns why it stopped.

    How often it saves and looks at the clock changes nothing in what is computed.
    """
    recipe = trainer.recipe
    start = time.monotonic() - seconds
    clock = lambda: time.monotonic() - start
    saved = clock()
    status = Status.num_steps_reached
    while int(state.num_steps) < max_steps:
        if flag.is_set:
            status = Status.interrupted
            break
        if clock() >= max_seconds:
            status = Status.time_reached
            break
        if (ending := trainer.ending(state)) is not None:
            status = ending
            break
        if trainer.needs_resample(state):
            state = trainer.resample(state)
        done = int(state.num_steps)
        count = min(
            trainer.resample_every - int(state.num_since_resample),
            recipe.check_every - done % recipe.check_every,
            max_steps - done,
            max(1, int(_CALL_SECONDS / max(seconds_per_step, 1e-6))),
        )
        if trainer.is_stage_over(state):  # the pace of the next stage is not known
            count = 1
        before = clock()
        state, steps = trainer.advance(state, count)
        jax.block_until_ready(state.num_steps)
        seconds_per_step = (clock() - before) / max(int(steps.num_steps), 1)
        if bool(steps.info.status == Status.nonfinite_objective):
            status = Status.nonfinite_objective
            break
        if int(state.num_steps) % recipe.check_every == 0:
            state, check = trainer.check(state)
            on_check(state, check, steps.info, clock())
        if clock() - saved >= save_every:
            save(state, clock())
            saved = clock()
    return state, status, clock()
