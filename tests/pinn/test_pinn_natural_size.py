"""Residuals beside the size of their terms."""

import jax.numpy as jnp
import numpy as np

import vrba
from tests.pinn.cases import tiny_recipe
from vrba.pinn import Evaluator, Trainer, residual_shares
from vrba.problems import EQUATIONS, Formulation


class Known(vrba.Problem):
    """`z.t + z * z.x - a.xx = 7`, with fields that are not in alphabetical order."""

    fields = ("z", "a")
    domain = vrba.Box(t=(0, 1), x=(0, 1))

    def equations(self, z, a, t, x):
        return {"one": z.t + z * z.x - 3 * a.xx - 7.0, "two": a.value * 0}

    def conditions(self):
        return [
            vrba.Dirichlet(2.0, on="x", at=0, field="z"),
            vrba.Data([[0.5, 0.5]], [100.0], field="z"),
        ]


def exact(inputs):
    """`z = 2 t + x^2` and `a = x^3 - t`, of inputs scaled to [-1, 1]."""
    t, x = (inputs[0] + 1) / 2, (inputs[1] + 1) / 2
    return jnp.stack([2 * t + x**2, x**3 - t])


def test_terms_are_those_of_the_equation():
    evaluator = Evaluator(Formulation(Known()), tiny_recipe(model=exact), 0)
    params, term = evaluator.initial_params(), evaluator.terms[EQUATIONS]
    t, x = 0.3, 0.2
    found = term.parts(params, (jnp.asarray([t, x]), jnp.zeros(0)))
    z = 2 * t + x**2
    zero, time, space, second = (0, 0), (1, 0), (0, 1), (0, 2)
    values = {"z": {zero: z, time: 2, space: 2 * x}, "a": {second: 6 * x}}
    slopes = {"z": {zero: 2 * x, time: 1, space: z}, "a": {second: -3}}
    for field, each in values.items():
        for index, value in each.items():
            np.testing.assert_allclose(found["values"][field][index], value)
            slope = found["slopes"][field][index]
            np.testing.assert_allclose(slope, [slopes[field][index], 0], atol=1e-12)
    np.testing.assert_allclose(found["rest"], [-7, 0])
    residual = 2 + z * 2 * x - 18 * x - 7
    np.testing.assert_allclose(found["residual"], [residual, 0], atol=1e-12)


def test_shares_are_residuals_relative_to_terms():
    evaluator = Evaluator(Formulation(Known()), tiny_recipe(model=exact), 0)
    t, x = np.full(4, 0.5), np.full(4, 0.5)
    rows = jnp.asarray(np.stack([t, x], axis=1)), jnp.zeros((4, 0))
    wall = jnp.asarray(np.stack([t, 0 * x], axis=1)), jnp.zeros((4, 2))
    held_out = {EQUATIONS: rows, "dirichlet x=0 of z": wall, "data of z": rows}
    found = residual_shares(evaluator, evaluator.initial_params(), held_out)
    z, a = 1.25, 0.125 - 0.5
    size = 2**2 + 2 * z**2 + 9**2 + 7**2  # the terms, `z.x = 1` in `z * z.x` twice
    size += z**2 * (1 + 1 + z**2) + (3 * a) ** 2  # the least size of a derivative
    np.testing.assert_allclose(found[EQUATIONS], abs(2 + z - 9 - 7) / np.sqrt(size))
    wall_size = np.sqrt(1 + 2**2 + z**2)  # `z` there and inside, and its given value
    np.testing.assert_allclose(found["dirichlet x=0 of z"], 1 / wall_size)
    assert set(found) == {EQUATIONS, "dirichlet x=0 of z"}


class Flat(vrba.Problem):
    """`u_xx = 0`, `u = 0` on one side, and a mean of one half."""

    domain = vrba.Box(x=(0, 2))

    def equations(self, u, x):
        return {"bending": u.xx}

    def conditions(self):
        return [vrba.Dirichlet(0.0, on="x", at=0), vrba.Mean(0.5)]


def test_terms_that_vanish_have_the_size_of_their_field():
    line = lambda inputs: 0.5 * (inputs + 1) + 1e-6 * inputs**2
    evaluator = Evaluator(Formulation(Flat()), tiny_recipe(model=line), 0)
    held_out = Trainer(evaluator).held_out
    found = residual_shares(evaluator, evaluator.initial_params(), held_out)
    size = np.sqrt(1 / 3) / 2**2  # the root mean square of `x / 2` over the length
    np.testing.assert_allclose(found[EQUATIONS], 2e-6 / size, rtol=0.05)
    assert len(found) == 3 and 0 < max(found.values()) < 2e-5
