"""The accuracy of an iterate: residuals on held-out points, error to a reference."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..core import InputError, use_precision
from ..problems import EQUATIONS, Formulation, Reference
from .evaluator import Evaluator, Rows
from .state import Check


@eqx.filter_jit
def measure_residuals(
    evaluator: Evaluator, held_out: dict[str, Rows], params: Any
) -> Check:
    """Residuals on held-out points; the score is the weighted sum of mean squares."""
    squares, largest = {}, {}
    for name, rows in held_out.items():
        residual = evaluator.residual(params, name, rows)
        squares[name] = jnp.mean(residual**2)
        largest[name] = jnp.max(jnp.abs(residual))
    weights = evaluator.term_weights
    weighted = [weights[name] * square for name, square in squares.items()]
    return Check(squares, largest, sum(weighted[1:], start=weighted[0]))


def residual_result(evaluator: Evaluator, params: Any, check: Check) -> dict[str, Any]:
    """Residuals and unknown coefficients of an iterate, for its result."""
    roots = {n: float(jnp.sqrt(square)) for n, square in check.mean_squares.items()}
    return {
        "residual_l2": roots[EQUATIONS],
        "residual_max": float(check.largest[EQUATIONS]),
        "score": float(check.score),
        "residuals": roots,
        "unknowns": evaluator.unknowns(params),
    }


def relative_error(evaluator: Evaluator, params: Any, reference: Reference) -> float:
    """`|u - reference| / |reference|` on the reference's grid inside the domain, over
    all its fields."""
    names = list(reference.values)
    is_inside = np.isfinite(np.ravel(reference.values[names[0]]))
    with use_precision(evaluator.recipe.dtype):
        points = jnp.asarray(reference.points()[is_inside], evaluator.recipe.dtype)
        found = evaluator.fields(params, points)
    true = [np.ravel(reference.values[name])[is_inside] for name in names]
    true = np.concatenate(true)
    ours = np.concatenate([np.asarray(found[name], float) for name in names])
    scale = np.linalg.norm(true) or 1.0  # a reference of zeros: the absolute error
    return float(np.linalg.norm(ours - true) / scale)


def errors_of(
    evaluator: Evaluator, selected: Any, last: Any, reference: Reference
) -> dict[str, float]:
    """The errors of two iterates, of the reference, and of the known unknowns."""
    found = {
        "last": relative_error(evaluator, last, reference),
        "selected": relative_error(evaluator, selected, reference),
        "of_reference": float(reference.error),
    }
    values = evaluator.unknowns(selected)
    for name, true in reference.unknowns.items():
        found[f"unknown {name}"] = abs(values[name] - true) / (abs(true) or 1.0)
    return found


def reference_of(
    formulation: Formulation, given: Reference | None = None
) -> Reference | None:
    """The given reference, or that of the problem, after checks."""
    problem = formulation.problem
    found = problem.reference if given is None else given
    if found is None:
        return None
    if given is None and callable(found):
        found = found()
    if callable(found):
        found = Reference.from_function(formulation.domain, found)
    if not isinstance(found, Reference):
        raise InputError(
            f"`reference` of {type(problem).__name__} must be a `Reference` or a "
            f"function of the coordinates, or return one, got {found!r}."
        )
    for name in found.unknowns:
        if name not in problem.unknowns:
            raise InputError(
                f"The reference has a true value of `{name}`, but the unknowns of the "
                f"problem are {', '.join(problem.unknowns) or 'none'}."
            )
    return found.check(formulation.domain, problem.fields)
