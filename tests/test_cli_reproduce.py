"""`vrba reproduce`: every table and figure, at the smallest scale."""

import json
import os
import statistics
from pathlib import Path

import pytest
from cli_cases import call, children_in_this_process

from vrba.cli import paper
from vrba.cli.paper import Arm, Exhibit, Experiment
from vrba.cli.paper.result import result_of
from vrba.cli.reproduce import known_exhibits
from vrba.report import exhibit_text

pytestmark = pytest.mark.xdist_group("reproduce")  # one folder

EXHIBITS = list(known_exhibits().values())
EXPERIMENTS = {one.name: one for exhibit in EXHIBITS for one in exhibit.experiments}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, before = tmp_path_factory.mktemp("reproduce"), Path.cwd()
    with children_in_this_process():
        os.chdir(path)
        yield path
    os.chdir(before)


@pytest.fixture(scope="module")
def done(folder):
    return call("reproduce", "all", "--scale", "tiny", "--out", "all", "--json")


def read(path):
    return json.loads(Path(path).read_text())


def test_everything_is_made(done, folder):
    code, out, err = done
    assert code == 0, err
    told = json.loads(out.splitlines()[-1])
    names = [one["name"] for one in told["exhibits"]]
    tables, figures = [f"table{k}" for k in range(1, 5)], range(1, 6)
    assert sorted(names) == sorted([*tables, *(f"figure{k}" for k in figures)])
    for exhibit in told["exhibits"]:
        path = folder / "all" / "tiny" / exhibit["name"]
        assert read(path / "result.json") == exhibit
        assert (path / "table.md").read_text() == exhibit_text(exhibit)
        page = (path / "report.html").read_text()
        assert exhibit["title"] in page and "<svg" in page


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_rows_are_those_of_the_runs(done, folder, exhibit):
    result = read(folder / "all" / "tiny" / exhibit.name / "result.json")
    rows = iter(result["rows"])
    for experiment in exhibit.experiments:
        content = read(folder / "all" / "tiny" / experiment.name / "comparison.json")
        for arm in experiment.arms:
            row, (run,) = (
                next(rows),
                [r for r in content["runs"] if r["arm"] == arm.word],
            )
            assert row["published"] == arm.published and row["seeds"] == [0]
            assert row["ours"]["median"] == run["error"]["selected"]
            assert row["last"]["highest"] == run["error"]["last"]
        kept = result["comparisons"][experiment.name]
        assert kept["programs"][0]["device"] == "cpu" and kept["settings"]["flags"]
    assert [row["published"] for row in rows] == [c.published for c in exhibit.cited]


def test_more_seeds_are_added_to_what_is_there(done, folder):
    made = folder / "all" / "tiny" / "burgers-rad" / "rad" / "seed-0" / "recipe.json"
    before = made.stat().st_mtime_ns
    experiment = EXPERIMENTS["burgers-rad"]
    code, _, err = call(
        "compare", "--resume", made.parents[2], "--seeds", "2", "--json"
    )
    assert code == 0, err
    content = read(made.parents[2] / "comparison.json")
    assert [run["seed"] for run in content["runs"]] == [0, 1]
    assert made.stat().st_mtime_ns == before
    code, out, err = call(
        "reproduce", "table2", "--scale", "tiny", "--out", "all", "--table", "--json"
    )
    assert code == 0, err
    (row,) = [
        row
        for row in json.loads(out.splitlines()[-1])["exhibits"][0]["rows"]
        if row.get("word") == "rad" and row["experiment"] == experiment.title
    ]
    errors = [run["error"]["selected"] for run in content["runs"]]
    assert row["seeds"] == [0, 1]
    assert row["ours"]["median"] == statistics.median(errors)
    assert [row["ours"]["lowest"], row["ours"]["highest"]] == sorted(errors)
    code, _, err = call("compare", "--resume", made.parents[2], "--seeds", "1")
    assert code == 2 and "less than the 2" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "Say what to make again"),
        (["table9"], "no table or figure `table9`"),
        (["table3", "--scale", "small"], "no scale `small`"),
        (["table3", "--seeds", "0"], "`--seeds` must be at least 1"),
        (["table3", "--jobs", "0"], "`--jobs` must be at least 1"),
        (["table3", "--table", "--out", "nowhere"], "nothing in `nowhere/laptop`"),
    ],
)
def test_bad_words_are_refused(folder, words, text):
    code, out, err = call("reproduce", *words)
    assert code == 2 and not out and text in err
    assert not Path("runs").exists()


def test_gains_and_ratios_by_hand():
    arms = (
        Arm("old", "Baseline", 8e-2),
        Arm("uniform", "Fair"),
        Arm("new", "New", 1e-2),
    )
    scales = dict.fromkeys(paper.SCALES, {})
    experiment = Experiment("one", "One", "burgers", arms, scales)
    spread = lambda value: dict.fromkeys(("median", "lowest", "highest"), value)
    found = {"old": 6e-2, "uniform": 3e-2, "new": 2e-2}
    each = {arm: {"selected": spread(e), "last": spread(e)} for arm, e in found.items()}
    runs = [{"arm": arm, "seed": 4} for arm in found]
    content = {"arms": each, "runs": runs, "floor": 0.0}
    result = result_of(Exhibit("t", "T", (experiment,)), "tiny", {"one": content})
    old, fair, new = result["rows"]
    assert new["published_gain"] == pytest.approx(8) and fair["published_gain"] is None
    assert new["gain"] == pytest.approx(3) and new["fair_gain"] == pytest.approx(1.5)
    assert new["to_published"] == pytest.approx(2) and old["gain"] == 1
    line = exhibit_text(result).splitlines()[-3]
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    assert cells[:9] == [
        "One",
        "New",
        "1.0e-2",
        "2.0e-2",
        "2.0e-2",
        "2",
        "8",
        "3",
        "1.5",
    ]


def test_arms_that_have_not_ended_leave_their_cells_empty():
    experiment = EXPERIMENTS["bubble"]
    exhibit = Exhibit("t", "T", (experiment,))
    result = result_of(exhibit, "paper", {"bubble": {"arms": {}, "runs": []}})
    assert all(row["ours"] is None and row["gain"] is None for row in result["rows"])
    assert "| 7.4e-2" in exhibit_text(result)


def test_an_experiment_needs_every_scale():
    with pytest.raises(ValueError, match="`scales` must be"):
        Experiment("one", "One", "burgers", (), {"tiny": {}})
