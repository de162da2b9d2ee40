"""`vrba reproduce`: every table and figure, at the smallest scale."""

import dataclasses
import functools
import itertools
import json
import math
import os
import re
import shutil
import statistics
from pathlib import Path

import pytest
from vrba.cli.comparison import ComparisonFolder
from vrba.cli.paper import Arm, Exhibit, Experiment
from vrba.cli.paper.published import published_curves
from vrba.cli.paper.result import result_of
from vrba.cli.reproduce import known_exhibits
from vrba.report.summary import run_of

from tests.cli.cases import call, children_in_this_process
from tests.report.run_cases import make_run
from vrba.cli import paper, reproduce
from vrba.cli.compare import Outcome
from vrba.report import exhibit_text, write_exhibit

EXHIBITS = list(known_exhibits().values())
EXPERIMENTS = {one.name: one for exhibit in EXHIBITS for one in exhibit.experiments}
OPERATORS = {one.name for one in paper.TABLE4.experiments}
PARTS = {"operators": OPERATORS, "problems": set(EXPERIMENTS) - OPERATORS}
GROUPS = {part: pytest.mark.xdist_group(f"reproduce {part}") for part in PARTS}


def part_of(exhibit):
    (part,) = [
        part
        for part, names in PARTS.items()
        if names.issuperset(one.name for one in exhibit.experiments)
    ]
    return part


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, before = tmp_path_factory.mktemp("reproduce"), Path.cwd()
    with children_in_this_process():
        os.chdir(path)
        yield path
    os.chdir(before)


@pytest.fixture(scope="module")
def make(folder):
    """Makes all that the paper shows of operators, or of problems, once: each worker
    has a part."""
    words = ["reproduce", "all", "--scale", "tiny", "--out", "all", "--json"]
    return functools.cache(
        lambda part: call(*words, "--only", ",".join(sorted(PARTS[part])))
    )


@pytest.fixture
def done(make):
    """Problems."""
    return make("problems")


def titles_of(exhibit):
    return {row["experiment"] for row in exhibit["rows"]}


def read(path):
    return json.loads(Path(path).read_text())


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=group) for part, group in GROUPS.items()]
)
def test_everything_is_made(make, folder, part):
    code, out, err = make(part)
    assert code == 0, err
    told = {one["name"]: one for one in json.loads(out.splitlines()[-1])["exhibits"]}
    tables, figures = [f"table{k}" for k in range(1, 5)], range(1, 6)
    assert sorted(told) == sorted([*tables, *(f"figure{k}" for k in figures)])
    for one in [one for one in EXHIBITS if part_of(one) == part]:
        exhibit, path = told[one.name], folder / "all" / "tiny" / one.name
        assert read(path / "result.json") == exhibit
        assert (path / "table.md").read_text() == exhibit_text(exhibit)
        page = (path / "report.html").read_text()
        assert exhibit["title"] in page
        assert page.count('<table class="results">') == len(titles_of(exhibit))
        for experiment in one.experiments:  # each has its own page, and its own table
            assert f">{experiment.title}</a>" in page
            assert f"<p>{experiment.title}:</p>" in page
        assert ("<svg" in page) == (part == "operators")  # others end before a check


@pytest.mark.parametrize(
    "exhibit",
    [pytest.param(one, marks=GROUPS[part_of(one)], id=one.name) for one in EXHIBITS],
)
def test_rows_are_those_of_the_runs(make, folder, exhibit):
    make(part_of(exhibit))
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
        assert "commit" in kept["programs"][0]
        assert all(run["seconds"] > 0 and run["seed"] == 0 for run in kept["runs"])
    assert [row["published"] for row in rows] == [c.published for c in exhibit.cited]


@GROUPS["problems"]
def test_more_seeds_are_added_to_what_is_there(done, folder):
    path = folder / "all" / "tiny" / "burgers-own"
    made = path / "default" / "seed-0" / "recipe.json"
    before, words = made.stat().st_mtime_ns, ["--scale", "tiny", "--out", "all"]
    code, out, err = call("compare", "--resume", path, "--seeds", "2", "--json")
    assert code == 0, err
    content = read(path / "comparison.json")
    assert sorted({run["seed"] for run in content["runs"]}) == [0, 1]
    assert made.stat().st_mtime_ns == before
    code, out, err = call("reproduce", "table2", *words, "--json")
    assert code == 0 and "was begun with 2 seeds" in err
    (row,) = [
        row
        for row in json.loads(out.splitlines()[-1])["exhibits"][0]["rows"]
        if row.get("word") == "default" and row["experiment"].startswith("Burgers")
    ]
    errors = {
        (run["arm"], run["seed"]): run["error"]["selected"] for run in content["runs"]
    }
    ours = [errors["default", seed] for seed in (0, 1)]
    assert row["seeds"] == [0, 1] and row["ours"]["median"] == statistics.median(ours)
    assert [row["ours"]["lowest"], row["ours"]["highest"]] == sorted(ours)
    gains = [errors["uniform", seed] / errors["default", seed] for seed in (0, 1)]
    assert row["gain"] == pytest.approx(statistics.geometric_mean(gains))
    code, _, err = call("compare", "--resume", path, "--seeds", "1")
    assert code == 2 and "less than the 2" in err


@GROUPS["problems"]
def test_a_row_is_added_to_a_folder_that_lacks_it(done, folder):
    path = folder / "all" / "tiny" / "burgers-own"
    (there, problem), seeds = ComparisonFolder(path).read(), {"num_seeds": 1}
    before = (path / "comparison.json").read_text()
    shutil.move(path / "default", folder / "vrba-moved")
    fewer = dataclasses.replace(there, arms=("uniform",), **seeds)
    ComparisonFolder(path).write(fewer, problem, {})
    words = ["table2", "--scale", "tiny", "--out", "all", "--json"]
    code, _, err = call("reproduce", *words)
    assert code == 0, err
    runs = {(run["arm"], run["seed"]) for run in read(path / "comparison.json")["runs"]}
    assert runs == {("uniform", 0), ("vrba", 0)}
    shutil.rmtree(path / "default")
    shutil.move(folder / "vrba-moved", path / "default")
    (path / "comparison.json").write_text(before)


@GROUPS["problems"]
def test_only_some_rows_are_made(folder):
    words = ["table2", "--scale", "tiny", "--out", "some", "--json"]
    code, out, err = call("reproduce", *words, "--only", "vrba")
    assert code == 0, err
    rows = json.loads(out.splitlines()[-1])["exhibits"][0]["rows"]
    made = {row["word"]: row["ours"] is not None for row in rows if "word" in row}
    assert {word for word, is_made in made.items() if is_made} == {"vrba"}
    assert not (folder / "some" / "tiny" / "burgers-ssbroyden").exists()
    assert (folder / "some" / "tiny" / "burgers-own" / "default").exists()
    assert not (folder / "some" / "tiny" / "burgers-own" / "uniform").exists()


@pytest.mark.parametrize(
    ("only", "made"),
    [
        ("burgers-own", {("burgers-own", "uniform"), ("burgers-own", "vrba")}),
        ("uniform, burgers-own", {("burgers-own", "uniform")}),
        ("VRBA", {("burgers-own", "vrba"), ("allen-cahn-own", "vrba")}),
    ],
)
def test_only_some_experiments_are_made(folder, monkeypatch, only, made):
    words = ["table2", "--scale", "tiny", "--out", "never", "--only", only]
    assert asked_for(monkeypatch, *words) == made


def test_all_of_everything_is_made_unless_told(folder, monkeypatch):
    found = asked_for(monkeypatch, "all", "--out", "never")
    every = [(one.name, arm.word) for one in EXPERIMENTS.values() for arm in one.arms]
    assert found == set(every)


def asked_for(monkeypatch, *words):
    """The arms that a command would make, by experiment."""
    calls = []

    def carried_out(flags):
        calls.append(flags)
        return Outcome(ComparisonFolder(flags.out), {"failures": {}}, False)

    monkeypatch.setattr(reproduce, "carry_out", carried_out)
    assert call("reproduce", *words)[0] == 2  # nothing is there to make a table of
    return {(one.out.name, arm) for one in calls for arm in one.only.split(",")}


@GROUPS["problems"]
def test_another_experiment_in_the_folder_is_refused(done, folder):
    path = folder / "all" / "tiny" / "burgers-own" / "comparison.json"
    content = path.read_text()
    path.write_text(content.replace('"points": 64', '"points": 65'))
    code, out, err = call(
        "reproduce", "table2", "--scale", "tiny", "--out", "all", "--json"
    )
    path.write_text(content)
    assert code == 2 and not out and "was begun with other flags" in err


@GROUPS["problems"]
def test_failures_are_told_and_not_lost(done, folder):
    path = folder / "all" / "tiny" / "burgers-own" / "comparison.json"
    before = path.read_text()
    content = json.loads(before) | {"failures": {"vrba, seed 7": "no memory"}}
    path.write_text(json.dumps(content))
    words = ["table2", "--scale", "tiny", "--out", "all", "--table"]
    for _ in range(2):  # written again, it is still there
        code, out, _ = call("reproduce", *words)
        assert code == 1 and "- vrba, seed 7: no memory\n" in out
    page = folder / "all" / "tiny" / "table2" / "report.html"
    assert "vrba, seed 7: no memory" in page.read_text()
    path.write_text(before)


@GROUPS["problems"]
def test_a_stop_leaves_a_table_of_what_is_done(done, folder, monkeypatch):
    """The first comparison is stopped, and the others are only looked at."""
    calls = []

    def stopped(flags):
        calls.append(flags)
        there = ComparisonFolder(flags.resume)
        return Outcome(there, there.write(*there.read(), {}), True)

    monkeypatch.setattr(reproduce, "carry_out", stopped)
    code, out, err = call("reproduce", "table1", "--scale", "tiny", "--out", "all")
    assert code == 130 and len(calls) == 1
    assert re.search(r"\| Allen-Cahn, self-scaled Broyden, sampling +\| Quadratic", out)
    assert "To go on: vrba reproduce table1 --scale tiny --out all\n" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "Say what to make again"),
        (["table9"], "no table or figure `table9`"),
        (["table3", "--scale", "small"], "no scale `small`"),
        (["table3", "--seeds", "0"], "`--seeds` must be at least 1"),
        (["table3", "--jobs", "0"], "`--jobs` must be at least 1"),
        (["table3", "--only", " , "], "Name one arm or experiment, or several: "),
        (["table3", "--only", "rad", "--table"], "leave one out"),
        (["table3", "--only", "vrba:quadratik"], "Did you mean `default:quadratic`?"),
        (["table2", "--only", "burgers-own,uniform,rad"], "names rad, which no"),
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
    each["new"]["last"] = spread(4e-2)
    last = found | {"new": 4e-2}
    runs = [
        {"arm": arm, "seed": 4, "error": {"selected": e, "last": last[arm]}}
        for arm, e in found.items()
    ]
    runs.append({"arm": "of old", "seed": 4, "error": {"selected": 1.0, "last": 1.0}})
    content = {"arms": each, "runs": runs, "floor": 0.0}
    result = result_of(Exhibit("t1", "T", (experiment,)), "paper", {"one": content})
    old, fair, new = result["rows"]
    assert new["published_gain"] == pytest.approx(8) and fair["published_gain"] is None
    assert new["gain"] == pytest.approx(3) and new["fair_gain"] == pytest.approx(1.5)
    assert new["last_gain"] == pytest.approx(1.5) and old["gain"] == 1
    line = exhibit_text(result).splitlines()[-3]
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    numbers = ["1.0e-2", "2.0e-2", "4.0e-2", "2", "4", "8", "3", "1.5", "1.5"]
    assert cells[:12] == ["One", "New", "new", *numbers]


def test_arms_that_have_not_ended_leave_their_cells_empty():
    experiment = EXPERIMENTS["bubble"]
    exhibit = Exhibit("t", "T", (experiment,))
    result = result_of(exhibit, "paper", {"bubble": {"arms": {}, "runs": []}})
    assert all(row["ours"] is None and row["gain"] is None for row in result["rows"])
    assert "| 7.4e-2" in exhibit_text(result)


CURVES = {path.stem for path in (Path(paper.__file__).parent / "curves").iterdir()}


@pytest.mark.parametrize("name", sorted(CURVES))
def test_published_curves_end_at_the_published_error(name):
    experiment, found = EXPERIMENTS[name], published_curves(name)
    published = {arm.word: arm.published for arm in experiment.arms}
    steps_of = {"bubble": 240_000, "kolmogorov": 40_000, "wave": 204_000}
    num_steps = experiment.scales["paper"].get("steps") or steps_of[name]
    is_noisy = name.endswith("ssbroyden")  # its late errors scatter by a factor of ten
    assert found.source
    for word, curve in found.arms.items():
        steps, errors = zip(*curve, strict=True)
        assert all(one < other for one, other in itertools.pairwise(steps))
        assert all(0 < error <= 1 for error in errors)
        assert 0.85 * num_steps < steps[-1] <= num_steps
        off = errors[-1] / published[word]
        assert (0.4 if is_noisy else 0.93) < off < (2 if is_noisy else 1.07)


def test_experiments_that_are_alike_have_the_same_published_arms():
    alike = [one for one in EXPERIMENTS.values() if one.like is not None]
    assert alike
    for one in alike:
        assert one.arms == EXPERIMENTS[one.like].arms
        contents = {one.name: {"arms": {}, "runs": []}}
        rows = result_of(Exhibit("t", "T", (one,)), "paper", contents)["rows"]
        found = {row["word"]: row["curve"] for row in rows if "curve" in row}
        assert found == published_curves(one.like).arms


@pytest.mark.parametrize("name", ["allen-cahn-ssbroyden", "allen-cahn-512"])
def test_published_arms_of_allen_cahn_cross_where_the_page_says_so(name):
    experiment = EXPERIMENTS[name]
    found = published_curves(experiment.like or name)
    curves = {word: dict(curve) for word, curve in found.arms.items()}
    even = curves.pop("uniform")
    assert curves.keys() == {"default:quadratic", "default:exponential"}
    late = [step for step in even if step >= 12_500]
    for curve in curves.values():
        assert curve[10_000] > even[10_000]
        assert all(curve[step] < even[step] for step in late if step in curve)
    (line,) = [line for line in experiment.differences if "published curves" in line]
    for count in (10_000, 12_500, experiment.scales["laptop"]["steps"]):
        assert f"{count:,}" in line


def test_published_arms_of_adam_leave_the_plateau_where_the_page_says_so():
    name = "allen-cahn-adam"
    found, experiment = published_curves(name), EXPERIMENTS[name]
    left_after = {
        "uniform": 60_000,
        "default:quadratic": 15_000,
        "default:exponential": 15_000,
    }
    assert found.arms.keys() == left_after.keys()
    (line,) = [line for line in experiment.differences if "published curves" in line]
    for word, count in left_after.items():
        before = [error for step, error in found.arms[word] if step < 0.6 * count]
        after = [error for step, error in found.arms[word] if step >= count]
        assert min(before) > 0.5 > 0.05 > max(after) and f"{count:,}" in line
    for scale in ("laptop", "paper"):
        assert f"{experiment.scales[scale]['steps']:,}" in line


def test_what_was_not_published_has_no_curve():
    assert published_curves("burgers-own") is None


@GROUPS["problems"]
def test_published_curves_stand_beside_ours_at_the_published_scale(
    done, folder, tmp_path
):
    name = "burgers-ssbroyden"
    made, path = folder / "all" / "tiny" / name, tmp_path / name
    path.mkdir()
    shutil.copyfile(made / "comparison.json", path / "comparison.json")
    content = read(path / "comparison.json")

    def has_curves(scale):
        result = result_of(
            Exhibit("t", "T", (EXPERIMENTS[name],)), scale, {name: content}
        )
        page = write_exhibit(result, [path], (), tmp_path / "page")
        return "thin and in the colour of their arm" in page.read_text()

    assert not has_curves("paper")  # nothing is logged yet
    for arm in content["settings"]["arms"]:
        make_run(run_of(path, arm, 0))
    assert has_curves("paper")
    assert not has_curves("tiny")


def test_an_experiment_needs_every_scale():
    with pytest.raises(ValueError, match="`scales` must be"):
        Experiment("one", "One", "burgers", (), {"tiny": {}})


def test_what_is_not_finite_is_told():
    """A file has nothing in its place."""
    experiment = EXPERIMENTS["burgers-own"]
    ends = {"median": None, "lowest": 1e-3, "highest": None}
    row = {"experiment": "One", "label": "Arm", "published": None, "ours": ends}
    content = {"name": "t", "title": "T", "scale": "tiny", "rows": [row]}
    content |= {"differences": {}, "comparisons": {}}
    assert "| not finite [1.0e-3, not finite] |" in exhibit_text(content)
    spread = {"median": math.inf, "lowest": math.inf, "highest": math.inf}
    runs = [
        {"arm": arm, "seed": 0, "error": {"selected": error, "last": error}}
        for arm, error in {"uniform": 1e-3, "vrba": math.inf}.items()
    ]
    found = {"arms": {"vrba": {"selected": spread}}, "runs": runs}
    exhibit = Exhibit("t", "T", (experiment,))
    result = result_of(exhibit, "tiny", {experiment.name: found})
    assert result["rows"][1]["gain"] == 0.0 == result["rows"][1]["last_gain"]
