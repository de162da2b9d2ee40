"""Pages about runs, and what a run folder tells."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from cli_cases import call
from run_cases import ABOUT, ENDED, add_collapse, make_entry, make_run

import vrba
from vrba.compare import write_report
from vrba.core import BrokenFileError, append_line, save_tree
from vrba.report import RunRecord

FIGURES = ["solution", "curves", "dynamics", "residual", "weights", "drawn"]


def figures_in(text):
    return re.findall(r'<figure id="figure-([\w-]+)">', text)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a run that has all there is."""
    run = make_run(tmp_path_factory.mktemp("page") / "burgers", seed=3)
    path = write_report(run)
    return path, path.read_text()


# A run's folder.


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
    text = write_report(tmp_path).read_text()
    assert "Nothing was logged yet" in text and figures_in(text) == []


def test_a_run_that_goes_on_or_was_resumed_has_not_ended(tmp_path):
    going = RunRecord.read(make_run(tmp_path / "going", ended=False, num_steps=300))
    assert not going.has_ended and going.step == 300
    assert "has not ended; after 300 steps" in going.sentence()
    resumed = make_run(tmp_path / "resumed", num_steps=300)
    append_line(resumed / "metrics.jsonl", make_entry(330))
    assert not RunRecord.read(resumed).has_ended


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("recipe.json", None, "is no run folder: it has no recipe.json"),
        ("recipe.json", b"{", "recipe.json` is damaged"),
        ("recipe.json", b"[1]", "recipe.json` is damaged"),
        ("checkpoint/best.npz", b"no zip", "best.npz` is not whole"),
    ],
)
def test_bad_folders_are_named(tmp_path, file, content, words):
    run = make_run(tmp_path / "run", num_steps=30)
    if content is None:
        (run / file).unlink()
    else:
        (run / file).write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        RunRecord.read(run)
    assert str(run) in str(caught.value)
    code, _, err = call("report", run)
    assert code == 2 and str(run) in err


def test_a_page_without_its_damaged_fields_says_so(tmp_path):
    run = make_run(tmp_path / "run", num_steps=60)
    fields = run / "fields.npz"
    fields.write_bytes(fields.read_bytes()[:-99])
    found = RunRecord.read(run)
    assert found.fields is None and found.arrays("u") == {}
    code, _, err = call("report", run)
    assert code == 0, err
    text = (run / "report.html").read_text()
    assert "fields.npz` is not whole" in text and "left out" in text


def test_half_a_line_and_half_a_file_of_points_are_left_out(tmp_path):
    run = make_run(tmp_path / "run", num_steps=60)
    with open(run / "metrics.jsonl", "a") as file:
        file.write('{"no step": 1}\n{"step": 9')
    (run / "drawn" / "77.npy").write_bytes(b"\x93NUMPY")
    (run / "drawn" / "notes.npy").write_bytes(b"")
    found = RunRecord.read(run)
    assert [entry["step"] for entry in found.record] == [30, 60]
    assert 77 not in found.drawn


def test_command_to_do_it_again(tmp_path, page):
    command = "vrba solve 'my pde.py' --minutes 2"
    typed = RunRecord(tmp_path, ABOUT | {"command": command})
    assert typed.command() == command
    assert RunRecord(tmp_path, ABOUT).command() is None
    assert "The run was made by a program; its settings are below." in page[1]
    run = make_run(tmp_path / "run", num_steps=30, command=command)
    shown = "<code>vrba solve &#x27;my pde.py&#x27; --minutes 2</code>"
    assert shown in write_report(run).read_text()


# The page of a run.


def test_page_has_result_figures_cost_and_recipe(page):
    path, text = page
    assert path.name == "report.html" and figures_in(text) == FIGURES
    for words in (
        "<title>Burgers: burgers</title>",
        "relative L2 error 1.00e-05 (selected by residual), 1.10e-05 (last).",
        ENDED,
        "61.0 s (61 s)",
        "0.0203 s",
        "3.0 s, 4.9 % of the time",
        "1,341",
        "0.10.2",
        "viscosity</th><td>0.0032",
        "SSBroyden",
        "num_points</th><td>8192",
        "scans_pool</th><td>yes",
        "correction</th><td>none",
    ):
        assert words in text, words
    assert len(text.encode()) < 3e6
    for name in FIGURES:
        picture = (path.parent / "figures" / f"{name}.png").read_bytes()
        assert picture.startswith(b"\x89PNG")


def test_page_needs_nothing_else(page):
    _, text = page
    assert "<script" not in text and "@import" not in text
    assert not re.search(r"https?://", text)
    sources = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert all(source.startswith(("#", "data:")) for source in sources)


def test_links_and_ids_fit(page):
    _, text = page
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    targets = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
    assert {a or b for a, b in targets} <= set(ids)
    first = ["warnings", "figures", "accuracy", "diagnosis"]
    sections = [*first, "cost", "reproduce", "recipe"]
    assert re.findall(r'<a href="#(\w+)">', text) == sections


def test_figures_have_labels_and_follow_the_colour_of_the_text(page):
    _, text = page
    heads = re.findall(r"<svg[^>]*>", text)
    assert len(heads) == 3 + 4 + 2 + 1 + 2 + 6
    assert all('role="img" aria-label="' in head for head in heads)
    assert 'aria-label="relative L2 error against steps"' in text
    assert "#000000" not in text.split("</style>", 1)[1] and "currentColor" in text


def test_names_are_escaped(tmp_path):
    evil = "<script>alert('&')</script>"
    problem = {"name": evil, "is_shipped": False, "settings": {"class": evil}}
    run = make_run(tmp_path / "a b", num_steps=90, problem=problem, command=evil)
    entry = make_entry(120) | {f"residual_l2 {evil}": 0.1}
    append_line(run / "metrics.jsonl", entry)
    text = write_report(run).read_text()
    assert "<script>" not in text and "&lt;script&gt;" in text


def test_without_diagnostics_and_reference_some_figures_are_missing(tmp_path):
    run = make_run(tmp_path / "run", diagnosed=False, reference=False, num_steps=90)
    text = write_report(run, tmp_path / "out").read_text()
    assert figures_in(text) == ["solution", "curves"]
    assert "there is no reference to compare with" in text
    assert "relative L2 error against" not in text and "% of the time" not in text
    assert (tmp_path / "out/figures/curves.png").exists()
    assert not (run / "report.html").exists()


def test_a_run_that_has_not_ended_has_a_page(tmp_path):
    run = make_run(tmp_path / "run", ended=False, num_steps=90)
    text = write_report(run).read_text()
    assert "The run has not ended." in text
    assert figures_in(text) == ["curves", "dynamics", "drawn"]


def test_nulls_in_the_log_are_left_out(tmp_path):
    run = make_run(tmp_path / "run", num_steps=30)
    empty = {key: None for key in make_entry(60)} | {"step": 60, "seconds": 2.0}
    append_line(run / "metrics.jsonl", empty)
    assert "curves" in figures_in(write_report(run).read_text())


def test_warnings_stages_errors_and_measures_are_shown(tmp_path, page):
    run = make_run(tmp_path / "run", num_steps=90)
    add_collapse(run, 91)
    text = write_report(run).read_text()
    assert "The weights have collapsed" in text and "Tilt less" in text
    assert "(step 93)" in text and "No warnings" not in text
    assert text.count(">fitting</text>") == 2
    _, usual = page
    assert (
        "No warnings, from 100 entries of the log, 100 of them" in usual
        and ">50 % below</th>" in usual
    )
    with np.load(run / "fields.npz") as fields:
        true, found = fields["reference u"], fields["u"]
    error = np.linalg.norm(found - true) / np.linalg.norm(true)
    assert f"<td>{error:.3g}</td>" in usual
    assert "signal-to-noise ratio of the gradient" in usual


def test_report_is_at_hand():
    assert vrba.write_report is vrba.compare.write_report is write_report
    with pytest.raises(AttributeError, match="has no attribute `nonesuch`"):
        _ = vrba.nonesuch


def test_report_wants_a_folder():
    with pytest.raises(ValueError, match="SimpleNamespace without one"):
        write_report(SimpleNamespace(run=None))


def test_report_of_a_solution_goes_to_its_folder(tmp_path):
    run = make_run(tmp_path / "run", num_steps=30, diagnosed=False)
    assert write_report(SimpleNamespace(run=run)) == run / "report.html"


def test_broken_arrays_are_an_error(tmp_path):
    run = make_run(tmp_path / "run", num_steps=30)
    save_tree(run / "checkpoint/best.npz", {"a": np.zeros(2)}, {})
    content = (run / "checkpoint/best.npz").read_bytes()
    (run / "checkpoint/best.npz").write_bytes(content[:-40])
    with pytest.raises(BrokenFileError):
        RunRecord.read(run)
