"""Peers solve the problem that vrba solves, in environments that are pinned."""

import dataclasses
from pathlib import Path

import pytest

from benchmarks.peers import arms
from benchmarks.peers.arms import ENVIRONMENTS
from benchmarks.peers.cases import CASES
from benchmarks.peers.check import check_same
from benchmarks.peers.runs import as_peers_have_it
from vrba.problems import AllenCahn


@pytest.mark.parametrize("name", CASES)
def test_peers_are_given_the_same_problem(name):
    check_same(CASES[name], as_peers_have_it(name))


CHANGES = {
    "residuals": {"residual": lambda xp, t, x, u, d: d(0) - 1e-4 * d(1, 1)},
    "values": {"ansatz": lambda xp, t, x, N: 1 + N, "residual": None},
    "initial errors": {"initial": lambda xp, x: x**2},
    "equations only": {"initial": None},
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


@pytest.mark.parametrize("package", ENVIRONMENTS)
def test_environments_of_peers_are_pinned(package):
    path = Path(arms.__file__).parent / "constraints" / f"{package}.txt"
    pins = dict(line.split("==") for line in path.read_text().lower().splitlines())
    assert set(ENVIRONMENTS[package]) <= set(pins)
