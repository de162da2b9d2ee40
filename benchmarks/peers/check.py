"""Whether the peers are given the same problem: residuals of one network, twice."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrba.core import use_precision
from vrba.pinn import Evaluator, Recipe, Trainer
from vrba.problems import EQUATIONS, Formulation, Problem

from .cases import END_WEIGHT, INITIAL_WEIGHT, Case

_TOLERANCE = 1e-12  # of the largest


def check_same(case: Case, problem: Problem) -> None:
    """Raises if values, residuals, or other terms of the loss differ between the case
    and vrba's problem."""
    with use_precision("float64"):
        small = Recipe(num_points=64, pool_size=64, num_held_out=16)
        trainer = Trainer(Evaluator(Formulation(problem), small, 0))
        params = trainer.evaluator.initial_params()
        random = np.random.default_rng(0)
        points = jnp.asarray(random.uniform(case.lower, case.upper, (64, 2)))
        network = eqx.combine(params, trainer.evaluator.skeleton)
        value = lambda point: case.output(
            jnp, point, network(jnp.stack(case.inputs(jnp, point)))[0]
        )
        residual = jax.vmap(lambda point: residual_at(case, value, point))(points)
        rows = points, jnp.zeros((64, 0))
        own = trainer.evaluator.residual(params, EQUATIONS, rows)[:, 0]
        _compare("residuals", residual, own)
        _compare(
            "values",
            jax.vmap(value)(points),
            trainer.evaluator.fields(params, points)["u"],
        )
        _check_conditions(case, trainer, params, value)


def _check_conditions(case: Case, trainer: Trainer, params: Any, value: Any) -> None:
    """The other term that a peer may have: errors of given values, with its weight."""
    weights = dict(trainer.evaluator.term_weights)
    known = [(case.initial, INITIAL_WEIGHT, 1), (case.end, END_WEIGHT, 0)]
    given = [(fn, weight, axis) for fn, weight, axis in known if fn is not None]
    wanted = [1.0, *(weight for _, weight, _ in given)]
    if [weights.pop(EQUATIONS), *weights.values()] != wanted:
        raise ValueError(f"Peers have terms of weights {wanted}, vrba has {weights}.")
    for name, (values, _, axis) in zip(weights, given, strict=True):
        rows = trainer.pools[name]
        errors = lambda point, fn=values, axis=axis: value(point) - fn(jnp, point[axis])
        own = trainer.evaluator.residual(params, name, rows)[:, 0]
        _compare(f"errors of `{name}`", jax.vmap(errors)(rows[0]), own)


def residual_at(case: Case, value: Any, point: Any) -> Any:
    """The residual of the case, with derivatives by JAX."""

    def derivative(*which):
        found = value
        for number in which:
            found = _partial(found, jnp.eye(2)[number])
        return found(point)

    return case.residual(jnp, *point, value(point), derivative)


def _partial(function, direction):
    return lambda point: jax.jvp(function, (point,), (direction,))[1]


def _compare(name: str, theirs: Any, ours: Any) -> None:
    distance = float(jnp.max(jnp.abs(theirs - ours)) / jnp.max(jnp.abs(ours)))
    if not distance < _TOLERANCE:
        raise ValueError(f"The {name} of peers and vrba differ by {distance:.1e}.")
