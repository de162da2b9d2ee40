"""Pages of several runs."""

import json

import pytest
from vrba.report.summary import result_of, run_of, summarise

from tests.report.run_cases import ABOUT, add_collapse, figures_in, make_run
from vrba.report import ComparisonRecord, RunRecord, write_report


def make_comparison(path, arms=("uniform", "default:exponential"), seeds=(3, 4)):
    """The folder of a comparison; of the last run there is no page."""
    results = []
    for k, arm in enumerate(arms):
        for seed in seeds:
            size = 1e-5 / (k + 1)
            run = make_run(run_of(path, arm, seed), num_steps=90, seed=seed, size=size)
            header = RunRecord.read(run).result
            results.append(result_of(arm, seed, header))
            (run / "report.html").write_text("")
    (run / "report.html").unlink()
    settings = {"target": "burgers", "param": [], "arms": list(arms)}
    settings |= {"first_seed": seeds[0], "num_seeds": len(seeds)}
    settings |= {"flags": {"minutes": 2}, "num_threads": 1}
    content = {"settings": settings, "problem": ABOUT["problem"]}
    content |= summarise(list(arms), arms[0], results) | {"failures": {"x": "a < b"}}
    (path / "comparison.json").write_text(json.dumps(content))
    return path


def test_page_of_a_comparison(tmp_path):
    folder = make_comparison(tmp_path / "both")
    add_collapse(folder / "uniform" / "seed-4", 9000)
    text = write_report(folder).read_text()
    assert figures_in(text) == ["comparison", "arms-dynamics"]
    assert '<th scope="row">default:exponential</th><td>2</td><td>5.0e-6</td>' in text
    assert "default:exponential: 0.5 times the error of uniform" in text
    assert "x: a &lt; b" in text
    assert "<li>uniform, seed 4: The weights have collapsed" in text
    assert "Stages: fitting from step" in text
    assert 'href="default-exponential/seed-3/report.html"' in text
    assert 'href="default-exponential/seed-4/report.html"' not in text
    assert "default:exponential, seed 4" in text
    assert (
        "--policies uniform,default:exponential --seed 3 --seeds 2 --minutes 2" in text
    )
    assert (folder / "figures/comparison.png").exists()


def test_runs_that_differ_in_their_seed_are_an_arm(tmp_path):
    runs = [
        make_run(
            tmp_path / arm / f"seed-{seed}",
            num_steps=90,
            seed=seed,
            size=size,
            diagnosed=False,
            recipe={"policy": arm},
        )
        for arm, size in (("one", 1e-5), ("two", 3e-5))
        for seed in (0, 1)
    ]
    text = write_report(runs, tmp_path / "all").read_text()
    assert "two: 3 times the error of one (median of 2 seeds" in text
    assert figures_in(text) == ["comparison"]
    found = ComparisonRecord.of_runs([RunRecord.read(run) for run in runs])
    assert {arm: len(part) for arm, part in found.arms.items()} == {"one": 2, "two": 2}


def test_runs_of_several_problems_are_not_judged(tmp_path):
    other = ABOUT["problem"] | {"name": "KdV"}
    runs = [
        make_run(tmp_path / "a", num_steps=60),
        make_run(tmp_path / "b", num_steps=60, problem=other, reference=False),
        make_run(tmp_path / "c", num_steps=60, ended=False),
    ]
    text = write_report(runs, tmp_path / "out").read_text()
    assert "Burgers, KdV: comparison" in text and "times the" not in text
    assert "3 runs, 2 of them ended" in text


def test_several_runs_need_a_place(tmp_path):
    with pytest.raises(ValueError, match="2 runs, got None"):
        write_report([tmp_path, tmp_path])
    (tmp_path / "comparison.json").write_text("{}")
    with pytest.raises(ValueError, match="lacks 'settings'"):
        write_report(tmp_path)


def test_a_comparison_before_its_first_run(tmp_path):
    folder = make_comparison(tmp_path / "both")
    content = json.loads((folder / "comparison.json").read_text())
    content |= {"runs": [], "settings": content["settings"] | {"arms": ["none"]}}
    (folder / "comparison.json").write_text(json.dumps(content))
    text = write_report(folder).read_text()
    assert "No run has ended yet." in text and "No run has begun yet." in text
