"""Before training: scales from the data, the form of conditions, and their weights."""

import dataclasses
import math
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..problems import (
    EQUATIONS,
    Data,
    Dirichlet,
    Formulation,
    Initial,
    Residual,
    attach_unknowns,
)
from .evaluator import Evaluator, Rows
from .preparation import FormRace, Preparation
from .recipe import Recipe
from .state import TrainState
from .traces import NUM_ROWS, traces_of
from .trainer import Trainer

_USUAL_SCALES = (1 / 3, 3.0)  # left as they are
_RACE_STEPS = 5  # between two looks at the clock
_RACE_SHARE = 10  # of all steps, at most one in so many


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A problem ready for training, and parameters that a race left, if there was one.

    `begun` is the clock's time (`time.monotonic`) when it began; `None` for a run that
    is resumed.
    """

    evaluator: Evaluator
    params: Any
    begun: float | None


def prepare(
    formulation: Formulation,
    recipe: Recipe,
    seed: int,
    minutes: float | int | None,
    like: Preparation | None = None,
) -> Prepared:
    """Find scales, weights and the form of the conditions of a new run.

    Scales and form are those of `like`, if training starts from another network.
    """
    begun = time.monotonic()
    scales = find_scales(formulation) if recipe.has_scales and like is None else {}
    found = like or Preparation(recipe.exact_conditions, scales=scales)
    make = lambda found: Evaluator(formulation, recipe, seed, preparation=found)
    plain = chosen = make(found)
    is_raced = like is None and _can_race(chosen.formulation.exact, recipe, minutes)
    if is_raced:
        plain = make(dataclasses.replace(found, is_exact=False))
    weights = recipe.balance.initial_weights(lambda: _initial_traces(plain), EQUATIONS)
    weighted = lambda one: _with_weights(one, weights)
    evaluator, params = weighted(chosen), None
    if is_raced:
        evaluator, params = _race(evaluator, weighted(plain), minutes)
    return Prepared(evaluator, params, begun)


def _with_weights(evaluator: Evaluator, weights: dict[str, float]) -> Evaluator:
    """Return the evaluator with weights; its problem has its form already."""
    found = dataclasses.replace(evaluator.preparation, weights=weights)
    seed, form = evaluator.seed, evaluator.formulation
    return Evaluator(form, evaluator.recipe, seed, preparation=found)


def find_scales(formulation: Formulation) -> dict[str, float]:
    """Return the largest given value of each field, where it is far from one.

    Values are those of `Initial`, `Dirichlet` and `Data`. A problem with an ansatz of
    its own has no scales.
    """
    if formulation.ansatz is not None:
        return {}
    largest: dict[str, float] = {}
    for name, condition in formulation.conditions.items():
        is_rate = isinstance(condition, Initial) and condition.order > 0
        if is_rate or not isinstance(condition, Initial | Dirichlet | Data):
            continue
        field = condition.field or formulation.problem.fields[0]
        residual = Residual(formulation, name)
        size = float(np.max(np.abs(_without_network(residual)), initial=0.0))
        largest[field] = max(largest.get(field, 0.0), size)
    low, high = _USUAL_SCALES
    is_usual = lambda size: size == 0 or low <= size <= high or not math.isfinite(size)
    return {name: size for name, size in largest.items() if not is_usual(size)}


def _without_network(residual: Residual) -> Float[np.ndarray, "points eqs"]:
    """Return the residual of a condition for fields that are zero."""
    rows = _sample(residual, 0)
    problem = residual.formulation.problem
    zeros = lambda inputs: jnp.zeros(residual.formulation.num_outputs, inputs.dtype)
    network = attach_unknowns(zeros, problem.unknowns, rows[0].dtype)
    embedding = lambda *point: jnp.stack(point)
    found = jax.jit(jax.vmap(lambda row: residual(embedding, network, row)))(rows)
    return np.asarray(found)


def _sample(residual: Residual, seed: int) -> Rows:
    points, numbers = residual.sample(NUM_ROWS, seed=seed)
    return jnp.asarray(points[:NUM_ROWS], float), jnp.asarray(numbers[:NUM_ROWS], float)


def _initial_traces(evaluator: Evaluator) -> dict[str, float]:
    rows = {n: _sample(term.residual, 0) for n, term in evaluator.terms.items()}
    return traces_of(evaluator, evaluator.terms, evaluator.initial_params(), rows)


def _can_race(form: Any, recipe: Recipe, minutes: float | int | None) -> bool:
    """Whether both forms of the conditions exist, differ, and there is time."""
    race, has_steps = recipe.race, recipe.optimizer.needs_residuals
    if form is None or race is None or not form.names or not has_steps:
        return False
    is_known = any(one is not None and one.has_known_part for one in form.fields)
    is_long = minutes is not None or _num_race_steps(recipe, race) >= _RACE_STEPS
    return is_known and is_long


def _num_race_steps(recipe: Recipe, race: FormRace) -> int:
    if recipe.max_steps is None:
        return race.max_steps
    return min(race.max_steps, recipe.max_steps // _RACE_SHARE)


def _race(
    exact: Evaluator, plain: Evaluator, minutes: float | int | None
) -> tuple[Evaluator, Any]:
    """Train both forms for a short time; return the one with the lower score, with its
    parameters."""
    recipe = exact.recipe
    race: Any = recipe.race
    limit = math.inf if minutes is None else 2 * race.time_share * 60.0 * minutes
    begun, done, num_steps = time.monotonic(), 0, _num_race_steps(recipe, race)
    runners = [_Runner(exact), _Runner(plain)]
    while done < num_steps and (not done or time.monotonic() - begun < limit):
        count = min(_RACE_STEPS, num_steps - done)
        for runner in runners:
            runner.advance(count)
        done += count
    scores = [float(one.state.best_score) for one in runners]
    winner = runners[1] if scores[1] < scores[0] else runners[0]
    evaluator = winner.trainer.evaluator
    found = {"exact": scores[0], "penalty": scores[1], "steps": float(done)}
    preparation = dataclasses.replace(evaluator.preparation, race=found)
    where = lambda one: one.preparation
    return eqx.tree_at(where, evaluator, preparation), winner.state.best_params


class _Runner:
    """One form of the conditions in a race."""

    def __init__(self, evaluator: Evaluator):
        self.trainer = Trainer(evaluator)
        self.state: TrainState = self.trainer.init()

    def advance(self, num_steps: int) -> None:
        """Make some steps and a check."""
        if self.trainer.needs_resample(self.state):
            self.state = self.trainer.resample(self.state)
        self.state, _ = self.trainer.advance(self.state, num_steps)
        self.state, _ = self.trainer.check(self.state)
