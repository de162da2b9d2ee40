"""How far an iterate is from a reference."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core import InputError, use_precision
from ..problems import Formulation, Reference
from .trainer import Trainer


def relative_error(trainer: Trainer, params: Any, reference: Reference) -> float:
    """`|u - reference| / |reference|` on the reference's grid, over its fields, where
    the grid is in the domain."""
    names = list(reference.values)
    is_inside = np.isfinite(np.ravel(reference.values[names[0]]))
    with use_precision(trainer.recipe.dtype):
        points = jnp.asarray(reference.points()[is_inside], trainer.recipe.dtype)
        found = trainer.fields(params, points)
    true = [np.ravel(reference.values[name])[is_inside] for name in names]
    true = np.concatenate(true)
    ours = np.concatenate([np.asarray(found[name], float) for name in names])
    scale = np.linalg.norm(true) or 1.0  # a reference of zero: the error itself
    return float(np.linalg.norm(ours - true) / scale)


def errors_of(
    trainer: Trainer, selected: Any, last: Any, reference: Reference
) -> dict[str, float]:
    """The errors of two iterates, and that of the reference itself; likewise of the
    unknowns whose true values are known."""
    found = {
        "last": relative_error(trainer, last, reference),
        "selected": relative_error(trainer, selected, reference),
        "of_reference": float(reference.error),
    }
    values = trainer.unknowns(selected)
    for name, true in reference.unknowns.items():
        found[f"unknown {name}"] = abs(values[name] - true) / (abs(true) or 1.0)
    return found


def reference_of(
    formulation: Formulation, given: Reference | None = None
) -> Reference | None:
    """The reference that is given, or else the problem's if it brings one, checked."""
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
