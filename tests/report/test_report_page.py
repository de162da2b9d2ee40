"""The page of a run, and the writer of any page."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import vrba
from tests.report.run_cases import (
    ENDED,
    MANIFEST,
    add_collapse,
    figures_in,
    make_entry,
    make_run,
)
from vrba.compare import write_report
from vrba.core import append_line
from vrba.report import (
    PAGE,
    Page,
    Picture,
    Section,
    bullets,
    code,
    links,
    paragraph,
    plot_curves,
    table,
    write_page,
    write_run_report,
)
from vrba.runs import RunFolder, load_header, save_tree

FIGURES = ["solution", "curves", "dynamics", "residual", "weights", "drawn"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a run that has all there is."""
    run = make_run(tmp_path_factory.mktemp("page") / "burgers", seed=3)
    path = write_run_report(run)
    return path, path.read_text()


def test_page_has_result_figures_cost_and_recipe(page):
    path, text = page
    assert path.name == "report.html" and figures_in(text) == FIGURES
    for words in (
        "<title>Burgers: burgers</title>",
        "relative L2 error 1.00e-05 (selected by residual), 1.10e-05 (last).",
        ENDED,
        "time</th><td>61.0 s</td>",
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
    for part in re.findall(r"<figure.*?</figure>", text, flags=re.DOTALL):
        sizes = re.findall(r'<svg viewBox="\S+ \S+ (\S+) (\S+)"', part)
        assert len(set(sizes)) == 1  # so that panels align
    assert 'aria-label="relative L2 error against steps"' in text
    assert "#000000" not in text.split("</style>", 1)[1] and "currentColor" in text


def test_names_are_escaped(tmp_path):
    evil = "<script>alert('&')</script>"
    problem = {"name": evil, "is_shipped": False, "settings": {"class": evil}}
    run = make_run(tmp_path / "a b", num_steps=90, problem=problem, command=evil)
    entry = make_entry(120) | {f"residual_l2 {evil}": 0.1}
    append_line(run / "metrics.jsonl", entry)
    text = write_run_report(run).read_text()
    assert "<script>" not in text and "&lt;script&gt;" in text


def test_without_diagnostics_and_reference_some_figures_are_missing(tmp_path):
    run = make_run(tmp_path / "run", diagnosed=False, reference=False, num_steps=90)
    text = write_run_report(run, tmp_path / "out").read_text()
    assert figures_in(text) == ["solution", "curves"]
    assert "there is no reference to compare with" in text
    assert "relative L2 error against" not in text and "% of the time" not in text
    assert (tmp_path / "out/figures/curves.png").exists()
    assert not (run / "report.html").exists()


def test_a_run_that_has_not_ended_has_a_page(tmp_path):
    run = make_run(tmp_path / "run", ended=False, num_steps=90)
    text = write_run_report(run).read_text()
    assert "The run has not ended." in text
    assert figures_in(text) == ["curves", "dynamics", "drawn"]


def test_nulls_in_the_log_are_left_out(tmp_path):
    run = make_run(tmp_path / "run", num_steps=30)
    empty = {key: None for key in make_entry(60)} | {"step": 60, "seconds": 2.0}
    append_line(run / "metrics.jsonl", empty)
    assert "curves" in figures_in(write_run_report(run).read_text())


def test_warnings_stages_errors_and_measures_are_shown(tmp_path, page):
    run = make_run(tmp_path / "run", num_steps=90)
    add_collapse(run, 91)
    text = write_run_report(run).read_text()
    assert "The weights have collapsed" in text and "Tilt less" in text
    assert "(step 93)" in text and "No warnings" not in text
    assert text.count(">fitting</text>") == 2
    _, usual = page
    assert (
        "No warnings in 100 log entries, 100 of them" in usual
        and ">50th percentile</th>" in usual
    )
    with np.load(run / "fields.npz") as fields:
        true, found = fields["reference u"], fields["u"]
    error = np.linalg.norm(found - true) / np.linalg.norm(true)
    assert f"<td>{error:.3g}</td>" in usual
    assert "gradient signal-to-noise ratio" in usual


def test_report_is_at_the_top_of_the_package():
    assert vrba.write_report is write_report
    with pytest.raises(AttributeError, match="has no attribute `nonesuch`"):
        _ = vrba.nonesuch


def test_report_wants_a_folder():
    with pytest.raises(ValueError, match="this SimpleNamespace has none"):
        write_run_report(SimpleNamespace(run=None))


def test_report_of_a_solution_goes_to_its_folder(tmp_path):
    run = make_run(tmp_path / "run", num_steps=30, diagnosed=False)
    assert write_run_report(SimpleNamespace(run=run)) == run / "report.html"


def test_an_empty_run_has_a_page_without_figures(tmp_path):
    RunFolder(tmp_path).write_manifest(MANIFEST)
    text = write_run_report(tmp_path).read_text()
    assert "No figures: the log is empty." in text and figures_in(text) == []


def test_a_page_without_its_damaged_fields_says_so(tmp_path):
    run = make_run(tmp_path / "run", num_steps=60, diagnosed=False)
    fields = run / "fields.npz"
    fields.write_bytes(fields.read_bytes()[:-99])
    text = write_run_report(run).read_text()
    assert "fields.npz` is incomplete" in text and "left out" in text


def test_command_is_shown(tmp_path, page):
    assert "The run was started from Python; its settings are below." in page[1]
    command = "vrba solve 'my pde.py' --minutes 2"
    run = make_run(tmp_path / "run", num_steps=30, ended=False, command=command)
    shown = "<code>vrba solve &#x27;my pde.py&#x27; --minutes 2</code>"
    assert shown in write_run_report(run).read_text()


def test_a_page_of_its_own_parts(tmp_path):
    """What other rooms write their pages with."""
    curves = plot_curves([{"step": k, "loss": 1.0 / k} for k in range(1, 9)])
    picture = Picture("loss", "Loss & more", "Falls.", curves)
    sections = [
        Section("result", "Result", table([["a", "b"], ["<1>", "2"]])),
        Section("rest", "Rest", bullets(["x < y"]) + code("vrba") + links({"A": "b"})),
    ]
    page = Page("T < 1", paragraph("Head", "result"), sections, [picture])
    path = write_page(page, tmp_path / "out")
    assert path == tmp_path / "out" / PAGE
    text = path.read_text()
    assert "<title>T &lt; 1</title>" in text and figures_in(text) == ["loss"]
    assert "<h3>Loss &amp; more</h3>" in text
    assert '<th scope="row">&lt;1&gt;</th><td>2</td>' in text
    assert '<li>x &lt; y</li></ul><pre><code>vrba</code></pre><a href="b">A</a>' in text
    order = ["result", "figures", "rest"]
    assert re.findall(r'<h2 id="(\w+)">', text) == order
    assert (tmp_path / "out/figures/loss.png").read_bytes().startswith(b"\x89PNG")


def test_page_shows_the_linear_stage_before_and_after(tmp_path):
    step = {
        "num_columns": 1687,
        "estimate": 2.3e-6,
        "noise": 4e-10,
        "is_accepted": True,
        "error": 3.7e-10,
        "residual_l2": 2e-7,
    }
    start = {"error": 2.26e-6, "residual_l2": 1e-3}
    stage = {"is_selected": True, "seconds": 20.0, "steps": [step], "start": start}
    run = make_run(tmp_path / "run")
    header = load_header(RunFolder(run).checkpoint("best"))
    header |= {
        "polish": stage | {"step": 40},
        "estimated_error": 5e-10,
        "estimate_is_reliable": True,
        "before_polish": {"errors": {"selected": 2.2e-6}, "residual_l2": 3e-3},
    }
    save_tree(RunFolder(run).checkpoint("best"), {"weight": np.zeros(3)}, header)
    text = write_run_report(run).read_text()
    for words in ("1,687", "2.26e-06", "3.7e-10", "4e-10", "from 1.00e-03 to 2.00e-07"):
        assert words in text
    assert "estimated relative error is 5.0e-10. The stage took 20 s" in text
    assert "(2.26e-06 before the linear stage)" in text
    header["polish"]["step"] = 0
    save_tree(RunFolder(run).checkpoint("best"), {"weight": np.zeros(3)}, header)
    text = write_run_report(run).read_text()
    assert "(one shot, without training)" in text and "untrained network" in text
    assert 'id="polish"' not in write_run_report(make_run(tmp_path / "b")).read_text()
