"""Peers solve the problem that vrba solves, in environments that are pinned."""

import dataclasses
import importlib
import sys
from pathlib import Path

import pytest

from benchmarks.peers import arms
from benchmarks.peers.arms import ARMS, ENVIRONMENTS
from benchmarks.peers.cases import CASES
from benchmarks.peers.check import check_same
from benchmarks.peers.runs import as_peers_have_it
from vrba.adapt import presets
from vrba.optim import Adam, FromOptax, LevenbergMarquardt, QuasiNewton
from vrba.problems import AllenCahn


@pytest.mark.parametrize("name", CASES)
def test_peers_are_given_the_same_problem(name):
    check_same(CASES[name], as_peers_have_it(name))


CHANGES = {
    "residuals": {"residual": lambda xp, t, x, u, d: d(0) - 1e-4 * d(1, 1)},
    "values": {"ansatz": lambda xp, t, x, N: 1 + N, "residual": None},
    "errors of `initial`": {"initial": lambda xp, x: x**2},
    "terms of weights": {"initial": None},
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_problem_for_peers_is_refused(name):
    """Also one with the same equation for other values."""
    problem, changes = as_peers_have_it("allen-cahn"), dict(CHANGES[name])
    case = CASES["allen-cahn"]
    if name == "values":
        changes["residual"] = lambda xp, t, x, u, d: case.residual(xp, t, x, u - 1, d)
    with pytest.raises(ValueError, match=name):
        check_same(dataclasses.replace(case, **changes), problem)


def test_initial_errors_weigh_the_same():
    problem = AllenCahn(is_soft=True, soft_weight=5.0)
    with pytest.raises(ValueError, match="weigh"):
        check_same(CASES["allen-cahn"], problem)


OWN = [arm for arm in ARMS if arm.is_own]


@pytest.fixture
def script(monkeypatch):
    """As it is run, with its neighbours beside it."""
    monkeypatch.syspath_prepend(str(Path(arms.__file__).parent))
    names = ("vrba_script", "cases", "log")
    before = {name: sys.modules.pop(name, None) for name in names}
    yield importlib.import_module("vrba_script")
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


@pytest.mark.parametrize("arm", OWN, ids=lambda arm: arm.name)
def test_arms_of_vrba_are_what_the_page_says(script, arm):
    recipe = script.recipe_of(AllenCahn(is_soft=True), arm.name, 20.0, 8, 2, 64, 512)
    words = {
        "Levenberg": LevenbergMarquardt,
        "Broyden": QuasiNewton,
        "L-BFGS": FromOptax,
        "Adam": Adam,
    }
    last = getattr(recipe.optimizer, "last", recipe.optimizer)
    kind = next(kind for word, kind in words.items() if word in arm.optimizer)
    assert isinstance(last, kind)
    assert (recipe.policy == presets.uniform()) == (arm.points == "uniform sampling")
    assert recipe.policy.is_unbiased()
    assert script.is_posed_softly(arm.name) == (
        arm.name not in ("vrba", "vrba-uniform")
    )


@pytest.mark.parametrize("package", ENVIRONMENTS)
def test_environments_of_peers_are_pinned(package):
    path = Path(arms.__file__).parent / "constraints" / f"{package}.txt"
    pins = dict(line.split("==") for line in path.read_text().lower().splitlines())
    assert set(ENVIRONMENTS[package]) <= set(pins)
