"""Continuation in a run: when it starts, and its next problem."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..core import InputError
from ..problems import EQUATIONS
from ..runs import next_multiple
from .accuracy import measure_residuals
from .continuation import (
    Continuation,
    ContinuationState,
    dominating_factor,
    is_small,
    is_stuck,
)
from .evaluator import Evaluator
from .slab_checks import why_not_marched
from .state import Check, TrainState, replaced
from .traces import NUM_ROWS, TermDifference, traces_of

MAX_STUCK = 5  # resamplings in a row without descent


def continuation_of(evaluator: Evaluator) -> Continuation | None:
    """The continuation of the recipe, if it applies to the problem."""
    settings, optimizer = evaluator.recipe.continuation, evaluator.recipe.optimizer
    if settings is None:
        return None
    if not optimizer.needs_residuals:
        if settings.coefficient is None:
            return None
        raise InputError(
            f"`Continuation({settings.coefficient!r}, ...)` needs an optimizer of "
            "second order, such as `LevenbergMarquardt()`, got "
            f"{type(optimizer).__name__}."
        )
    return settings if settings.applies_to(evaluator.formulation) else None


def is_marched(evaluator: Evaluator) -> bool:
    """Whether the problem is solved slab by slab if training is stuck."""
    is_wanted = evaluator.recipe.time_marching is not None
    return is_wanted and not why_not_marched(evaluator)


def has_easier_problem(state: TrainState) -> bool:
    """Whether a state trains an easier problem than that of the run."""
    return state.continuation is not None and state.continuation.is_easier


def needs_way_out(state: TrainState) -> bool:
    """Whether no step lowers a large loss, and nothing was tried yet."""
    known = state.continuation
    if known is None or bool(known.is_over) or int(state.num_stuck) < MAX_STUCK:
        return False
    return not is_small(state.best_score, state.first_score)


def next_check(trainer: Any, state: TrainState) -> int:
    """When a state is checked: now, if no step lowers the loss and there is a way
    out."""
    done, every = int(state.num_steps), trainer.recipe.check_every
    is_due = needs_way_out(state)
    if has_easier_problem(state):
        every = trainer.continuation.check_every
        is_due = int(state.num_stuck) >= MAX_STUCK
    return done if is_due else next_multiple(done, every)


def after_check(trainer: Any, state: TrainState, check: Check) -> tuple[Any, str]:
    """The state to go on from after a check of a trainer, and what changed, in words.

    A run that is stuck starts anew with an easier problem, or ends to march in time. An
    easier problem that is solved, or took its time, is followed by the next one.
    """
    if has_easier_problem(state):
        return _after_level(trainer, state)
    known: Any = state.continuation
    scores = jnp.concatenate([check.score[None], known.scores[:-1]])
    known = dataclasses.replace(known, scores=scores)
    state = replaced(state, continuation=known)
    step = int(state.num_steps)
    if bool(known.is_over):
        return state, ""
    if not needs_way_out(state) and not is_stuck(scores, state.first_score, step):
        return state, ""
    share = 100 * float(jnp.sqrt(check.score / state.first_score))
    text = f"Step {step}: stuck; the residual is {share:.3g} % of its start."
    if trainer.is_marched:
        known = dataclasses.replace(known, is_over=jnp.ones((), bool))
        text += " Solving one slab of time after another (--no-slabs to disable)."
        return replaced(state, continuation=known), text
    factor = _first_factor(trainer, known.first_params)
    text += f" Trying {_changed_part(trainer)} {factor:.3g} times as large, then less "
    state = _restarted(trainer, state, known.first_params, factor)
    return state, text + "(--no-continuation to disable)."


def _after_level(trainer: Any, state: TrainState) -> tuple[TrainState, str]:
    known: Any = state.continuation
    settings, step = trainer.continuation, int(state.num_steps)
    num_steps = step - int(known.level_begin)
    evaluator, held_out = trainer.at(state).evaluator, trainer.held_out
    score = float(measure_residuals(evaluator, held_out, state.params).score)
    is_solved = score <= settings.share * float(state.first_score)
    is_late = num_steps >= settings.max_steps or int(state.num_stuck) >= MAX_STUCK
    if not is_solved and not is_late:
        return state, ""
    factor = settings.next_factor(float(known.factor), num_steps)
    state = _restarted(trainer, state, state.params, factor)
    how = f"Step {step}: {'solved' if is_solved else 'not solved'} after {num_steps}"
    if factor == 1:
        return state, f"{how} steps; now the problem itself."
    part = _changed_part(trainer)
    return state, f"{how} steps; now {part} {factor:.3g} times as large."


def _restarted(
    trainer: Any, state: TrainState, params: Any, factor: float
) -> TrainState:
    """The state before the first step of another problem."""
    known: Any = state.continuation
    level = dataclasses.replace(
        known,
        factor=jnp.asarray(factor, known.factor.dtype),
        level_begin=state.num_steps,
        num_levels=known.num_levels + 1,
        is_over=jnp.ones((), bool),
    )
    kept = ("num_steps", "num_resamples", "num_failed", "first_score")
    kept += ("best_params", "best_score", "best_step")
    found = {name: getattr(state, name) for name in kept}
    new = replaced(trainer.init(params), **found, continuation=level)
    return trainer.with_optimizer(new, 0)


def _first_factor(trainer: Any, params: Any) -> float:
    """The factor with which the highest derivatives dominate the equations."""
    evaluator: Evaluator = trainer.evaluator
    whole, rest = (
        evaluator.with_factor(factor, None).terms[EQUATIONS] for factor in (1.0, 0.0)
    )
    rows = jax.tree.map(lambda leaf: leaf[:NUM_ROWS], trainer.held_out[EQUATIONS])
    terms = {"top": TermDifference(whole, rest), "rest": rest}
    found = traces_of(evaluator, terms, params, dict.fromkeys(terms, rows))
    return dominating_factor(**found)


def _changed_part(trainer: Any) -> str:
    """What the continuation changes, in words."""
    if trainer.continuation.coefficient is not None:
        return trainer.continuation.coefficient
    evaluator: Evaluator = trainer.evaluator
    residual = evaluator.terms[EQUATIONS].residual
    problem = evaluator.formulation.problem
    order = residual.order
    first, *others = (index for index in residual.indices if sum(index) == order)
    if others or len(problem.fields) > 1:
        return f"the derivatives of order {order}"
    names = problem.domain.coordinates
    each = zip(names, first, strict=True)
    letters = [name for name, count in each for _ in range(count)]
    is_short = all(len(name) == 1 for name in names)
    inner = "".join(letters) if is_short else f"d({', '.join(letters)})"
    return f"{next(iter(problem.fields))}.{inner}"


def at_factor(trainer: Any, state: TrainState) -> Any:
    """The trainer of the problem that a state trains at present."""
    known: Any = state.continuation
    if trainer.continuation is None:
        return trainer
    where = lambda one: one.evaluator.terms[EQUATIONS].residual.factor
    return eqx.tree_at(where, trainer, known.factor)


def new_continuation(trainer: Any, params: Any) -> ContinuationState | None:
    """The state before the first step, if there is a way out when a run is stuck."""
    settings, evaluator = trainer.continuation, trainer.evaluator
    if settings is None and not trainer.is_marched:
        return None
    factor = 1.0
    if settings is not None and settings.coefficient is not None:
        factor = settings.first_factor(evaluator.formulation)
    every, dtype = evaluator.recipe.check_every, evaluator.dtype
    return ContinuationState.new(params, factor, every, dtype)


def leaves_training(trainer: Any, state: TrainState) -> bool:
    """Whether training was stuck, and slabs of time follow."""
    known: Any = state.continuation
    return trainer.is_marched and bool(known.is_over)
