"""Reading a run folder."""

import re

import numpy as np
import pytest

from tests.report import operator_cases
from tests.report.run_cases import MANIFEST, make_entry, make_run
from vrba.core import BrokenFileError, InputError, append_line
from vrba.runs import (
    RunFolder,
    RunRecord,
    StopReason,
    operator_sentence,
    reference_floor,
    save_tree,
)

BAD_FILES = (
    ("recipe.json", None, "is no run folder: it has no recipe.json"),
    ("recipe.json", b"{", "recipe.json` is damaged"),
    ("recipe.json", b"[1]", "recipe.json` is damaged"),
    ("recipe.json", b"{}", "it has no `format_version`"),
    ("checkpoint/best.npz", b"no zip", "best.npz` is incomplete"),
)


def test_run_record_holds_what_the_folder_holds(tmp_path):
    run = RunRecord.read(make_run(tmp_path / "run", num_steps=300))
    assert (run.name, run.has_ended) == ("Burgers", True)
    assert (run.step, run.seconds) == (300, 7.0)
    assert run.stop_reason is StopReason.time
    assert run.diagnose_seconds == pytest.approx(0.3)
    assert [entry["step"] for entry in run.record[:2]] == [30, 60]
    assert run.fields["u"].shape == (61, 81)
    assert list(run.drawn) == sorted(run.drawn) and run.drawn[0].shape == (500, 2)
    assert "error 1.00e-05 (selected by residual), 1.10e-05 (last)" in run.sentence()


def test_missing_parts_are_empty(tmp_path):
    RunFolder(tmp_path).write_manifest(MANIFEST)
    run = RunRecord.read(tmp_path)
    assert (run.record, run.fields, run.result, run.drawn) == ([], None, {}, {})
    assert not run.has_ended and run.stop_reason is None and run.step == 0
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


def test_a_folder_of_another_format_version_is_refused(tmp_path):
    run = make_run(tmp_path / "run", num_steps=30, diagnosed=False, format_version=2)
    with pytest.raises(InputError, match="format version 2, this vrba reads version 1"):
        RunRecord.read(run)


def test_damaged_fields_are_left_out(tmp_path):
    run = make_run(tmp_path / "run", num_steps=60)
    fields = run / "fields.npz"
    fields.write_bytes(fields.read_bytes()[:-99])
    found = RunRecord.read(run)
    assert found.fields is None and found.arrays("u") == {}
    assert "fields.npz` is incomplete" in found.complaint


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
    assert RunRecord(tmp_path, MANIFEST | {"command": command}).command() == command
    assert RunRecord(tmp_path, MANIFEST).command() is None


# Operators.


def test_record_of_an_operator(tmp_path):
    errors = operator_cases.make_errors()
    run = RunRecord.read(operator_cases.make_run(tmp_path / "run"))
    assert run.is_operator and (run.name, run.has_ended) == ("Bubble", True)
    assert (run.step, run.seconds) == (900, 19.0)
    assert run.settings["max_steps"] == 900
    assert run.sentence() == operator_sentence("Bubble", run.result)
    assert f"relative L2 error {np.mean(errors):.2e} (selected by" in run.sentence()
    assert f"the maximum {np.max(errors):.2e}" in run.sentence()
    unnamed = {"data": {"shapes": [[4, 2, 1], [4, 3, 1]]}}
    assert RunRecord(tmp_path, operator_cases.MANIFEST | unnamed).name == "Operator"
    going = operator_cases.make_run(tmp_path / "going", ended=False)
    going = RunRecord.read(going)
    assert not going.has_ended and "the validation error is" in going.sentence()


def test_some_arrays_are_read_alone(tmp_path):
    path = operator_cases.make_run(tmp_path / "run")
    wanted = ("t", "errors over time", "gone")
    bare = RunRecord.read(path, has_arrays=False)
    assert bare.fields is None and list(bare.arrays(*wanted)) == list(wanted[:2])
    found = RunRecord.read(path).arrays(*wanted)
    for name, values in bare.arrays(*wanted).items():
        np.testing.assert_array_equal(values, found[name])
    assert RunRecord(tmp_path / "none", MANIFEST).arrays("t") == {}


def test_without_an_error_of_the_reference_there_is_no_floor():
    assert reference_floor({"selected": 1e-3}) == 0
    assert reference_floor({"of_reference": 2.0}) == 6
