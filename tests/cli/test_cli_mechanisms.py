"""Flags that leave out what a solve does by itself."""

import json

import pytest

from tests.cli.cases import call
from vrba.cli.mechanisms import MechanismFlags
from vrba.pinn import Continuation, FixedBalance, TraceBalance, default_recipe
from vrba.problems import Burgers

FILE = """
import vrba

class Layer(vrba.Problem):
    diffusion: float = 0.1
    domain = vrba.Box(x=(0, 1))

    def equations(self, u, x):
        return {"transport": -self.diffusion * u.xx + u.x - 1}

    def conditions(self):
        return [vrba.Dirichlet(0.0, on="x", at=0), vrba.Robin(1.0, on="x", at=1)]
"""
TINY = ("--steps", 2, "--points", 64, "--pool", 128, "--width", 4, "--no-polish")


def test_each_flag_leaves_out_one_part():
    usual = default_recipe(Burgers(), 2)
    assert isinstance(usual.balance, TraceBalance) and usual.exact_conditions
    assert usual.has_scales and usual.continuation and usual.time_marching
    found = MechanismFlags(
        no_exact_conditions=True,
        no_balance=True,
        no_scales=True,
        no_continuation=True,
        no_slabs=True,
    )
    assert found.changes() == {
        "exact_conditions": False,
        "balance": FixedBalance(),
        "has_scales": False,
        "continuation": None,
        "time_marching": None,
    }
    assert MechanismFlags().changes() == {} and MechanismFlags().given() == []
    named = MechanismFlags(continuation="viscosity=0.1")
    assert named.changes() == {"continuation": Continuation("viscosity", start=0.1)}


def test_what_a_run_found_is_printed_and_stored(tmp_path):
    file = tmp_path / "layer.py"
    file.write_text(FILE)
    code, _, err = call("solve", file, *TINY, "--out", tmp_path / "run")
    assert code == 0
    assert "Exact conditions: dirichlet x=0." in err
    stored = json.loads((tmp_path / "run" / "recipe.json").read_text())
    weight = stored["preparation"]["weights"]["robin x=1"]
    assert stored["preparation"]["is_exact"] and weight > 0
    assert f"Weights: robin x=1 {weight:.3g}." in err
    flags = ("--no-exact-conditions", "--no-balance")
    code, _, err = call("solve", file, *TINY, *flags, "--out", tmp_path / "plain")
    stored = json.loads((tmp_path / "plain" / "recipe.json").read_text())
    assert code == 0 and "Exact conditions" not in err and "Weights" not in err
    assert stored["preparation"]["weights"] == {}


@pytest.mark.parametrize("flag", ["--no-balance", "--no-slabs"])
def test_a_resumed_run_keeps_its_mechanisms(tmp_path, flag):
    code, _, err = call("solve", "--resume", tmp_path, flag)
    assert code == 2 and f"`{flag}` cannot be changed with `--resume`" in err


def test_a_continuation_cannot_be_given_and_left_out():
    words = ("--continuation", "viscosity=1", "--no-continuation")
    code, _, err = call("solve", "burgers", *TINY, *words)
    assert code == 2 and "not both" in err


@pytest.mark.parametrize("text", ["viscosity", "viscosity=much"])
def test_a_bad_continuation_is_named(tmp_path, text):
    code, _, err = call("solve", "burgers", *TINY, "--continuation", text)
    assert code == 2 and f"`--continuation {text}` must be the name" in err
