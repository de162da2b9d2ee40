"""What is kept of the paper's tables: every figure follows from the runs beside it, and
runs of several sittings are one comparison."""

import copy
import json
import math

import pytest

from benchmarks import results, results_page
from benchmarks.kept_runs import comparisons_of, item_of, joined, runs_of
from vrba.paper import HOW_TO_READ, item_text

NAME, TABLE, FIGURE = "burgers-own", "table2", "figure2"
KEPT = results_page.kept()


@pytest.mark.parametrize("one", KEPT, ids=lambda one: f"{one['name']}-{one['scale']}")
def test_kept_rows_follow_from_kept_runs(one):
    again = item_of(one["name"], one["scale"], comparisons_of([one]))
    assert again["rows"] == one["rows"] and again["comparisons"] == one["comparisons"]


@pytest.mark.parametrize("scale", sorted({one["scale"] for one in KEPT}))
def test_an_experiment_is_the_same_in_all_items(scale):
    some = [one for one in KEPT if one["scale"] == scale]
    known = comparisons_of(some)
    for one in some:
        assert one == item_of(one["name"], scale, known)


def comparison(errors, **changes):
    """Of runs by arm and seed, as an item has it."""
    runs = [
        {
            "method": arm,
            "seed": seed,
            "stop_reason": "steps",
            "step": 7,
            "seconds": 1.0,
            "selected_step": 7,
            "error": {"selected": error, "last": error, "of_reference": 0.0},
            "residual_l2": error,
        }
        for (arm, seed), error in errors.items()
    ]
    arms = list(dict.fromkeys(arm for arm, _ in errors))
    settings = {"command": "solve", "target": "burgers", "param": [], "methods": arms}
    settings |= {"first_seed": 0, "num_seeds": 1, "flags": {"steps": 7}}
    return {
        "settings": settings | {"num_threads": 1} | changes,
        "problem": {"class": "Burgers", "viscosity": 1.0},
        "programs": [{"commit": arm} for arm in arms[:1]],
        "runs": runs,
        "failures": {},
    }


def errors_in(content):
    return {
        (run["method"], run["seed"]): run["error"]["last"] for run in content["runs"]
    }


def test_arms_of_two_sittings_are_one_comparison():
    first = comparison({("uniform", 0): 1e-3, ("rad", 0): 5e-4, ("rad", 1): 1e-5})
    second = comparison({("default", 0): 1e-4, ("rad", 0): 2e-4})
    both = joined(second, first)
    assert errors_in(both) == {
        ("default", 0): 1e-4,
        ("uniform", 0): 1e-3,
        ("rad", 0): 2e-4,
        ("rad", 1): 1e-5,
    }
    assert both["programs"] == [{"commit": "default"}, {"commit": "uniform"}]
    assert both["against_baseline"]["default"]["median"] == pytest.approx(0.1)
    assert any("2 versions of the program" in line for line in both["warnings"])
    assert both["settings"]["num_seeds"] == 2


def test_a_run_that_ended_in_one_sitting_has_not_failed_in_the_other():
    first = comparison({("uniform", 0): 1e-3})
    first["failures"] = {"rad, seed 1": "no memory", "default, seed 0": "no time"}
    second = comparison({("default", 0): 1e-4})
    second["failures"] = {"uniform, seed 0": "stopped", "rba, seed 0": "no such thing"}
    left = {"rad, seed 1": "no memory", "rba, seed 0": "no such thing"}
    assert joined(second, first)["failures"] == left
    assert joined(first, second)["failures"] == left
    failed = {"failures": {"rad, seed 0": "no memory"}}
    assert joined(failed, comparison({("default", 0): 1e-4}))["failures"] == {
        "rad, seed 0": "no memory"
    }
    assert joined(comparison({("default", 0): 1e-4}), failed)["failures"] == {
        "rad, seed 0": "no memory"
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda old: old["settings"].update(flags={"steps": 8}),
        lambda old: old["settings"].update(param=["viscosity=1"]),
        lambda old: old["problem"].update(viscosity=2.0),
    ],
)
def test_runs_of_another_comparison_are_not_taken(change):
    new = comparison({("default", 0): 1e-4})
    old = comparison({("uniform", 0): 1e-3})
    assert len(joined(new, copy.deepcopy(old))["runs"]) == 2
    change(old)
    assert joined(new, old) == new


@pytest.mark.parametrize("flags, count", [({"steps": 7}, 2), ({"minutes": 1.0}, 1)])
def test_of_a_time_threads_must_be_the_same(flags, count):
    new = comparison({("default", 0): 1e-4}, flags=flags, num_threads=8)
    old = comparison({("uniform", 0): 1e-3}, flags=flags)
    assert len(joined(new, old)["runs"]) == count


def test_what_is_said_of_a_problem_may_be_older():
    """Of an equation a setting was added, of data how many are held out."""
    new, old = comparison({("default", 0): 1e-4}), comparison({("uniform", 0): 1e-3})
    new["problem"]["is_periodic"] = False
    assert len(joined(new, old)["runs"]) == 2 == len(joined(old, new)["runs"])
    new = comparison({("default", 0): 1e-4}, command="train")
    old = comparison({("uniform", 0): 1e-3}, command="train")
    new["problem"], old["problem"] = {"inputs": "a", "held_out": 3}, {"inputs": "a"}
    new["runs"][0]["error"]["train"] = 1e-5  # which was not measured before
    assert len(joined(new, old)["runs"]) == 2
    old["problem"]["inputs"] = "b"
    assert len(joined(new, old)["runs"]) == 1


def test_the_file_of_a_problem_that_comes_with_the_package_may_change():
    """Not what it is called and its settings, and not the file of a user's problem."""
    problem = {"name": "Burgers", "is_shipped": True, "source": "a"}
    settings = {"class": "Burgers", "viscosity": 1.0}
    problem["settings"] = settings

    def num_joined(**changes):
        new, old = (
            comparison({("default", 0): 1e-4}),
            comparison({("uniform", 0): 1e-3}),
        )
        new["problem"], old["problem"] = problem | changes, problem
        return len(joined(new, old)["runs"])

    assert num_joined(source="b") == 2
    assert num_joined(settings=settings | {"is_periodic": False}) == 2
    assert num_joined(settings=settings | {"viscosity": 2.0}) == 1
    problem["is_shipped"] = False
    assert num_joined() == 2 and num_joined(source="b") == 1


def test_an_error_that_is_no_number_stays_one():
    """A file has nothing in its place."""
    old = comparison({("uniform", 0): None, ("default", 0): 1e-4})
    even, ours = joined({}, old)["runs"]
    assert even["error"]["last"] == math.inf == even["residual_l2"]
    assert ours["error"]["last"] == 1e-4
    table = item_of(TABLE, "paper", {NAME: joined({}, old)})
    (row,) = [r for r in table["rows"] if r.get("method") == "default" and r["ours"]]
    assert row["gain"] is None and row["ours"]["median"] == 1e-4


@pytest.fixture
def home(tmp_path, monkeypatch):
    for module in (results, results_page):
        monkeypatch.setattr(module, "RESULTS", tmp_path / "kept")
        monkeypatch.setattr(module, "DOCS", tmp_path)
    drawn = tmp_path / "drawn"
    drawn.mkdir()
    return drawn


def test_keeping_adds_to_all_items_and_leaves_fuller_pictures(home, tmp_path):
    name = "burgers-ssbroyden"
    picture, kept = home / f"{name}-comparison.png", tmp_path / "kept" / "paper"
    shown = tmp_path / f"results-paper-figure2-{name}-comparison.png"

    def found(item, *arms):
        one = comparison({(arm, 0): 1e-3 for arm in arms})
        return item_of(item, "paper", {name: joined({}, one)})

    def words(item):
        rows = json.loads((kept / f"{item}.json").read_text())["rows"]
        own = [row for row in rows if row.get("comparison") == name]
        return {row["method"] for row in own if row["ours"]}

    picture.write_bytes(b"two arms")
    results.keep(found(FIGURE, "uniform", "default:quadratic"), home)
    results.keep(found(TABLE, "uniform"), home)
    assert words(FIGURE) == words(TABLE) == {"uniform", "default:quadratic"}
    picture.write_bytes(b"one arm")
    results.keep(found(FIGURE, "rad"), home)
    assert words(FIGURE) == words(TABLE) == {"uniform", "default:quadratic", "rad"}
    assert shown.read_bytes() == b"two arms"
    picture.write_bytes(b"three arms")
    whole = found(FIGURE, "uniform", "default:quadratic", "rad")
    results.keep(whole, home)
    assert shown.read_bytes() == b"three arms"
    other = copy.deepcopy(whole)
    other["comparisons"][name]["settings"]["flags"] = {"steps": 9}
    del other["comparisons"][name]["runs"][1:]
    before = {path: path.read_bytes() for path in kept.iterdir()}
    with pytest.raises(SystemExit, match="quadratic, seed 0; burgers-ssbroyden, rad"):
        results.keep(other, home)
    assert before == {path: path.read_bytes() for path in kept.iterdir()}
    results.keep(other, home, True)
    assert len(runs_of(results_page.kept())) == 1


def test_failures_are_kept_also_where_no_run_has_ended(home, tmp_path):
    failed = {"failures": {"default, seed 0": "no memory"}}
    results.keep(item_of(TABLE, "paper", {NAME: failed}), home)
    (one,) = results_page.kept()
    assert one["name"] == TABLE and one["comparisons"][NAME] == failed
    assert "default, seed 0: no memory" in item_text(one)


def test_pictures_of_one_experiment_stay_while_those_of_another_come(home, tmp_path):
    def keep(name, text):
        one = comparison({("uniform", 0): 1e-3})
        (home / f"{name}-comparison.png").write_bytes(text)
        results.keep(item_of("figure1", "paper", {name: joined({}, one)}), home)
        (home / f"{name}-comparison.png").unlink()

    first, second = "allen-cahn-ssbroyden", "allen-cahn-512"
    shown = lambda name: tmp_path / f"results-paper-figure1-{name}-comparison.png"
    keep(second, b"second")
    keep(first, b"first")
    assert shown(first).read_bytes() == b"first"
    assert shown(second).read_bytes() == b"second"
    (one,) = [one for one in results_page.kept() if one["name"] == "figure1"]
    text = results_page.pictures(one)
    assert (
        "*Allen-Cahn on 512 initial points, self-scaled Broyden, sampling: curves."
        in (text)
    )
    assert text.index(shown(first).name) < text.index(shown(second).name)


def test_tables_come_first_and_figures_have_pictures_only(home, tmp_path):
    one = comparison({("uniform", 0): 1e-3, ("default:quadratic", 0): 1e-4})
    one["programs"] = [{"vrba": "1", "commit": "a", "jax": "2", "device": "cpu"}]
    content = {"burgers-ssbroyden": joined({}, one)}
    (home / "burgers-ssbroyden-comparison.png").write_bytes(b"a picture")
    results.keep(item_of(FIGURE, "paper", content), home)
    text = results_page.page()
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    names = [head.split(",")[0] for head in heads if ", scale" in head]
    assert names == ["## Table 2", "## Table 3", "## Figure 2"]
    figure = text[text.index("## Figure 2") :]
    name = "Burgers, self-scaled Broyden, sampling: curves"
    assert (
        f"![{name}](results-paper-figure2-burgers-ssbroyden-comparison.png)" in figure
    )
    assert f"*{name}. The line is the median over seeds" in figure
    assert "| row" not in figure
    assert " ".join(text.split()).count(HOW_TO_READ) == 1
    assert text.count("Burgers, self-scaled Broyden, sampling:\n- ") == 1
    assert "burgers-ssbroyden: burgers --steps 7\n" in text
    assert "| later revision |" in text and "| 8.2e-9 " in text
