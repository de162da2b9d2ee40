"""What a run that trains an operator does between two looks at the clock."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..adapt import Hybrid
from ..core import Status, as_arrays, choose, float_dtype
from ..data import Pairs, is_even
from ..models import AbstractOperatorArchitecture, count_params
from ..optim import AbstractObjective
from ._base import AbstractTrainer, as_root, stream
from .operator_recipe import OperatorRecipe
from .samples import Samples, predict
from .scaling import Scaling

_CHUNK = 50  # functions that are evaluated at a time


class OperatorState(eqx.Module):
    """All that the next step needs."""

    params: Any
    optimizer: Any
    policy: Any
    mass: Float[Array, " rows"]
    order: Int[Array, " rows"]
    num_steps: Int[Array, ""]
    num_since_redraw: Int[Array, ""]
    num_redraws: Int[Array, ""]
    best_params: Any
    best_score: Float[Array, ""]
    best_step: Int[Array, ""]
    num_worse: Int[Array, ""]  # checks since the best one


class OperatorCheck(eqx.Module):
    """Relative L2 errors of functions that are never trained on."""

    errors: Float[Array, " rows"]
    score: Float[Array, ""]


class OperatorSteps(eqx.Module):
    """What came of many steps."""

    num_steps: Int[Array, ""]
    info: Any


class _Known(AbstractObjective):
    """A loss whose value and gradient were found together with the residual."""

    params: Any
    found: Any

    def value(self, params: Any) -> Float[Array, ""]:
        """That of one place only."""
        return self.value_and_gradient(params)[0]

    def value_and_gradient(self, params: Any) -> tuple[Float[Array, ""], Any]:
        """As found."""
        if params is not self.params:
            raise ValueError(
                "The optimizer asks for the loss at other parameters: operators are "
                "trained by optimizers that search no lines, such as `Adam`."
            )
        return self.found


class OperatorTrainer(AbstractTrainer):
    """Data, a recipe and a network: everything that a run does not change."""

    recipe: OperatorRecipe
    scaling: Scaling
    train: Samples
    valid: Samples
    skeleton: Any
    base: Float[Array, "*grid"] | None
    gaps: tuple[float, ...] | None = eqx.field(static=True)
    root: np.ndarray

    def __init__(self, pairs: Pairs, recipe: OperatorRecipe, seed: int):
        dtype = float_dtype(recipe.dtype)
        self.recipe, self.root = recipe, as_root(seed)
        self.scaling = Scaling.of(pairs, dtype, centres=recipe.centres)
        given = (self.scaling, dtype, recipe.splits)
        self.train = Samples.of(pairs, "train", *given)
        self.valid = Samples.of(pairs, "valid", *given)
        _check_rows(self.train, self.valid, recipe)
        network = self._network()
        self.skeleton = eqx.filter(network, eqx.is_inexact_array, inverse=True)
        self.base = _base(pairs, recipe, dtype)
        self.gaps = _gaps(pairs, self.scaling, recipe)

    def _network(self) -> Any:
        """The network before training: built, or the user's own as it is."""
        model, rows = self.recipe.model, self.train
        if not isinstance(model, AbstractOperatorArchitecture):
            return model
        shapes = (rows.inputs.shape[1:], rows.targets.shape[1:], rows.places.shape[-1])
        key, dtype = stream(self.root, 0), float_dtype(self.recipe.dtype)
        return model.build(*shapes, key=key, dtype=dtype)

    def build(self) -> Any:
        """The parameters before training."""
        return as_arrays(eqx.filter(self._network(), eqx.is_inexact_array))

    @property
    def num_epoch_steps(self) -> int:
        """Steps in which every sample can come once."""
        return max(self.train.num_rows // self.recipe.batch_size, 1)

    @property
    def redraw_every(self) -> int:
        """Steps between two refreshments."""
        return self.recipe.redraw_every or self.num_epoch_steps

    def init(self, params: Any = None) -> OperatorState:
        """The state before the first step."""
        recipe, rows = self.recipe, self.train
        params = as_arrays(self.build() if params is None else params)
        dtype = float_dtype(recipe.dtype)
        policy = recipe.policy.init(
            rows.targets.shape[:-1] if _is_joint(recipe.policy) else rows.num_rows,
            base=self.base,
            dtype=recipe.dtype,
        )
        zero = jnp.zeros((), jnp.int32)
        return OperatorState(
            params,
            recipe.optimizer.init(_Known(None, None), params),
            policy,
            recipe.policy.mass(policy).astype(dtype),
            jnp.arange(rows.num_rows, dtype=jnp.int32),
            zero,
            jnp.asarray(self.redraw_every, jnp.int32),
            zero,
            params,
            jnp.asarray(jnp.inf, dtype),
            zero,
            zero,
        )

    def like(self, stage: int) -> OperatorState:
        """A state of the right structure, to read a file."""
        del stage
        return self.init()

    def stage(self, state: OperatorState) -> int:
        """There is one."""
        del state
        return 0

    @property
    def seed(self) -> int:
        """What all random numbers of the run follow from."""
        return int(self.root)

    @property
    def num_params(self) -> int:
        """How many numbers are trained."""
        return count_params(self.build(), complex_as=2)

    def ending(self, state: OperatorState) -> Any:
        """Whether there was no better iterate for as long as is allowed."""
        patience = self.recipe.patience
        has_ended = patience is not None and int(state.num_worse) >= patience
        return Status.no_improvement if has_ended else None

    def is_turning(self, state: OperatorState) -> bool:
        """Whether the next step is the first of another stage."""
        return bool(self.recipe.optimizer.is_due(state.optimizer))

    def is_due(self, state: OperatorState) -> bool:
        """Whether the distribution must be refreshed before the next step."""
        return int(state.num_since_redraw) >= self.redraw_every

    def redraw(self, state: OperatorState) -> OperatorState:
        """The distribution that the weights have come to, and the order of an epoch."""
        return _redraw(self, state)

    def advance(
        self, state: OperatorState, num_steps: int
    ) -> tuple[OperatorState, OperatorSteps]:
        """So many steps, or fewer if the loss is not finite: nothing comes of such."""
        return _advance(self, state, jnp.asarray(num_steps, jnp.int32))

    def check(self, state: OperatorState) -> tuple[OperatorState, OperatorCheck]:
        """Errors on the validation set; the best iterate so far is kept."""
        errors = relative_errors(self, state.params, self.valid)
        score = jnp.mean(errors)
        is_better = score < state.best_score
        old = (
            state.best_params,
            state.best_score,
            state.best_step,
            state.num_worse + 1,
        )
        new = (state.params, score, state.num_steps, jnp.zeros((), jnp.int32))
        best = choose(is_better, new, old)
        names = ("best_params", "best_score", "best_step", "num_worse")
        parts = [lambda s, name=name: getattr(s, name) for name in names]
        where = lambda s: tuple(part(s) for part in parts)
        return eqx.tree_at(where, state, best), OperatorCheck(errors, score)


def _check_rows(train: Samples, valid: Samples, recipe: OperatorRecipe) -> None:
    """Refuses samples that cannot be trained on."""
    for name, rows in (("train", train), ("valid", valid)):
        if rows.num_rows == 0:
            raise ValueError(f"There are no functions in the part `{name}`.")
        if not bool(jnp.all(jnp.isfinite(rows.targets))):
            raise ValueError(f"Some outputs of the part `{name}` are not finite.")
        if not bool(jnp.all(jnp.isfinite(rows.inputs))):
            raise ValueError(f"Some inputs of the part `{name}` are not finite.")
    if recipe.batch_size > train.num_rows:
        raise ValueError(
            f"`batch_size` is {recipe.batch_size}, more than the {train.num_rows} "
            "samples to train on."
        )
    recipe.batches.check(train.num_rows, recipe.batch_size, recipe.redraw_every)


def _is_joint(policy: Any) -> bool:
    """Whether a policy weighs the points of functions, not only functions."""
    return isinstance(policy, Hybrid)


def _base(pairs: Pairs, recipe: OperatorRecipe, dtype: Any) -> Any:
    """The share of each point in an integral, where they differ."""
    shares = pairs.quadrature()
    if not _is_joint(recipe.policy) or np.ptp(shares) == 0:
        return None
    num_rows = pairs.num_train
    if recipe.splits is not None:
        raise ValueError("`splits` needs points that are even along every axis.")
    return jnp.broadcast_to(jnp.asarray(shares, dtype), (num_rows, *shares.shape))


def _gaps(pairs: Pairs, scaling: Scaling, recipe: OperatorRecipe) -> Any:
    """Between points along each axis that a row has, in the network's units."""
    if pairs.axes is None:
        return None
    spans = np.asarray(scaling.upper - scaling.lower, float)
    gaps = []
    for name, axis, span in zip(pairs.names, pairs.axes, spans, strict=True):
        if name == recipe.splits:
            continue
        if len(axis) < 2 or not is_even(axis):
            return None
        gaps.append(float(2 * (axis[1] - axis[0]) / span))
    return tuple(gaps)


@eqx.filter_jit
def _redraw(trainer: OperatorTrainer, state: OperatorState) -> OperatorState:
    recipe = trainer.recipe
    key = jax.random.fold_in(stream(trainer.root, 1), state.num_redraws)
    return eqx.tree_at(
        lambda s: (s.mass, s.order, s.num_since_redraw, s.num_redraws),
        state,
        (
            recipe.policy.mass(state.policy).astype(state.mass.dtype),
            recipe.batches.order(trainer.train.num_rows, key=key),
            jnp.zeros((), jnp.int32),
            state.num_redraws + 1,
        ),
    )


@eqx.filter_jit
def _advance(trainer, state, num_steps):
    arrays, rest = eqx.partition(state, eqx.is_array)

    def goes_on(carry):
        count, _, info = carry
        return (count < num_steps) & (info.status != Status.nonfinite_objective)

    def again(carry):
        new, info = _step(trainer, eqx.combine(carry[1], rest))
        return carry[0] + 1, eqx.filter(new, eqx.is_array), info

    shapes = eqx.filter_eval_shape(_step, trainer, state)[1]
    info = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    begun = (jnp.zeros((), jnp.int32), arrays, info)
    count, arrays, info = jax.lax.while_loop(goes_on, again, begun)
    return eqx.combine(arrays, rest), OperatorSteps(count, info)


def _step(trainer: OperatorTrainer, state: OperatorState) -> tuple[OperatorState, Any]:
    """One step: the residual gives the gradient, and the weights of the next one."""
    recipe, rows = trainer.recipe, trainer.train
    key = jax.random.fold_in(stream(trainer.root, 2), state.num_steps)
    ids = recipe.batches.ids(
        recipe.policy,
        state.mass,
        state.order,
        state.num_since_redraw % trainer.num_epoch_steps,
        recipe.batch_size,
        key=key,
    )
    functions, places, targets = rows.take(ids)

    def loss(params):
        network = eqx.combine(params, trainer.skeleton)
        predicted = predict(network, functions, places, rows)
        residual = recipe.misfit.residual(predicted, targets, trainer.gaps)
        seen = residual
        if not _is_joint(recipe.policy):
            seen = residual.reshape(residual.shape[0], -1)
        policy = recipe.policy.update(state.policy, jax.lax.stop_gradient(seen), ids)
        weight = recipe.policy.weights(policy, ids).astype(residual.dtype)
        return recipe.misfit.loss(weight, residual), policy

    (value, policy), gradient = jax.value_and_grad(loss, has_aux=True)(state.params)
    params, optimizer, info = recipe.optimizer.step(
        _Known(state.params, (value, gradient)), state.params, state.optimizer
    )
    state = eqx.tree_at(
        lambda s: (s.params, s.optimizer, s.policy, s.num_steps, s.num_since_redraw),
        state,
        (params, optimizer, policy, state.num_steps + 1, state.num_since_redraw + 1),
    )
    return state, info


@eqx.filter_jit
def relative_errors(
    trainer: OperatorTrainer, params: Any, rows: Samples
) -> Float[Array, " rows"]:
    """`|u - target|_2 / |target|_2` of each row, as the network sees them."""
    network = eqx.combine(params, trainer.skeleton)

    def one(row):
        functions, places, targets = rows.take(row[None])
        predicted = predict(network, functions, places, rows)
        axes = tuple(range(1, targets.ndim))
        size = jnp.sqrt(jnp.sum(targets**2, axis=axes))
        miss = jnp.sqrt(jnp.sum((predicted - targets) ** 2, axis=axes))
        return (miss / jnp.where(size > 0, size, 1))[0]

    ids = jnp.arange(rows.num_rows, dtype=jnp.int32)
    return jax.lax.map(one, ids, batch_size=min(_CHUNK, rows.num_rows))


@eqx.filter_jit
def outputs_of(
    trainer: OperatorTrainer, params: Any, scaled: Float[Array, "funcs *in_grid in"]
) -> Float[Array, "funcs *grid channels"]:
    """What the operator makes of scaled functions, in its own units, with the axes of
    the data."""
    network, rows = eqx.combine(params, trainer.skeleton), trainer.train

    def one(function):
        if rows.times is None:
            return network(function, rows.places)
        found = jax.lax.map(lambda time: network(function, rows.at(time)), rows.times)
        return jnp.moveaxis(found, 0, rows.time_axis)

    found = jax.lax.map(one, scaled, batch_size=min(_CHUNK, scaled.shape[0]))
    return trainer.scaling.back(found)
