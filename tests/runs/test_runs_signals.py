"""Signals that stop a run."""

import os
import signal

from vrba.runs import watch_signals


def test_a_closed_terminal_stops_unless_its_signal_is_ignored():
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with watch_signals() as flag:
            os.kill(os.getpid(), signal.SIGHUP)
            assert flag.is_set
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does
        with watch_signals() as flag:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not flag.is_set
    finally:
        signal.signal(signal.SIGHUP, before)
