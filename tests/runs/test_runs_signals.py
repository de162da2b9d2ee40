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


def test_a_part_of_a_run_shares_the_flag_of_the_run():
    with watch_signals() as outer:
        with watch_signals() as inner:
            os.kill(os.getpid(), signal.SIGINT)
            assert inner.is_set
        assert outer.is_set
    with watch_signals() as flag:
        assert not flag.is_set
