"""Runs in the terminal and for TensorBoard."""

import builtins
import io
import re
import struct

import pytest
from rich.console import Console

from tests.report.run_cases import PLAN, add_collapse, make_entry, make_result, make_run
from vrba.core import append_line
from vrba.report import Panel, TensorBoard, watch
from vrba.runs import AbstractCallback, CallbackList, PrintLines, save_tree

ENTRY = {
    "step": 15,
    "seconds": 9.0,
    "loss": 1.5e-4,
    "residual_l2": 2.5e-2,
    "residual_max": 3.5e-1,
}


def shown_by(entry=ENTRY, *, error=None):
    """What the panel leaves on the screen after one check."""
    console = Console(
        file=io.StringIO(),
        record=True,
        width=90,
        force_terminal=True,
        color_system=None,
    )
    panel = Panel(console)
    assert isinstance(panel, AbstractCallback)
    panel.on_start(PLAN)
    panel.on_check(entry if error is None else entry | {"error": error}, 81.0)
    panel.on_end("not shown")
    panel.close()  # twice does no harm
    return console.export_text()


def test_panel_shows_where_the_run_stands():
    text = shown_by(error=4.5e-3)
    assert "1341 parameters in float64" in text
    for part in (
        "15 of 300",
        "1.50e-04",
        "2.50e-02, largest 3.5e-01",
        "9 s, 81 s left",
    ):
        assert part in text
    assert "4.50e-03 (relative L2)" in text
    assert "━" in text and "not shown" not in text


def test_panel_without_a_reference_has_no_error():
    assert "relative L2" not in shown_by()


def test_panel_shows_a_stage_that_is_told_in_words():
    told = {"step": 15, "polish_step": 2, "seconds": 9.0, "message": "Slab 2: solved"}
    text = shown_by(told)
    assert "Slab 2: solved" in text and "15 of 300" in text


def test_panel_before_the_first_check_shows_the_plan():
    console = Console(file=io.StringIO(), record=True, width=90, force_terminal=True)
    panel = Panel(console)
    panel.on_start(PLAN)
    panel.close()
    text = console.export_text()
    assert "0 of 300" in text and "left" in text and "loss" not in text


# A run of another process.


def make_console(*, is_terminal):
    options = {"force_terminal": is_terminal, "width": 80, "color_system": None}
    return Console(file=io.StringIO(), **options)


def text_of(console):
    return console.file.getvalue()


def test_one_picture_shows_the_newest_entry(tmp_path):
    run = make_run(tmp_path / "run", ended=False, num_steps=90)
    newest = make_entry(120) | {"residual_l2": 1.23e-7, "error": 4.56e-8}
    append_line(run / "metrics.jsonl", newest)
    console = make_console(is_terminal=True)
    watch(run, once=True, console=console)
    text = text_of(console)
    for words in ("mean square): 1.23e-07", "error: 4.56e-08", "loss: ", "noise: "):
        assert words in text, words
    assert "Burgers: step 120, 3 s" in text and "Ended" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert len(re.findall("└─+┘", text)) == 4  # a frame for each


def test_without_a_terminal_there_is_one_picture(tmp_path):
    run = make_run(tmp_path / "run", ended=False, num_steps=90, diagnosed=False)
    refuse = lambda seconds: pytest.fail("it waits")
    console = make_console(is_terminal=False)
    watch(run, console=console, sleep=refuse)
    assert "step 90" in text_of(console) and "noise" not in text_of(console)


def test_it_looks_again_until_the_run_has_ended(tmp_path):
    run = make_run(tmp_path / "run", ended=False, num_steps=60)
    best = run / "checkpoint" / "best.npz"
    waited = []

    def sleep(seconds):
        """Meanwhile the run goes on, is seen while a file is replaced, and ends."""
        waited.append(seconds)
        if len(waited) == 1:
            append_line(run / "metrics.jsonl", make_entry(90))
            best.write_bytes(b"half")
        else:
            save_tree(best, {}, make_result(step=90))

    console = make_console(is_terminal=True)
    found = watch(run, console=console, every=2, sleep=sleep)
    assert waited == [2, 2] and found.has_ended
    assert "step 90" in text_of(console) and "Ended. " in text_of(console)


def test_warnings_are_told(tmp_path):
    run = make_run(tmp_path / "run", num_steps=60)
    add_collapse(run, 61)
    console = make_console(is_terminal=False)
    watch(run, console=console)
    assert "Warning (step 63): The weights have collapsed" in text_of(console)


# TensorBoard.


def records_of(content):
    """The records of an event file: length, its checksum, data, their checksum."""
    place = 0
    while place < len(content):
        (length,) = struct.unpack_from("<Q", content, place)
        yield content[place + 12 : place + 12 + length]
        place += length + 16


def test_tensorboard_gets_every_number(tmp_path):
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    callback = TensorBoard(tmp_path)
    callback.on_start(PLAN)
    entry = make_entry(30) | {"snr": None, "note": "text", "is_good": True}
    callback.on_check(entry, 1.0)
    callback.on_end("Done.")
    (file,) = tmp_path.iterdir()
    scalars = {
        value.tag: (event.step, value.simple_value)
        for event in map(event_pb2.Event.FromString, records_of(file.read_bytes()))
        for value in event.summary.value
        if value.HasField("simple_value")
    }
    assert scalars["loss"] == (30, pytest.approx(entry["loss"]))
    assert scalars["residual_l2/initial"][1] == pytest.approx(
        entry["residual_l2 initial"]
    )
    unsaid = {"step", "snr", "note", "is_good"}
    assert set(scalars) == {key.replace(" ", "/") for key in entry.keys() - unsaid}


def test_tensorboard_says_what_is_missing(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "tensorboardX":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install tensorboardX"):
        TensorBoard(tmp_path)


def test_several_callbacks_are_told_in_order():
    streams = [io.StringIO(), io.StringIO()]
    both = CallbackList(
        PrintLines(streams[0]), PrintLines(streams[1], prints_result=False)
    )
    both.on_start(PLAN)
    both.on_check(make_entry(30), 9.0)
    both.on_end("Done.")
    first, second = (stream.getvalue() for stream in streams)
    assert first == second + "Done.\n" and "step     30" in second
