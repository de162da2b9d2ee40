"""What benchmarks say of runs: errors at a time, who is ahead, where we are worse."""

import ast
import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import (
    CASES,
    results_page,
    scaling,
    shelf,
    shortcomings,
    study_page,
    variants,
)
from benchmarks import study as study_module
from benchmarks.commit import commit_of
from benchmarks.peers import figure, page
from benchmarks.peers.arms import ARMS
from benchmarks.peers.results import (
    MOST_POINTS,
    error_at,
    keep,
    summary,
    thinned,
    told_of,
)
from benchmarks.peers.runs import Settings, run_all
from benchmarks.study import Group, Study
from vrba.paper import known_experiments
from vrba.pinn import Recipe
from vrba.problems import Burgers

PEER = next(arm for arm in ARMS if not arm.is_own)
OWN = next(arm for arm in ARMS if arm.name == page.OWN)


def entries(*pairs):
    return [{"seconds": s, "step": k, "error": e} for k, (s, e) in enumerate(pairs)]


def test_error_at_a_time_does_not_depend_on_when_an_arm_measures():
    every = entries(*((float(k), 2.0**-k) for k in range(1, 20)))
    for found in (every, every[::3], [every[0], every[-1]]):
        assert error_at(found, 7.5) == pytest.approx(2.0**-7.5, rel=1e-12)
        assert error_at(found, 30.0) == every[-1]["error"]
    assert error_at(every, 0.5) is None
    assert error_at(every, 1.0) == 0.5


def test_error_at_a_time_is_none_after_what_is_no_number():
    found = entries((1.0, 0.5), (2.0, math.nan), (3.0, 0.1))
    assert error_at(found, 1.5) == 0.5 and error_at(found, 2.5) is None
    assert error_at(found, 3.0) == 0.1


@given(st.integers(1, 400))
def test_thin_curves_keep_their_ends(count):
    found = thinned(entries(*((float(k), 1.0) for k in range(count))))
    seconds = [entry["seconds"] for entry in found]
    assert len(seconds) == min(count, MOST_POINTS)
    assert seconds[0] == 0 and seconds[-1] == count - 1
    assert seconds == sorted(set(seconds))


@given(st.floats(0.0, 300.0))
def test_an_error_at_a_time_follows_from_what_is_kept(seconds):
    every = entries(*((k + 0.5, 2.0 + math.sin(k * k)) for k in range(200)))
    left = thinned(every, seconds)
    assert len(left) <= MOST_POINTS + 2
    assert error_at(left, seconds) == error_at(every, seconds)


@pytest.mark.parametrize("peer, factor", [(3e-4, "30"), (3e-6, "0.3")])
def test_standing_is_the_ratio_to_the_best_peer(peer, factor):
    errors = {"vrba": 1e-5, "vrba-soft": 2e-6, "deepxde-rad": peer, "pina-rba": 1.0}
    told = page.standing(errors, "vrba", 20.0, [0])
    assert f"`deepxde-rad`, is {factor} times `vrba`" in told and "(one seed)" in told
    assert ("less than ten times" in told) == (peer < 1e-4)
    ahead = told.split("; ahead: ")[1]
    assert "`vrba-soft`" in ahead and ("deepxde-rad" in ahead) == (peer < 1e-5)


def test_standing_without_an_error():
    assert "`vrba` has no error" in page.standing({"pina-rba": 1.0}, "vrba", 5.0, [0])
    errors = {"vrba": 1.0, "vrba-soft": 2.0}
    assert "no peer" in page.standing(errors, "vrba", 5.0, [0, 1])


def logged(errors, seconds=1200.0):
    lines = [{"about": {}}, *entries(*((60.0 * m, e) for m, e in errors))]
    last = {"finished": True, "seconds": seconds, "measuring_seconds": 300.0}
    return [*lines, last | {"cpu_seconds": 750.0}]


def settings(seed=0):
    return Settings("burgers", 20.0, seed, 1, 20, 4, 500, 4000)


SCRIPT = """
import json, sys
for line in json.loads({lines!r}):
    with open({log!r}, "a") as file:
        file.write(json.dumps(line) + "\\n")
sys.exit({said!r} or 0)
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Where logs, results and pages are, and runs that only write their logs."""
    for name in ("runs.HOME", "runs.ROOT", "page.ROOT"):
        monkeypatch.setattr(f"benchmarks.peers.{name}", tmp_path)
    monkeypatch.setattr("benchmarks.peers.results.RESULTS", tmp_path / "r" / "x.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "peers.md")
    monkeypatch.setattr(figure, "PICTURE", tmp_path / "peers.png")
    scripts = {}

    def command_of(settings, arm):
        lines, said = scripts[arm.name, settings.seed]
        code = SCRIPT.format(
            lines=json.dumps(lines), log=str(settings.log(arm)), said=said
        )
        return [sys.executable, "-c", code]

    monkeypatch.setattr("benchmarks.peers.runs.command_of", command_of)
    return scripts


def test_every_run_has_its_place_on_the_page(home, tmp_path, capsys):
    """Ones that end, fail, diverge, and end early; none is made twice."""
    nan = math.nan
    home[OWN.name, 0] = logged([(5, 1e-4), (19, 1e-6)]), ""
    home[OWN.name, 1] = logged([(4, 3e-4)])[:-1], "RuntimeError: no memory"
    home[PEER.name, 0] = logged([(4, 1e-2), (10, nan)]), ""
    home[PEER.name, 1] = logged([(5, 3e-2), (8, 1e-2)], seconds=500.0), ""
    tasks = [(settings(seed), arm) for arm in (OWN, PEER) for seed in (0, 1)]
    run_all(tasks, 2)
    keep(tasks)
    page.write_page()
    text = (tmp_path / "peers.md").read_text()
    rows = {line.split("`")[1]: line for line in text.splitlines() if "| `" in line}
    mine, theirs = rows[OWN.name], rows[PEER.name]
    assert mine.endswith("| 2.0e-4 [1.0e-4, 3.0e-4] | 1.0e-6; 1 of 2 failed |")
    assert theirs.endswith("| 2.0e-2 [1.0e-2, 3.0e-2] | 1.0e-2; 1 of 2 not finite |")
    assert f"`{OWN.name}`, seed 1, failed after 4 minutes: RuntimeError" in text
    assert f"`{PEER.name}`, seed 1, ended after 8.33 minutes" in text
    assert f"`{PEER.name}`, is 10000 times" in text
    assert (tmp_path / "peers.png").stat().st_size > 0
    kept = json.loads(
        (tmp_path / "r" / "x.json").read_text(), parse_constant=pytest.fail
    )
    assert len(kept) == 4 and all(run["jobs"] == 2 for run in kept.values())
    capsys.readouterr()
    run_all(tasks, 2)  # only what has failed is made again
    assert capsys.readouterr().out.count("==") == 1


def test_each_number_of_points_has_a_panel_with_its_longest_runs():
    key = lambda minutes, points: ("burgers", minutes, 1, 4, 24, points, 4000)
    few, brief, long = key(20.0, 500), key(5.0, 2000), key(20.0, 2000)
    found = figure.panels_of([long, few, brief])
    assert found == {"burgers, 500 points": few, "burgers, 2,000 points": long}


def test_a_run_that_was_stopped_is_not_kept(home):
    told = settings()
    assert told_of(told, OWN) is None
    told.folder.mkdir(parents=True)
    told.maker(OWN).write_text("{}")
    told.log(OWN).write_text('{"about": {}}\n{"seconds": 1')
    assert told_of(told, OWN) is None


def test_summary_of_a_log():
    found = summary(logged([(1, 0.5), (5, 0.2), (20, 0.1)]), 1200.0)
    assert (found["error_at_quarter"], found["error_at_end"]) == (0.2, 0.1)
    assert found["steps"] == 2 and found["curve"][-1] == [1200.0, 0.1]
    many = summary(
        logged([(0.05 * k, 2 + math.sin(k * k)) for k in range(400)]), 1200.0
    )
    left = [{"seconds": time, "error": error} for time, error in many["curve"]]
    assert len(left) < 100 and error_at(left, 300.0) == many["error_at_quarter"]
    assert found["cpu_share"] == 0.5 and found["is_finite"]


def row(word, median, gain, published=None):
    """A row of an exhibit, as far as it is read."""
    ours = {"median": median, "lowest": median, "highest": median}
    common = {"experiment": "Burgers, any", "label": word, "method": word, "seeds": [0]}
    common |= {"last": ours, "gain": gain}
    return common | {"ours": ours, "published": published}


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_lagging_names_lost_gains_and_at_full_scale_published_errors(scale):
    rows = [
        row("uniform", 1e-3, 1.0, 1e-4),
        row("quadratic", 2e-3, 0.5, 1e-2),
        row("exponential", 5e-4, 2.0, 1e-4),
        row("rad", None, None),
    ]
    told = shortcomings.worse_rows({"scale": scale, "rows": rows})
    assert f"({scale}, one seed): 2 times the error of the fair baseline." in told[0]
    assert "rad" in told[-1] and "not finite" in told[-1]
    published = [line for line in told if "the published error" in line]
    assert len(published) == (scale == "paper")
    assert all(
        line.endswith("5 times the published error (1.0e-4).") for line in published
    )


def test_lagging_names_rad_later_revisions_and_last_iterates():
    rows = [
        row("uniform", 1e-7, 1.0, 1.67e-7),
        row("rad", 6e-9, 9.0, 2.9e-8),
        row("quadratic", 9e-9, 9.0, 2e-8) | {"revised": 4e-9, "last": {"median": 3e-8}},
        row("exponential", 6e-9, 9.0, 1.5e-8) | {"last": {"median": 3e-8}},
        row("vrba", 5e-9, 9.0) | {"experiment": "Burgers, own"},
    ]
    told = shortcomings.worse_rows({"scale": "paper", "rows": rows})
    where = "Burgers, any, "
    assert told == [
        f"{where}quadratic (paper, one seed): 1.5 times the error of RAD; with the "
        "last iterate 1.5 times the published error (2.0e-8); 2.2 times that of a "
        "later revision of the paper (4.0e-9).",
        f"{where}exponential (paper, one seed): with the last iterate 2 times the "
        "published error (1.5e-8).",
        "Burgers, own, vrba (paper, one seed): 1.2 times the best published of Burgers "
        "(4.0e-9).",
    ]
    assert shortcomings.worse_rows({"scale": "paper", "rows": rows[4:]}) == []


def test_what_was_not_run_is_named():
    done = {"comparison": "burgers-own", "method": "uniform", "ours": {"median": 1.0}}
    told = shortcomings.not_run([{"scale": "laptop", "rows": [done]}])
    own = "Burgers, Levenberg-Marquardt, our ansatz"
    assert f"{own} (laptop): vrba." in told and f"{own} (paper)." in told
    assert len(told) == 2 * len(known_experiments())


def shelved(selected, last, num_seeds=3, warnings=()):
    """What is kept of a problem whose uniform sampling has an error of one."""
    errors = {"default": (selected, last), "uniform": (1.0, 1.0)}
    runs = [
        {"method": arm, "seed": k, "error": {"selected": one, "last": other}}
        for arm, (one, other) in errors.items()
        for k in range(num_seeds)
    ]
    spread = lambda e: {"median": e, "lowest": e, "highest": e}
    arms = {
        arm: {"selected": spread(errors[arm][0]), "step": {"median": 7.0}}
        for arm in errors
    }
    settings = {"num_seeds": num_seeds, "flags": {"minutes": 2.0}}
    common = {"settings": settings, "floor": 0.0, "warnings": warnings, "runs": runs}
    programs = [{"commit": "0123456789abc"}]
    return common | {"methods": arms, "programs": programs, "run_warnings": []}


SHELF = {
    "gains": shelved(0.1, 0.5),
    "selects": shelved(0.01, 2.0),
    "loses": shelved(4.0, 4.0),
    "busy": shelved(0.001, 0.001, warnings=("the machine was busy",)),
    "once": shelved(0.001, 0.001, num_seeds=1),
}


def test_summary_of_the_shelf_counts_seeds_and_tells_last_iterates(monkeypatch):
    monkeypatch.setattr(shelf, "read_results", lambda: SHELF)
    text = shelf.summary()
    assert "on 3 problems" in text and "Not counted: `busy`" in text
    assert "lower with every seed on 2, higher with every seed on 1**" in text
    assert "factor of 10 (median; quartiles 0.25 and 1e+02), for last iterates" in text
    told = "smaller of both factors it is largest for `gains` (10, for last iterates 2)"
    assert f"{told} and smallest for `loses` (0.25, for last iterates 0.25)." in text


def test_page_of_the_shelf_has_warnings_and_commits():
    text = shelf.page(SHELF)
    assert "- `busy`: the machine was busy" in text
    assert "- 0123456789: `gains`, `selects`" in text
    assert "| `selects` | 2 | 3 | 7, 7 | 1.0e-2 | 1 | 1e+02 | 0.5 |" in text


def test_even_points_that_are_better_are_named(monkeypatch):
    mixed, busy = shelved(4.0, 4.0), shelved(2.0, 2.0, warnings=("It was busy.",))
    mixed["runs"][0]["error"]["selected"] = 0.5
    known = SHELF | {"mixed": mixed, "slow": busy}
    monkeypatch.setattr(shelf, "read_results", lambda: known)
    told = "on [the shelf](shelf.md): {} times the error of uniform sampling"
    assert shortcomings.worse_on_shelf() == [
        f"`loses` {told.format(4)}.",
        f"`mixed` {told.format(4)}, but seeds disagree.",
        f"`slow` {told.format(2)} (It was busy.).",
    ]


def test_arms_that_are_near_the_best_peer_are_named():
    run = lambda early, late: [
        {
            "settings": {"minutes": 20.0},
            "error_at_quarter": early,
            "error_at_end": late,
        }
    ]
    runs = {page.OWN: run(1e-3, 1e-6), PEER.name: run(5e-3, 1e-3)}
    runs |= {page.SOFT: run(1e-5, None), "jinns-adam": run(None, 1e-2)}
    assert page.missed(runs) == [
        f"after 5 minutes the error of `{PEER.name}` is 5 times that of `{page.OWN}`."
    ]


def test_an_arm_above_its_twin_with_even_points_is_named(monkeypatch):
    names = {"problem": "poisson", "minutes": 5.0, "threads": 1, "depth": 2}
    settings = names | {"width": 3, "points": 8, "pool": 64, "seed": 0}
    run = lambda arm, error: {
        "arm": arm,
        "settings": settings,
        "error_at_end": error,
        "about": {},
    }
    own, twin = page.OWN, f"{page.OWN}-uniform"

    def told(*errors):
        runs = map(run, (own, twin, PEER.name), errors)
        monkeypatch.setattr(shortcomings, "read_results", lambda: dict(enumerate(runs)))
        return shortcomings.worse_beside_peers()

    (line,) = told(6e-9, 1e-9, 1e-3)
    assert line.startswith(f"`{own}` [beside other packages]")
    assert "5 minutes): 6 times the error of uniform sampling." in line
    assert told(1.9e-9, 1e-9, 1e-3) == told(1e-9, 6e-9, 1e-3) == []


def test_readme_shows_the_best_peer():
    run = lambda error: [
        {"settings": {"minutes": 20.0, "seed": 0}, "error_at_end": error}
    ]
    runs = {page.OWN: run(1e-6), PEER.name: run(5e-3), "jinns-adam": run(1e-3)}
    *_, best, own, even, _, _ = page.best_beside_own(runs)
    assert (best, own) == ("`jinns-adam` 1.0e-3", "1.0e-6 (1000)")
    assert even == ""  # not run
    runs[page.OWN] += [{"settings": {"minutes": 20.0, "seed": 1}, "error_at_end": 1e-6}]
    assert page.best_beside_own(runs)[1] == "1 to 2"
    assert not page.best_beside_own({page.OWN: run(1e-6)})


def test_each_package_has_a_colour_and_each_arm_a_line():
    looks = figure.looks_of()
    assert len({look["color"] for look in looks.values()}) == len(figure.COLORS)
    told = {(one["color"], one["linestyle"], one["alpha"]) for one in looks.values()}
    assert len(told) == len(looks) == len(ARMS)


def test_readme_shows_each_experiment_at_its_largest_scale():
    seeds = {"seeds": [0, 1]}
    large = [row("uniform", 1e-3, 1.0) | seeds, row("rad", 2e-4, 5.0, 3e-4) | seeds]
    small = [
        row("uniform", 1e-1, 1.0) | seeds,
        row("default", None, None, 1e-2) | seeds,
    ]
    other = [row | {"experiment": "Wave"} for row in small]
    found = [
        {"scale": "laptop", "rows": [*small, *other]},
        {"scale": "paper", "rows": [*large, {"experiment": "Burgers, cited"}]},
        {"scale": "paper", "rows": other[:1]},  # nothing beside it as yet
    ]
    assert results_page.paper_table(found).splitlines()[2:] == [
        "| Burgers, any | paper | 2 | 1.0e-3 (1.0e-3) | rad 2.0e-4 (2.0e-4) | "
        "rad 3.0e-4 |",
        "| Wave | laptop | 2 | 0.1 (0.1) | default not finite (not finite) |  |",
    ]


@pytest.fixture
def study(tmp_path, monkeypatch):
    for module in (study_module, variants):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    group = Group("usual", {"usual": Recipe, "other": Recipe, "never": Recipe})
    return Study("study", "A study", None, 2.0, {"": group}, "Head.")


@pytest.mark.parametrize(
    "ratios, number",
    [([1.1, 2.0], 0), ([0.5, 0.9], 1), ([0.5, 1.1], 2), ([0.3, 0.996], 2)],
)
def test_a_verdict_is_that_of_all_seeds(ratios, number):
    assert study_page.verdict(ratios) == study_page.VERDICTS[number]


def test_all_missing_runs_are_made_and_failures_named(study, monkeypatch):
    made = []

    def started(_, name, seed):
        made.append((name, seed))
        code = 1 if (name, seed) == ("other", 0) else 0
        return subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})"])

    monkeypatch.setattr(variants, "started", started)
    monkeypatch.setattr(Study, "mark", lambda _, name: name)
    assert variants.make_missing(study, range(2)) == ["other, seed 0"]
    names = ("usual", "other", "never")
    assert made == [(name, seed) for seed in (0, 1) for name in names]


def test_runs_that_were_kept_or_written_are_not_made_again(
    study, tmp_path, monkeypatch
):
    """Those of another recipe are; what is kept stays when runs are gone."""
    monkeypatch.setattr(Study, "mark", lambda _, name: f"{name}-now")
    monkeypatch.setattr(variants, "started", lambda *_: pytest.fail("made again"))
    folder = tmp_path / "runs" / "study"
    folder.mkdir(parents=True)
    study.file.parent.mkdir()
    names = ("usual", "other", "never")
    for name, seed in [(name, seed) for seed in (1, 0) for name in names]:
        (folder / f"{name}-now-{seed}.json").write_text(json.dumps({"seed": seed}))
    (folder / "other-before-2.json").write_text('{"seed": 2}')
    assert variants.make_missing(study, range(2)) == []
    variants.keep(study, [])
    for path in folder.iterdir():
        path.unlink()
    assert variants.make_missing(study, range(2)) == []
    variants.keep(study, [])
    found = json.loads(study.file.read_text())["variants"]
    assert {name: [run["seed"] for run in runs] for name, runs in found.items()} == {
        name: [0, 1] for name in names
    }


def test_variants_are_compared_by_seed(study, tmp_path):
    program = {"commit": "0123456789abc", "has_changes": True, "device": "cpu"}
    mark = study.mark("usual")
    run = lambda seed, error: {
        "seed": seed,
        "step": 7,
        "mark": mark,
        "errors": {"selected": error},
        "program": program,
    }
    found = {"usual": [run(0, 1e-3), run(1, 1e-2)], "other": [run(1, 2e-2)]}
    found["never"] = [run(1, 7.0) | {"mark": "of another recipe"}]
    content = {"minutes": 2.0, "variants": found, "failures": ["other, seed 0"]}
    study_page.write_page(study, content)
    text = study.page.read_text()
    cells = [line.split(" | ") for line in text.splitlines() if "| other |" in line]
    assert [cell.strip("| ") for cell in cells[0][2:]] == [
        "2.0e-2",
        "usual",
        "2",
        "7",
        "1",
    ]
    assert f"- {study_page.VERDICTS[0]}: other." in text
    assert "- Not run: never.\n" in text and "| never |" not in text
    assert "by group: other (2)." in text and "8,192 of 65,536 points" in text
    assert "about 0.5 of the 1 would" in text
    assert "Failed: other, seed 0" in text
    assert "0123456789 with changes, cpu" in text
    assert (tmp_path / "docs" / "study.png").stat().st_size > 0


def test_a_group_may_have_a_problem_of_its_own(study, monkeypatch):
    """It is what its variants solve, and tells them from others of the same recipe."""
    solved = []

    def solve(problem, recipe, seed, minutes, diagnose):
        solved.append(problem)
        names = ("step", "seconds", "errors", "residual_l2", "score")
        known = {"stop_reason": "time", "manifest": {"provenance": {}}}
        return SimpleNamespace(result=known | dict.fromkeys(names, 0))

    monkeypatch.setattr(variants.vrba, "solve", solve)
    usual, other = Burgers(), Burgers(viscosity=0.1)
    groups = study.groups | {"": Group("a", {"a": Recipe})}
    groups |= {"other": Group("b", {"b": Recipe}, other)}
    study = study._replace(problem=usual, groups=groups)
    for name in ("a", "b"):
        variants.solve_one(study, name, 0)
    assert solved == [usual, other]
    assert study.mark("a") != study.mark("b")
    assert set(study.done()) == {(study.mark("a"), 0), (study.mark("b"), 0)}


def test_a_commit_may_not_be_known():
    assert commit_of({"commit": None}) == "no commit"
    assert commit_of({"commit": "0123456789abc"}) == "0123456789"


@pytest.mark.parametrize("name", CASES)
def test_every_benchmark_can_be_called(name):
    """`python -m benchmarks` calls `main`, or says that it is long."""
    path = Path(importlib.util.find_spec(f"benchmarks.{name}").origin)
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        found |= {getattr(node, "name", None)}
        found |= {getattr(one, "id", None) for one in getattr(node, "targets", ())}
    assert found & {"main", "IS_LONG"}


def test_scaling_prints_what_it_measured(capsys):
    cases = [
        {"params": size, "program": 1e6, "resident": 2e6, "resample": 0.5}
        | {"seconds": size**2 / 1e6}
        for size in (100.0, 200.0)
    ]
    (name, along), *_ = [key for key in scaling.EXPECTED if key[1] == "params"]
    scaling.show({name: cases}, along)
    out = capsys.readouterr().out
    assert "0.5000" in out and "params^2.00" in out
