"""Residuals beside the size of their terms."""

import jax.numpy as jnp
import numpy as np

import vrba
from tests.pinn.cases import tiny_recipe
from vrba.pinn import Evaluator, residual_shares
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
    t, x = np.array([0.3, 0.8]), np.array([0.2, 0.9])
    points = jnp.asarray(np.stack([t, x], axis=1))
    rows = points, jnp.zeros((2, 0))
    term = evaluator.terms[EQUATIONS]
    z = 2 * t + x**2
    for k in range(2):
        found = term.parts(evaluator.initial_params(), (points[k], rows[1][k]))
        terms = [2.0, z[k] * 2 * x[k], z[k] * 2 * x[k], -3 * 6 * x[k]]
        # `z * z.x` changes with `z` and with `z.x`
        ours = found["slopes"][0] * found["values"]
        np.testing.assert_allclose(np.sort(ours[ours != 0]), np.sort(terms))
        np.testing.assert_allclose(found["rest"], [-7, 0])
        residual = 2 + z[k] * 2 * x[k] - 18 * x[k] - 7
        np.testing.assert_allclose(found["residual"], [residual, 0], atol=1e-12)


def test_shares_are_residuals_relative_to_terms():
    evaluator = Evaluator(Formulation(Known()), tiny_recipe(model=exact), 0)
    t, x = np.full(4, 0.5), np.full(4, 0.5)
    rows = jnp.asarray(np.stack([t, x], axis=1)), jnp.zeros((4, 0))
    wall = jnp.asarray(np.stack([t, 0 * x], axis=1)), jnp.zeros((4, 2))
    held_out = {EQUATIONS: rows, "dirichlet x=0 of z": wall, "data of z": rows}
    found = residual_shares(evaluator, evaluator.initial_params(), held_out)
    z = 1.25
    size = np.sqrt(2**2 + 2 * z**2 + 9**2 + 7**2)
    np.testing.assert_allclose(found[EQUATIONS], abs(2 + z - 9 - 7) / size)
    wall_size = np.sqrt(1 + 2**2 + z**2)  # `z` there and inside, and its given value
    np.testing.assert_allclose(found["dirichlet x=0 of z"], 1 / wall_size)
    assert set(found) == {EQUATIONS, "dirichlet x=0 of z"}
