"""First-order optimizers: any optax transform, L-BFGS and Adam."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int
from typing_extensions import override

from ..core import (
    InputError,
    Status,
    check_count,
    check_positive,
    check_trainable,
    select_tree,
)
from ._base import AbstractInfo, AbstractMethod, AbstractObjective
from .schedules import AbstractSchedule, Decaying


class FromOptaxInfo(AbstractInfo):
    """Measurements of one step. Loss and gradient are those before the step."""

    value_is_old: ClassVar[bool] = True
    gradient_is_old: ClassVar[bool] = True

    value: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    num_evaluations: Int[Array, ""]
    is_stuck: Bool[Array, ""]
    status: Status


class FromOptax(AbstractMethod):
    """An optax transform as an optimizer: `FromOptax(optax.adam(1e-3))`.

    A transform with a line search receives the loss as a function; the last evaluation
    of its search is used again in the next step. A step from a loss that is not finite
    changes nothing.
    """

    transform: Any

    def __check_init__(self):
        """Check that the transform has `init` and `update`."""
        if not (hasattr(self.transform, "init") and hasattr(self.transform, "update")):
            raise InputError(
                "`transform` must be an optax transform such as `optax.adam(1e-3)`, "
                f"got {self.transform!r}."
            )

    @property
    @override
    def needs_residuals(self) -> bool:
        return False

    @override
    def is_compiled(self, state: Any) -> bool:
        return True

    @override
    def init(self, objective: AbstractObjective, params: Any) -> Any:
        trained = eqx.filter(params, eqx.is_inexact_array)
        check_trainable(jax.tree.leaves(trained))
        return self.transform.init(trained)

    @override
    def objective_changed(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> Any:
        if not _has_line_search(state):
            return state
        unknown = jnp.full_like(_line_search_field(state, "value"), jnp.inf)
        return optax.tree.set(state, _is_in_line_search, value=unknown)

    @override
    def step(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> tuple[Any, Any, FromOptaxInfo]:
        trained, fixed = eqx.partition(params, eqx.is_inexact_array)
        value, gradient, is_reused = _value_and_gradient(objective, params, state)
        ascent = jax.tree.map(jnp.conj, gradient)
        transform = optax.with_extra_args_support(self.transform)
        value_fn = _with_own_gradient(objective, fixed)
        with jax.numpy_dtype_promotion("standard"):  # optax mixes integers and floats
            updates, new_state = transform.update(
                ascent, state, trained, value=value, grad=gradient, value_fn=value_fn
            )
        norm = optax.tree.norm(gradient)
        is_finite = jnp.isfinite(value) & jnp.isfinite(norm)
        new = optax.apply_updates(trained, updates)
        new, new_state = select_tree(is_finite, (new, new_state), (trained, state))
        has_failed = _has_line_search(state) & (optax.tree.norm(updates) == 0)
        is_stuck = ~is_finite | has_failed
        status = Status.where(is_stuck, Status.no_descent, Status.ok)
        status = Status.where(is_finite, status, Status.nonfinite_objective)
        count = jnp.where(is_reused, 0, 1) + _num_trials(new_state)
        info = FromOptaxInfo(value, norm, count, is_stuck, status)
        return eqx.combine(new, fixed), new_state, info


class Adam(AbstractMethod):
    """Optax's Adam with the learning rate `learning_rate * schedule.factor(step)`.

    `l2` times the parameters is added to the gradient before Adam rescales it. This is
    the coupled weight decay of torch's Adam: where gradients are small, it is strong.
    """

    learning_rate: float = 1e-3
    schedule: AbstractSchedule = Decaying()
    l2: float = 0.0

    def __check_init__(self):
        """Check that the settings are in range."""
        check_positive(learning_rate=self.learning_rate)
        if not 0 <= self.l2 < float("inf"):
            raise InputError(f"`l2` must not be negative or infinite, got {self.l2}.")

    @property
    @override
    def needs_residuals(self) -> bool:
        return False

    @override
    def is_compiled(self, state: Any) -> bool:
        return True

    @override
    def init(self, objective: AbstractObjective, params: Any) -> Any:
        return self._as_optax().init(objective, params)

    @override
    def objective_changed(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> Any:
        return state

    @override
    def step(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> tuple[Any, Any, FromOptaxInfo]:
        return self._as_optax().step(objective, params, state)

    def _as_optax(self) -> FromOptax:
        rate = lambda count: self.learning_rate * self.schedule.factor(count)
        adam = optax.adam(rate)
        if self.l2 == 0:
            return FromOptax(adam)
        return FromOptax(optax.chain(optax.add_decayed_weights(self.l2), adam))


def lbfgs(memory: int = 20, max_trials: int = 30) -> FromOptax:
    """Return optax's L-BFGS with a zoom line search, for large smooth problems.

    It stores `memory` pairs of vectors instead of a matrix.
    """
    check_count(memory=memory, max_trials=max_trials)
    search = optax.scale_by_zoom_linesearch(
        max_linesearch_steps=max_trials, initial_guess_strategy="one"
    )
    return FromOptax(optax.lbfgs(memory_size=memory, linesearch=search))


def _has_line_search(state: Any) -> bool:
    """Whether a line search in `state` stores its final loss and gradient."""
    return _line_search_field(state, "grad") is not None


def _line_search_field(state: Any, name: str) -> Any:
    """Return a field of the line search's state, not a parameter of that name."""
    return optax.tree.get(state, name, filtering=_is_in_line_search)


def _is_in_line_search(path: Any, value: Any) -> bool:
    return "LinesearchState" in getattr(path[-1], "tuple_name", "")


def _value_and_gradient(objective, params, state):
    """Return loss, gradient, and whether they were stored by the last line search."""
    evaluate = lambda: objective.value_and_gradient(params)
    if not _has_line_search(state):
        return *evaluate(), jnp.zeros((), bool)
    stored = _line_search_field(state, "value"), _line_search_field(state, "grad")
    is_reused = jnp.isfinite(stored[0])
    return *jax.lax.cond(is_reused, lambda: stored, evaluate), is_reused


def _with_own_gradient(objective: AbstractObjective, fixed: Any) -> Any:
    """Return the loss as a function differentiated by the objective's own method."""

    @jax.custom_vjp
    def value_fn(trained):
        return objective.value(eqx.combine(trained, fixed))

    def forwards(trained):
        return objective.value_and_gradient(eqx.combine(trained, fixed))

    def backwards(gradient, factor):
        return (jax.tree.map(lambda g: factor * g, gradient),)

    value_fn.defvjp(forwards, backwards)
    return value_fn


def _num_trials(state: Any) -> Array:
    """Return the number of trials of the last line search; 0 without one."""
    info = _line_search_field(state, "info")
    trials = getattr(info, "num_linesearch_steps", 0)
    return jnp.asarray(trials, jnp.int32)
