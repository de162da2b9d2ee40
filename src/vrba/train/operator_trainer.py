"""What a run that trains an operator does between two looks at the clock."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..adapt import Hybrid, residual_norm
from ..core import InputError, Status, as_arrays, float_dtype, select_tree
from ..data import Pairs, is_even
from ..models import count_params
from ..optim import AbstractObjective
from ._base import AbstractTrainer, as_root, stream
from .batches import Drawn
from .frame import Frame
from .operator_network import network_of, predict, relative_errors, skeleton_of
from .operator_recipe import OperatorRecipe, check_rows
from .samples import Samples
from .scaling import Scaling


class OperatorState(eqx.Module):
    """All that the next step needs."""

    params: Any
    optimizer: Any
    policy: Any
    ids: Int[Array, "steps batch"]  # of the samples of each step until the next draw
    num_steps: Int[Array, ""]
    num_since_resample: Int[Array, ""]
    num_resamples: Int[Array, ""]
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
            raise InputError(
                "The optimizer asks for the loss at other parameters: operators are "
                "trained by optimizers that search no lines, such as `Adam`."
            )
        return self.found


class OperatorTrainer(AbstractTrainer):
    """Data, a recipe and a network: everything that a run does not change."""

    recipe: OperatorRecipe
    frame: Frame
    train: Samples
    valid: Samples
    skeleton: Any
    gaps: tuple[float, ...] | None = eqx.field(static=True)
    root: np.ndarray

    def __init__(self, pairs: Pairs, recipe: OperatorRecipe, seed: int):
        dtype = float_dtype(recipe.dtype)
        self.recipe, self.root = recipe, as_root(seed)
        scaling = Scaling.of(pairs, dtype, centres=recipe.centres)
        self.frame = Frame.of(pairs, scaling, recipe.splits)
        self.train = Samples.of(pairs, "train", self.frame)
        self.valid = Samples.of(pairs, "valid", self.frame)
        _check_finite(self.train, self.valid)
        check_rows(recipe, pairs)
        self.skeleton = skeleton_of(self._network())
        self.gaps = _gaps(pairs, scaling, recipe)

    def _network(self) -> Any:
        """The network before training."""
        return network_of(self.recipe, self.frame, self.root)

    def build(self) -> Any:
        """The parameters before training."""
        return as_arrays(eqx.filter(self._network(), eqx.is_inexact_array))

    @property
    def num_epoch_steps(self) -> int:
        """Steps in which every sample can come once."""
        return max(self.train.num_rows // self.recipe.batch_size, 1)

    @property
    def resample_every(self) -> int:
        """Steps between two refreshments."""
        return self.recipe.resample_every or self.num_epoch_steps

    def init(self, params: Any = None) -> OperatorState:
        """The state before the first step."""
        recipe, rows = self.recipe, self.train
        params = as_arrays(self.build() if params is None else params)
        dtype = float_dtype(recipe.dtype)
        base, counts = None, rows.num_rows
        if _is_joint(recipe.policy):
            base, counts = self.frame.shares, rows.targets.shape[:-1]
            base = None if base is None else jnp.broadcast_to(base, counts)
        policy = recipe.policy.init(counts, base=base, dtype=recipe.dtype)
        zero = jnp.zeros((), jnp.int32)
        return OperatorState(
            params,
            recipe.optimizer.init(_Known(None, None), params),
            policy,
            jnp.zeros((self.resample_every, recipe.batch_size), jnp.int32),
            zero,
            jnp.asarray(self.resample_every, jnp.int32),
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

    @property
    def is_drawing(self) -> bool:
        """Whether the policy decides which samples come."""
        return self.recipe.policy.is_sampling() and isinstance(
            self.recipe.batches, Drawn
        )

    @property
    def weights_bytes(self) -> int:
        """The memory of what the policy keeps."""
        state = jax.eval_shape(lambda: self.init().policy)
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))

    def ending(self, state: OperatorState) -> Any:
        """Whether there was no better iterate for as long as is allowed."""
        patience = self.recipe.patience
        has_ended = patience is not None and int(state.num_worse) >= patience
        return Status.no_improvement if has_ended else None

    def is_stage_over(self, state: OperatorState) -> bool:
        """Whether the next step is the first of another stage."""
        return bool(self.recipe.optimizer.is_stage_over(state.optimizer))

    def needs_resample(self, state: OperatorState) -> bool:
        """Whether the distribution must be refreshed before the next step."""
        return int(state.num_since_resample) >= self.resample_every

    def resample(self, state: OperatorState) -> OperatorState:
        """Samples for the next steps, from what the weights have come to."""
        return _resample(self, state)

    def advance(
        self, state: OperatorState, num_steps: int
    ) -> tuple[OperatorState, OperatorSteps]:
        """So many steps, or fewer if the loss is not finite: nothing comes of such."""
        return _advance(self, state, jnp.asarray(num_steps, jnp.int32))

    def check(self, state: OperatorState) -> tuple[OperatorState, OperatorCheck]:
        """Errors on the validation set; the best iterate so far is kept."""
        network = eqx.combine(state.params, self.skeleton)
        errors = relative_errors(network, self.valid, self.recipe.batch_size)
        score = jnp.mean(errors)
        is_better = score < state.best_score
        old = (
            state.best_params,
            state.best_score,
            state.best_step,
            state.num_worse + 1,
        )
        new = (state.params, score, state.num_steps, jnp.zeros((), jnp.int32))
        best = select_tree(is_better, new, old)
        names = ("best_params", "best_score", "best_step", "num_worse")
        parts = [lambda s, name=name: getattr(s, name) for name in names]
        where = lambda s: tuple(part(s) for part in parts)
        return eqx.tree_at(where, state, best), OperatorCheck(errors, score)


def _check_finite(train: Samples, valid: Samples) -> None:
    """Refuses samples that cannot be trained on."""
    for name, rows in (("train", train), ("valid", valid)):
        if rows.num_rows == 0:
            raise InputError(f"There are no functions in the part `{name}`.")
        if not bool(jnp.all(jnp.isfinite(rows.targets))):
            raise InputError(f"Some outputs of the part `{name}` are not finite.")
        if not bool(jnp.all(jnp.isfinite(rows.inputs))):
            raise InputError(f"Some inputs of the part `{name}` are not finite.")


def _is_joint(policy: Any) -> bool:
    """Whether a policy weighs the points of functions, not only functions."""
    return isinstance(policy, Hybrid)


def _gaps(pairs: Pairs, scaling: Scaling, recipe: OperatorRecipe) -> Any:
    """Between points along each axis that a row has, in the network's units."""
    if pairs.axes is None:
        return None
    scales = np.asarray(scaling.place_std, float)
    gaps = []
    for name, axis, scale in zip(pairs.names, pairs.axes, scales, strict=True):
        if name == recipe.splits:
            continue
        if len(axis) < 2 or not is_even(axis):
            return None
        gaps.append(float((axis[1] - axis[0]) / scale))
    return tuple(gaps)


@eqx.filter_jit
def _resample(trainer: OperatorTrainer, state: OperatorState) -> OperatorState:
    recipe = trainer.recipe
    key = jax.random.fold_in(stream(trainer.root, 1), state.num_resamples)
    mass = recipe.policy.mass(state.policy)
    counts = state.ids.shape
    return eqx.tree_at(
        lambda s: (s.ids, s.num_since_resample, s.num_resamples),
        state,
        (
            recipe.batches.ids(recipe.policy, mass, *counts, key=key),
            jnp.zeros((), jnp.int32),
            state.num_resamples + 1,
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
    ids = state.ids[state.num_since_resample]
    functions, places, targets = rows.take(ids)

    def loss(params):
        network = eqx.combine(params, trainer.skeleton)
        predicted = predict(network, functions, places, trainer.frame)
        residual = recipe.misfit.residual(predicted, targets, trainer.gaps)
        seen = residual
        if not _is_joint(recipe.policy):
            seen = residual.reshape(residual.shape[0], -1)
        update = recipe.policy.update
        if isinstance(recipe.policy, Hybrid) and not recipe.detaches:
            update = recipe.policy.update_through
        policy = update(state.policy, residual_norm(seen), ids)
        weight = recipe.policy.weights(policy, ids).astype(residual.dtype)
        shares = trainer.frame.shares
        if shares is not None and not _is_joint(recipe.policy):  # else in its base
            weight = weight.reshape(-1, *(1,) * shares.ndim) * jnp.sqrt(shares)[None]
        return recipe.misfit.loss(weight, residual), policy

    (value, policy), gradient = jax.value_and_grad(loss, has_aux=True)(state.params)
    params, optimizer, info = recipe.optimizer.step(
        _Known(state.params, (value, gradient)), state.params, state.optimizer
    )
    state = eqx.tree_at(
        lambda s: (s.params, s.optimizer, s.policy, s.num_steps, s.num_since_resample),
        state,
        (params, optimizer, policy, state.num_steps + 1, state.num_since_resample + 1),
    )
    return state, info
