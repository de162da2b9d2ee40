"""Which problems can be solved slab by slab."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..problems import (
    EQUATIONS,
    AbstractInterfaceCondition,
    Data,
    Formulation,
    Initial,
    Mean,
)
from .evaluator import Evaluator

_NUM_CHECKED = 1024  # points, to find out whether the domain changes in time


def initials_of(formulation: Formulation) -> dict[str, Initial]:
    """The initial conditions of a problem, by name."""
    conditions = formulation.conditions.items()
    return {name: one for name, one in conditions if isinstance(one, Initial)}


def why_not_marched(evaluator: Evaluator) -> str:
    """Why a problem cannot be solved slab by slab; else empty."""
    problem = evaluator.formulation.problem
    formulation, recipe = Formulation(problem), evaluator.recipe
    initials = initials_of(formulation)
    coordinates = {one.on for one in initials.values()}
    if len(coordinates) != 1:
        return "it has no initial conditions on one coordinate"
    time = coordinates.pop()
    if problem.unknowns or _has(formulation, Data):
        return "it has unknown coefficients or data"
    if formulation.ansatz is not None:
        return "it has an `Ansatz` of its own"
    if time in formulation.periods or time in formulation.fourier_features:
        return f"its inputs are periodic functions of `{time}`"
    if not recipe.optimizer.needs_residuals:
        return "its optimizer is of first order"
    conditions = formulation.conditions.items()
    others = [one for name, one in conditions if name not in initials]
    if any(getattr(one, "on", None) == time for one in others):
        return f"it has other conditions across `{time}`"
    if not _has_all_orders(formulation, initials, time):
        return f"its initial conditions do not start an evolution along `{time}`"
    if any(isinstance(one, Mean) and time not in one.fixed for one in others):
        return f"it has a mean over all values of `{time}`"
    if not _is_product(formulation, initials, time):
        return f"its domain or conditions change along `{time}`"
    return ""


def _has(formulation: Formulation, kind: type) -> bool:
    return any(isinstance(one, kind) for one in formulation.conditions.values())


def _has_all_orders(
    formulation: Formulation, initials: dict[str, Initial], time: str
) -> bool:
    """Whether each of these fields has a value and all rates below the time order."""
    place = formulation.domain.position(time)
    residual = formulation.terms()[EQUATIONS]
    highest = max(index[place] for index in residual.indices)
    orders: dict[str | None, set[int]] = {}
    for one in initials.values():
        orders.setdefault(one.field, set()).add(one.order)
    counts = [len(found) for found in orders.values()]
    is_complete = all(found == set(range(len(found))) for found in orders.values())
    return is_complete and max(counts) == highest


def _is_product(
    formulation: Formulation, initials: dict[str, Initial], time: str
) -> bool:
    """Whether the domain and the parts of its boundary are the same at all times.

    Then points remain points of the same part if their times are exchanged.
    """
    domain = formulation.domain
    if domain.num_available is not None:
        return False
    place, generator = domain.position(time), np.random.default_rng(0)
    points = domain.sample(_NUM_CHECKED, seed=0)
    shuffle = lambda rows: _with_times(rows, place, generator.permutation(len(rows)))
    if not np.all(domain.contains(shuffle(points))):
        return False
    for name, one in formulation.conditions.items():
        if isinstance(one, AbstractInterfaceCondition):
            found, _ = one.sample(domain, _NUM_CHECKED, seed=0)
            level_fn = one.level_set(domain).level
            limit = math.sqrt(jnp.finfo(float).eps) * _largest(level_fn, points)
            if not _largest(level_fn, shuffle(found)) <= limit:
                return False
            continue
        where = getattr(one, "where", None)
        if name in initials or where is None:
            continue
        found, _ = one.sample(domain, _NUM_CHECKED, seed=0)
        if not np.all(where(*shuffle(np.asarray(found)).T)):
            return False
    return True


def _largest(level_fn: Callable[..., Any], points: np.ndarray) -> float:
    """The largest size of a level at some points."""
    found = jax.jit(jax.vmap(level_fn))(jnp.asarray(points, float))
    return float(jnp.max(jnp.abs(found)))


def _with_times(points: np.ndarray, place: int, order: np.ndarray) -> np.ndarray:
    found = points.copy()
    found[:, place] = points[order, place]
    return found
