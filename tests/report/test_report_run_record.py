"""Reading a run folder."""

import re

import numpy as np
import pytest

from tests.report.run_cases import ABOUT, make_entry, make_run
from vrba.core import BrokenFileError, append_line, save_tree
from vrba.runs import RunRecord

BAD_FILES = (
    ("recipe.json", None, "is no run folder: it has no recipe.json"),
    ("recipe.json", b"{", "recipe.json` is damaged"),
    ("recipe.json", b"[1]", "recipe.json` is damaged"),
    ("checkpoint/best.npz", b"no zip", "best.npz` is not whole"),
)


def test_run_record_holds_what_the_folder_holds(tmp_path):
    run = RunRecord.read(make_run(tmp_path / "run", num_steps=300))
    assert (run.name, run.has_ended) == ("Burgers", True)
    assert (run.step, run.seconds) == (300, 7.0)
    assert run.diagnose_seconds == pytest.approx(0.3)
    assert [entry["step"] for entry in run.record[:2]] == [30, 60]
    assert run.fields["u"].shape == (61, 81)
    assert list(run.drawn) == sorted(run.drawn) and run.drawn[0].shape == (500, 2)
    assert "error 1.00e-05 (selected by residual), 1.10e-05 (last)" in run.sentence()


def test_missing_parts_are_empty(tmp_path):
    (tmp_path / "recipe.json").write_text("{}")
    run = RunRecord.read(tmp_path)
    assert (run.record, run.fields, run.result, run.drawn) == ([], None, {}, {})
    assert not run.has_ended and run.step == 0
    assert "nothing was logged yet" in run.sentence()


def test_a_run_that_goes_on_or_was_resumed_has_not_ended(tmp_path):
    going = RunRecord.read(make_run(tmp_path / "going", ended=False, num_steps=300))
    assert not going.has_ended and going.step == 300
    assert "has not ended; after 300 steps" in going.sentence()
    resumed = make_run(tmp_path / "resumed", num_steps=300)
    append_line(resumed / "metrics.jsonl", make_entry(330))
    assert not RunRecord.read(resumed).has_ended


def test_bad_folders_are_named(tmp_path):
    run = make_run(tmp_path / "run", num_steps=30, diagnosed=False)
    for file, content, words in BAD_FILES:
        good = (run / file).read_bytes()
        (run / file).unlink()
        if content is not None:
            (run / file).write_bytes(content)
        with pytest.raises(ValueError, match=re.escape(words)) as caught:
            RunRecord.read(run)
        assert str(run) in str(caught.value)
        (run / file).write_bytes(good)


def test_damaged_fields_are_left_out(tmp_path):
    run = make_run(tmp_path / "run", num_steps=60)
    fields = run / "fields.npz"
    fields.write_bytes(fields.read_bytes()[:-99])
    found = RunRecord.read(run)
    assert found.fields is None and found.arrays("u") == {}
    assert "fields.npz` is not whole" in found.complaint


def test_a_truncated_checkpoint_is_an_error(tmp_path):
    run = make_run(tmp_path / "run", num_steps=30)
    save_tree(run / "checkpoint/best.npz", {"a": np.zeros(2)}, {})
    content = (run / "checkpoint/best.npz").read_bytes()
    (run / "checkpoint/best.npz").write_bytes(content[:-40])
    with pytest.raises(BrokenFileError):
        RunRecord.read(run)


def test_half_a_line_and_half_a_file_of_points_are_left_out(tmp_path):
    run = make_run(tmp_path / "run", num_steps=60)
    with open(run / "metrics.jsonl", "a") as file:
        file.write('{"no step": 1}\n{"step": 9')
    (run / "drawn" / "77.npy").write_bytes(b"\x93NUMPY")
    (run / "drawn" / "notes.npy").write_bytes(b"")
    found = RunRecord.read(run)
    assert [entry["step"] for entry in found.record] == [30, 60]
    assert 77 not in found.drawn


def test_command_is_that_of_the_folder(tmp_path):
    command = "vrba solve 'my pde.py' --minutes 2"
    assert RunRecord(tmp_path, ABOUT | {"command": command}).command() == command
    assert RunRecord(tmp_path, ABOUT).command() is None
