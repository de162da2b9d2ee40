"""A new potential, problem and optimizer: each is one file and one export line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"

POTENTIAL = '''
"""A potential that grows like the fourth power."""

import jax.numpy as jnp
from typing_extensions import override

from ._base import AbstractPotential


class Quartic(AbstractPotential):
    """`s**4`."""

    @override
    def value(self, s):
        return jnp.maximum(s, 0) ** 4

    @override
    def slope(self, s):
        return 4 * jnp.maximum(s, 0) ** 3

    @override
    def relative_slope(self, s, peak):
        return (jnp.maximum(s, 0) / peak) ** 3

    @override
    def inverse_slope(self, y):
        return (y / 4) ** (1 / 3)

    @override
    def degree(self):
        return 4.0

    @override
    def is_defined_everywhere(self):
        return False

    @override
    def is_shift_invariant(self):
        return False
'''
PROBLEM = '''
"""Radioactive decay."""

import numpy as np
from typing_extensions import override

from ..domains import Box
from ._base import Problem
from .conditions import Ansatz
from .reference import exact_reference


class RadioactiveDecay(Problem):
    """`u' = -rate u`, `u(0) = 1`."""

    rate: float = 1.0
    domain = Box(t=(0, 1))

    @override
    def equations(self, u, t):
        return {"decay": u.t + self.rate * u}

    @override
    def conditions(self):
        return [Ansatz(lambda t, N: 1 + t * N)]

    @override
    def reference(self):
        exact = lambda t: np.exp(-self.rate * t)
        return exact_reference(self.domain, exact, 65)
'''
OPTIMIZER = '''
"""Gradient descent with a fixed step."""

import equinox as eqx
import jax
import jax.numpy as jnp
from typing_extensions import override

from ..core import Status
from ._base import AbstractMethod
from .first_order import FromOptaxInfo


class GradientDescent(AbstractMethod):
    """`params - learning_rate * gradient`."""

    learning_rate: float = 0.05

    @property
    @override
    def needs_residuals(self):
        return False

    @override
    def is_compiled(self, state):
        return True

    @override
    def init(self, objective, params):
        return jnp.zeros((), jnp.int32)

    @override
    def objective_changed(self, objective, params, state):
        return state

    @override
    def step(self, objective, params, state):
        value, gradient = objective.value_and_gradient(params)
        move = lambda p, g: p - self.learning_rate * g
        norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient)))
        is_bad = ~jnp.isfinite(norm)
        one = jnp.ones((), jnp.int32)
        status = Status.where(is_bad, Status.nonfinite_objective, Status.ok)
        info = FromOptaxInfo(value, norm, one, is_bad, status)
        return jax.tree.map(move, params, gradient), state + 1, info
'''
USE = """
import vrba
from vrba.adapt import Quartic
from vrba.cli.entry import main
from vrba.compare import known_optimizers, known_policies, known_problems, pick

assert pick("problem", "radioactive-decay", known_problems())
assert "gradient-descent" in known_optimizers()
words = "solve radioactive-decay --optimizer gradient-descent --potential quartic"
sizes = "--steps 400 --points 32 --pool 64 --width 5 --depth 1 --out run"
assert main([*words.split(), *sizes.split()]) == 0
solution = vrba.Solution.load("run")
assert isinstance(solution.recipe.policy.potential, Quartic)
first, last = solution.record[0], solution.record[-1]
assert last["residual_l2"] < 0.5 * first["residual_l2"], (first, last)
assert main(["list", "problems"]) == 0
"""


@pytest.mark.slow
def test_a_new_idea_is_one_file_and_one_export_line(tmp_path):
    shutil.copytree(SOURCE, tmp_path / "src")
    room = tmp_path / "src" / "vrba"
    for place, module, name, text in (
        ("adapt", "potentials.quartic", "Quartic", POTENTIAL),
        ("problems", "radioactive_decay", "RadioactiveDecay", PROBLEM),
        ("optim", "gradient_descent", "GradientDescent", OPTIMIZER),
    ):
        file = room / place / (module.replace(".", "/") + ".py")
        file.write_text(text.lstrip())
        with open(room / place / "__init__.py", "a") as exports:
            exports.write(f"from .{module} import {name} as {name}\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "radioactive-decay" in done.stdout
