"""Any optax transform as an optimizer; L-BFGS among them."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from ..core import InputError, Status, check_count, check_trainable, select_tree
from ._base import AbstractInfo, AbstractMethod
from .objective import AbstractObjective


class FromOptaxInfo(AbstractInfo):
    """What happened; loss and gradient are those where the step began."""

    value_is_old: ClassVar[bool] = True
    gradient_is_old: ClassVar[bool] = True

    value: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    num_evaluations: Int[Array, ""]
    is_stuck: Bool[Array, ""]
    status: Status


class FromOptax(AbstractMethod):
    """`FromOptax(optax.adam(1e-3))`: the transform's updates, step by step.

    Transforms with a line search of their own get the loss as a function, and what
    they evaluated last is not evaluated again. A step from a loss that is not finite
    changes nothing.
    """

    transform: Any

    def __check_init__(self):
        """The transform has `init` and `update`."""
        if not (hasattr(self.transform, "init") and hasattr(self.transform, "update")):
            raise InputError(
                "`transform` must be an optax transform such as `optax.adam(1e-3)`, "
                f"got {self.transform!r}."
            )

    @property
    def needs_residuals(self) -> bool:
        """A loss is enough."""
        return False

    def is_compiled(self, state: Any) -> bool:
        """Steps can be compiled."""
        return True

    def init(self, objective: AbstractObjective, params: Any) -> Any:
        """The transform's own state."""
        trained = eqx.filter(params, eqx.is_inexact_array)
        check_trainable(jax.tree.leaves(trained))
        return self.transform.init(trained)

    def objective_changed(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> Any:
        """A loss that the transform remembers is forgotten."""
        if not _remembers(state):
            return state
        unknown = jnp.full_like(_recall(state, "value"), jnp.inf)
        return optax.tree.set(state, _is_of_search, value=unknown)

    def step(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> tuple[Any, Any, FromOptaxInfo]:
        """One update."""
        trained, fixed = eqx.partition(params, eqx.is_inexact_array)
        value_fn = _with_own_gradient(objective, fixed)
        value, gradient, is_known = _value_and_gradient(objective, params, state)
        ascent = jax.tree.map(jnp.conj, gradient)
        transform = optax.with_extra_args_support(self.transform)
        with jax.numpy_dtype_promotion("standard"):  # optax mixes integers and floats
            updates, new_state = transform.update(
                ascent, state, trained, value=value, grad=gradient, value_fn=value_fn
            )
        norm = optax.tree.norm(gradient)
        is_finite = jnp.isfinite(value) & jnp.isfinite(norm)
        new = optax.apply_updates(trained, updates)
        new, new_state = select_tree(is_finite, (new, new_state), (trained, state))
        has_failed = _remembers(state) & (optax.tree.norm(updates) == 0)
        is_stuck = ~is_finite | has_failed
        status = Status.where(is_stuck, Status.no_descent, Status.ok)
        status = Status.where(is_finite, status, Status.nonfinite_objective)
        count = jnp.where(is_known, 0, 1) + _num_trials(new_state)
        info = FromOptaxInfo(value, norm, count, is_stuck, status)
        return eqx.combine(new, fixed), new_state, info


def lbfgs(memory: int = 20, max_trials: int = 30) -> FromOptax:
    """L-BFGS of optax with its zoom search, for networks too large for a matrix."""
    check_count(memory=memory, max_trials=max_trials)
    search = optax.scale_by_zoom_linesearch(
        max_linesearch_steps=max_trials, initial_guess_strategy="one"
    )
    return FromOptax(optax.lbfgs(memory_size=memory, linesearch=search))


def _remembers(state: Any) -> bool:
    """Whether a line search keeps the loss and gradient that it ended with."""
    return _recall(state, "grad") is not None


def _recall(state: Any, name: str) -> Any:
    """A field of a line search's state; parameters may have the same name."""
    return optax.tree.get(state, name, filtering=_is_of_search)


def _is_of_search(path: Any, value: Any) -> bool:
    return "LinesearchState" in getattr(path[-1], "tuple_name", "")


def _value_and_gradient(objective, params, state):
    """Remembered if they can be; and whether they were."""
    fresh = lambda: objective.value_and_gradient(params)
    if not _remembers(state):
        return *fresh(), jnp.zeros((), bool)
    value, gradient = _recall(state, "value"), _recall(state, "grad")
    is_known = jnp.isfinite(value)
    both = jax.lax.cond(is_known, lambda: (value, gradient), fresh)
    return *both, is_known


def _with_own_gradient(objective: AbstractObjective, fixed: Any) -> Any:
    """The loss as a function whose gradient is the objective's own, in blocks."""

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
    """Evaluations of the transform's own line search."""
    info = _recall(state, "info")
    trials = getattr(info, "num_linesearch_steps", 0)
    return jnp.asarray(trials, jnp.int32)
