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

from tests.compare.cases import call, runs_in_this_process
from tests.report.run_cases import make_run
from vrba import paper
from vrba.compare import ComparisonFolder, Made
from vrba.paper import (
    Experiment,
    PaperItem,
    PaperRow,
    item_text,
    known_experiments,
    known_items,
    published_curves,
    reproduction,
    result_of,
    write_item_page,
)

ITEMS = list(known_items().values())
EXPERIMENTS = known_experiments()
OPERATORS = {name for name, one in EXPERIMENTS.items() if one.is_data}
PARTS = {"operators": OPERATORS, "problems": set(EXPERIMENTS) - OPERATORS}
GROUPS = {part: pytest.mark.xdist_group(f"reproduce {part}") for part in PARTS}


def part_of(item):
    (part,) = [
        part
        for part, names in PARTS.items()
        if names.issuperset(one.name for one in item.experiments)
    ]
    return part


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, before = tmp_path_factory.mktemp("reproduce"), Path.cwd()
    with runs_in_this_process():
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


def titles_of(item):
    return {row["experiment"] for row in item["rows"]}


def read(path):
    return json.loads(Path(path).read_text())


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, marks=[group, pytest.mark.slow])
        for part, group in GROUPS.items()
    ],
)
def test_everything_is_made(make, folder, part):
    code, out, err = make(part)
    assert code == 0, err
    told = {one["name"]: one for one in json.loads(out.splitlines()[-1])["items"]}
    tables, figures = [f"table{k}" for k in range(1, 5)], range(1, 6)
    assert sorted(told) == sorted([*tables, *(f"figure{k}" for k in figures)])
    for one in [one for one in ITEMS if part_of(one) == part]:
        item, path = told[one.name], folder / "all" / "tiny" / one.name
        assert read(path / "result.json") == item
        assert (path / "table.md").read_text() == item_text(item)
        page = (path / "report.html").read_text()
        assert item["title"] in page
        assert page.count('<table class="results">') == len(titles_of(item))
        for experiment in one.experiments:  # each has its own page, and its own table
            assert f">{experiment.title}</a>" in page
            assert f"<p>{experiment.title}:</p>" in page
        assert ("<svg" in page) == (part == "operators")  # others end before a check


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(one, marks=[GROUPS[part_of(one)], pytest.mark.slow], id=one.name)
        for one in ITEMS
    ],
)
def test_rows_are_those_of_the_runs(make, folder, item):
    make(part_of(item))
    result = read(folder / "all" / "tiny" / item.name / "result.json")
    rows = iter(result["rows"])
    for experiment in item.experiments:
        content = read(folder / "all" / "tiny" / experiment.name / "comparison.json")
        for arm in experiment.rows:
            row, (run,) = (
                next(rows),
                [r for r in content["runs"] if r["method"] == arm.method],
            )
            assert row["published"] == arm.published and row["seeds"] == [0]
            assert row["ours"]["median"] == run["error"]["selected"]
            assert row["last"]["highest"] == run["error"]["last"]
        kept = result["comparisons"][experiment.name]
        assert kept["programs"][0]["device"] == "cpu" and kept["settings"]["flags"]
        assert "commit" in kept["programs"][0]
        assert all(run["seconds"] > 0 and run["seed"] == 0 for run in kept["runs"])
    assert [row["published"] for row in rows] == [c.published for c in item.cited]


@pytest.mark.slow
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
    assert code == 0 and "has 2 seeds already" in err
    (row,) = [
        row
        for row in json.loads(out.splitlines()[-1])["items"][0]["rows"]
        if row.get("method") == "default" and row["experiment"].startswith("Burgers")
    ]
    errors = {
        (run["method"], run["seed"]): run["error"]["selected"]
        for run in content["runs"]
    }
    ours = [errors["default", seed] for seed in (0, 1)]
    assert row["seeds"] == [0, 1] and row["ours"]["median"] == statistics.median(ours)
    assert [row["ours"]["lowest"], row["ours"]["highest"]] == sorted(ours)
    gains = [errors["uniform", seed] / errors["default", seed] for seed in (0, 1)]
    assert row["gain"] == pytest.approx(statistics.geometric_mean(gains))
    code, _, err = call("compare", "--resume", path, "--seeds", "1")
    assert code == 2 and "less than the 2" in err


@pytest.mark.slow
@GROUPS["problems"]
def test_a_row_is_added_to_a_folder_that_lacks_it(done, folder):
    path = folder / "all" / "tiny" / "burgers-own"
    (there, problem), seeds = ComparisonFolder(path).read(), {"num_seeds": 1}
    before = (path / "comparison.json").read_text()
    shutil.move(path / "default", folder / "vrba-moved")
    fewer = dataclasses.replace(there, methods=("uniform",), **seeds)
    ComparisonFolder(path).write(fewer, problem, {})
    words = ["table2", "--scale", "tiny", "--out", "all", "--json"]
    code, _, err = call("reproduce", *words)
    assert code == 0, err
    runs = {
        (run["method"], run["seed"]) for run in read(path / "comparison.json")["runs"]
    }
    assert runs == {("uniform", 0), ("default", 0)}
    shutil.rmtree(path / "default")
    shutil.move(folder / "vrba-moved", path / "default")
    (path / "comparison.json").write_text(before)


@GROUPS["problems"]
def test_only_some_rows_are_made(folder):
    words = ["table2", "--scale", "tiny", "--out", "some", "--json"]
    code, out, err = call("reproduce", *words, "--only", "default")
    assert code == 0, err
    rows = json.loads(out.splitlines()[-1])["items"][0]["rows"]
    made = {row["method"]: row["ours"] is not None for row in rows if "method" in row}
    assert {word for word, is_made in made.items() if is_made} == {"default"}
    assert not (folder / "some" / "tiny" / "burgers-ssbroyden").exists()
    assert (folder / "some" / "tiny" / "burgers-own" / "default").exists()
    assert not (folder / "some" / "tiny" / "burgers-own" / "uniform").exists()


@pytest.mark.parametrize(
    ("only", "made"),
    [
        ("burgers-own", {("burgers-own", "uniform"), ("burgers-own", "default")}),
        ("uniform, burgers-own", {("burgers-own", "uniform")}),
        ("Default", {("burgers-own", "default"), ("allen-cahn-own", "default")}),
    ],
)
def test_only_some_experiments_are_made(folder, monkeypatch, only, made):
    words = ["table2", "--scale", "tiny", "--out", "never", "--only", only]
    assert asked_for(monkeypatch, *words) == made


def test_all_of_everything_is_made_unless_told(folder, monkeypatch):
    found = asked_for(monkeypatch, "all", "--out", "never")
    every = [(one.name, arm.method) for one in EXPERIMENTS.values() for arm in one.rows]
    assert found == set(every)


def asked_for(monkeypatch, *words):
    """The methods that a command would run, by experiment."""
    calls = []

    def compared(experiment, scale, folder, methods, seeds, jobs):
        calls.append((experiment.name, methods))
        return Made(folder, {"failures": {}}, False)

    monkeypatch.setattr(reproduction, "_compared", compared)
    assert call("reproduce", *words)[0] == 2  # nothing is there to make a table of
    return {(name, one) for name, methods in calls for one in methods.split(",")}


@pytest.mark.slow
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


@pytest.mark.slow
@GROUPS["problems"]
def test_failures_are_told_and_not_lost(done, folder):
    path = folder / "all" / "tiny" / "burgers-own" / "comparison.json"
    before = path.read_text()
    content = json.loads(before) | {"failures": {"default, seed 7": "no memory"}}
    path.write_text(json.dumps(content))
    words = ["table2", "--scale", "tiny", "--out", "all", "--table"]
    for _ in range(2):  # written again, it is still there
        code, out, _ = call("reproduce", *words)
        assert code == 1 and "- default, seed 7: no memory\n" in out
    page = folder / "all" / "tiny" / "table2" / "report.html"
    assert "default, seed 7: no memory" in page.read_text()
    path.write_text(before)


@pytest.mark.slow
@GROUPS["problems"]
def test_a_stop_leaves_a_table_of_what_is_done(done, folder, monkeypatch):
    """The first comparison is stopped, and the others are only looked at."""
    calls = []

    def stopped(experiment, scale, folder, *others):
        calls.append(experiment.name)
        return Made(folder, folder.write(*folder.read(), {}), True)

    monkeypatch.setattr(reproduction, "_compared", stopped)
    code, out, err = call("reproduce", "table1", "--scale", "tiny", "--out", "all")
    assert code == 130 and len(calls) == 1
    assert re.search(r"\| Allen-Cahn, self-scaled Broyden, sampling +\| Quadratic", out)
    assert "Resume with: vrba reproduce table1 --scale tiny --out all\n" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "Name a table or a figure to reproduce"),
        (["table9"], "no table or figure `table9`"),
        (["table3", "--scale", "small"], "no scale `small`"),
        (["table3", "--seeds", "0"], "`--seeds` must be at least 1"),
        (["table3", "--jobs", "0"], "`--jobs` must be at least 1"),
        (["table3", "--only", " , "], "Name one method or experiment, or several: "),
        (["table3", "--only", "rad", "--table"], "leave one out"),
        (
            ["table3", "--only", "default:quadratik"],
            "Did you mean `default:quadratic`?",
        ),
        (["table2", "--only", "burgers-own,uniform,rad"], "names rad, which none"),
        (["table3", "--table", "--out", "nowhere"], "no results in `nowhere/laptop`"),
    ],
)
def test_bad_words_are_refused(folder, words, text):
    code, out, err = call("reproduce", *words)
    assert code == 2 and not out and text in err
    assert not Path("runs").exists()


def test_gains_and_ratios_by_hand():
    arms = (
        PaperRow("old", "Baseline", 8e-2),
        PaperRow("uniform", "Fair"),
        PaperRow("new", "New", 1e-2),
    )
    scales = dict.fromkeys(paper.SCALES, {})
    experiment = Experiment("one", "One", "burgers", arms, scales)
    spread = lambda value: dict.fromkeys(("median", "lowest", "highest"), value)
    found = {"old": 6e-2, "uniform": 3e-2, "new": 2e-2}
    each = {arm: {"selected": spread(e), "last": spread(e)} for arm, e in found.items()}
    each["new"]["last"] = spread(4e-2)
    last = found | {"new": 4e-2}
    runs = [
        {"method": arm, "seed": 4, "error": {"selected": e, "last": last[arm]}}
        for arm, e in found.items()
    ]
    runs.append(
        {"method": "of old", "seed": 4, "error": {"selected": 1.0, "last": 1.0}}
    )
    content = {"methods": each, "runs": runs, "floor": 0.0}
    result = result_of(PaperItem("t1", "T", (experiment,)), "paper", {"one": content})
    old, fair, new = result["rows"]
    assert new["published_gain"] == pytest.approx(8) and fair["published_gain"] is None
    assert new["gain"] == pytest.approx(3) and new["fair_gain"] == pytest.approx(1.5)
    assert new["last_gain"] == pytest.approx(1.5) and old["gain"] == 1
    line = item_text(result).splitlines()[-3]
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    numbers = ["1.0e-2", "2.0e-2", "4.0e-2", "2", "4", "8", "3", "1.5", "1.5"]
    assert cells[:12] == ["One", "New", "new", *numbers]


def test_arms_that_have_not_ended_leave_their_cells_empty():
    experiment = EXPERIMENTS["bubble"]
    item = PaperItem("t", "T", (experiment,))
    result = result_of(item, "paper", {"bubble": {"methods": {}, "runs": []}})
    assert all(row["ours"] is None and row["gain"] is None for row in result["rows"])
    assert "| 7.4e-2" in item_text(result)


CURVES = {path.stem for path in (Path(paper.__file__).parent / "curves").iterdir()}


@pytest.mark.parametrize("name", sorted(CURVES))
def test_published_curves_end_at_the_published_error(name):
    experiment, found = EXPERIMENTS[name], published_curves(name)
    published = {arm.method: arm.published for arm in experiment.rows}
    steps_of = {"bubble": 240_000, "kolmogorov": 40_000, "wave": 204_000}
    num_steps = experiment.scales["paper"].get("steps") or steps_of[name]
    is_noisy = name.endswith("ssbroyden")  # its late errors scatter by a factor of ten
    assert found.source
    for word, curve in found.methods.items():
        steps, errors = zip(*curve, strict=True)
        assert all(one < other for one, other in itertools.pairwise(steps))
        assert all(0 < error <= 1 for error in errors)
        assert 0.85 * num_steps < steps[-1] <= num_steps
        off = errors[-1] / published[word]
        assert (0.4 if is_noisy else 0.93) < off < (2 if is_noisy else 1.07)


def test_experiments_that_are_alike_have_the_same_published_arms():
    alike = [one for one in EXPERIMENTS.values() if one.same_curves_as is not None]
    assert alike
    for one in alike:
        assert one.rows == EXPERIMENTS[one.same_curves_as].rows
        contents = {one.name: {"methods": {}, "runs": []}}
        rows = result_of(PaperItem("t", "T", (one,)), "paper", contents)["rows"]
        found = {row["method"]: row["curve"] for row in rows if "curve" in row}
        assert found == published_curves(one.same_curves_as).methods


@pytest.mark.parametrize("name", ["allen-cahn-ssbroyden", "allen-cahn-512"])
def test_published_arms_of_allen_cahn_cross_where_the_page_says_so(name):
    experiment = EXPERIMENTS[name]
    found = published_curves(experiment.same_curves_as or name)
    curves = {word: dict(curve) for word, curve in found.methods.items()}
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
    assert found.methods.keys() == left_after.keys()
    (line,) = [line for line in experiment.differences if "published curves" in line]
    for word, count in left_after.items():
        before = [error for step, error in found.methods[word] if step < 0.6 * count]
        after = [error for step, error in found.methods[word] if step >= count]
        assert min(before) > 0.5 > 0.05 > max(after) and f"{count:,}" in line
    for scale in ("laptop", "paper"):
        assert f"{experiment.scales[scale]['steps']:,}" in line


def test_what_was_not_published_has_no_curve():
    assert published_curves("burgers-own") is None


@pytest.mark.slow
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
            PaperItem("t", "T", (EXPERIMENTS[name],)), scale, {name: content}
        )
        page = write_item_page(result, [path], (), tmp_path / "page")
        return "thin and in the colour of their method" in page.read_text()

    assert not has_curves("paper")  # nothing is logged yet
    for arm in content["settings"]["methods"]:
        make_run(ComparisonFolder(path).run_folder(arm, 0))
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
    assert "| not finite [1.0e-3, not finite] |" in item_text(content)
    spread = {"median": math.inf, "lowest": math.inf, "highest": math.inf}
    runs = [
        {"method": arm, "seed": 0, "error": {"selected": error, "last": error}}
        for arm, error in {"uniform": 1e-3, "default": math.inf}.items()
    ]
    found = {"methods": {"default": {"selected": spread}}, "runs": runs}
    item = PaperItem("t", "T", (experiment,))
    result = result_of(item, "tiny", {experiment.name: found})
    assert result["rows"][1]["gain"] == 0.0 == result["rows"][1]["last_gain"]
