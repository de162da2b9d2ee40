"""Training an operator: resample, step, check."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from typing_extensions import override

from ..adapt import residual_norm
from ..core import InputError, float_dtype, select_tree, to_jax_arrays
from ..data import Pairs
from ..models import count_params
from ..optim import (
    AbstractObjectiveStream,
    AdvanceInfo,
    PrecomputedObjective,
    advance_stream,
)
from ..runs import (
    AbstractTrainer,
    Plan,
    StopReason,
    next_multiple,
    random_stream,
    seed_array,
)
from .layout import DataLayout, Scaling, grid_spacings
from .network import initial_network, predict, relative_errors, untrained_part
from .recipe import OperatorRecipe, check_samples
from .samples import Samples


class OperatorState(eqx.Module):
    """Everything the next step needs."""

    params: Any
    optimizer: Any
    policy: Any
    ids: Int[Array, "steps batch"]  # the samples of each step until the next resampling
    num_steps: Int[Array, ""]
    num_since_resample: Int[Array, ""]
    num_resamples: Int[Array, ""]
    best_params: Any
    best_score: Float[Array, ""]
    best_step: Int[Array, ""]
    num_worse: Int[Array, ""]  # checks since the best one


class OperatorCheck(eqx.Module):
    """Relative L2 errors of the validation functions; the score is their mean."""

    errors: Float[Array, " rows"]
    score: Float[Array, ""]


class OperatorTrainer(AbstractTrainer):
    """Data, a recipe and a network."""

    recipe: OperatorRecipe
    layout: DataLayout
    train: Samples
    valid: Samples
    skeleton: Any  # the part of the network that is not trained
    spacings: tuple[float, ...] | None = eqx.field(static=True)
    root: np.ndarray

    def __init__(self, pairs: Pairs, recipe: OperatorRecipe, seed: int):
        self.recipe, self.root = recipe, seed_array(seed)
        dtype, keeps_mean = float_dtype(recipe.dtype), not recipe.subtract_mean
        scaling = Scaling.from_pairs(pairs, dtype, subtract_mean=not keeps_mean)
        self.layout = DataLayout.from_pairs(pairs, scaling, recipe.split_axis)
        self.train = Samples.from_pairs(pairs, "train", self.layout)
        self.valid = Samples.from_pairs(pairs, "valid", self.layout)
        _check_finite(self.train, self.valid)
        check_samples(recipe, pairs)
        network = initial_network(recipe, self.layout, self.root)
        self.skeleton = untrained_part(network)
        self.spacings = grid_spacings(pairs, scaling, recipe.split_axis)

    def initial_params(self) -> Any:
        """The parameters before training."""
        network = initial_network(self.recipe, self.layout, self.root)
        return to_jax_arrays(eqx.filter(network, eqx.is_inexact_array))

    @property
    def num_params(self) -> int:
        """The number of trained real numbers."""
        return count_params(self.initial_params(), complex_as=2)

    @property
    def weights_bytes(self) -> int:
        """The memory of the policy's state."""
        state = jax.eval_shape(lambda: self.init().policy)
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))

    @property
    @override
    def resample_every(self) -> int:
        epoch = max(self.train.num_rows // self.recipe.batch_size, 1)
        return self.recipe.resample_every or epoch

    @override
    def init(self, params: Any = None) -> OperatorState:
        recipe, rows = self.recipe, self.train
        params = self.initial_params() if params is None else to_jax_arrays(params)
        base, counts = None, rows.num_rows
        if recipe.policy.has_point_weights:
            base, counts = self.layout.quadrature, rows.targets.shape[:-1]
            base = None if base is None else jnp.broadcast_to(base, counts)
        zero = jnp.zeros((), jnp.int32)
        return OperatorState(
            params=params,
            optimizer=recipe.optimizer.init(PrecomputedObjective(params), params),
            policy=recipe.policy.init(counts, base=base, dtype=recipe.dtype),
            ids=jnp.zeros((self.resample_every, recipe.batch_size), jnp.int32),
            num_steps=zero,
            num_since_resample=jnp.asarray(self.resample_every, jnp.int32),
            num_resamples=zero,
            best_params=params,
            best_score=jnp.asarray(jnp.inf, float_dtype(recipe.dtype)),
            best_step=zero,
            num_worse=zero,
        )

    @override
    def state_template(self, stage: int) -> OperatorState:
        return self.init()

    @override
    def stage(self, state: OperatorState) -> int:
        return 0

    @override
    def is_stage_over(self, state: OperatorState) -> bool:
        return False

    @override
    def stop_reason(self, state: OperatorState) -> StopReason | None:
        patience = self.recipe.patience
        is_over = patience is not None and int(state.num_worse) >= patience
        return StopReason.no_improvement if is_over else None

    @override
    def needs_resample(self, state: OperatorState) -> bool:
        return int(state.num_since_resample) >= self.resample_every

    @override
    def resample(self, state: OperatorState) -> OperatorState:
        return _resample(self, state)

    @override
    def advance(
        self, state: OperatorState, num_steps: int
    ) -> tuple[OperatorState, AdvanceInfo]:
        params, optimizer, (policy, position), steps = advance_stream(
            self.recipe.optimizer,
            _BatchStream(self, state.ids),
            state.params,
            state.optimizer,
            (state.policy, state.num_since_resample),
            num_steps,
            capacity=max(self.resample_every, num_steps),
        )
        where = lambda s: (
            s.params,
            s.optimizer,
            s.policy,
            s.num_since_resample,
            s.num_steps,
        )
        new = (params, optimizer, policy, position, state.num_steps + steps.num_steps)
        return eqx.tree_at(where, state, new), steps

    @override
    def next_check(self, state: OperatorState) -> int:
        return next_multiple(int(state.num_steps), self.recipe.check_every)

    @override
    def after_check(
        self, state: OperatorState, check: OperatorCheck
    ) -> tuple[OperatorState, str]:
        return state, ""

    @override
    def check(self, state: OperatorState) -> tuple[OperatorState, OperatorCheck]:
        check = self.check_params(state.params)
        where = lambda s: (s.best_params, s.best_score, s.best_step, s.num_worse)
        old = where(state)[:3] + (state.num_worse + 1,)
        zero = jnp.zeros((), jnp.int32)
        new = (state.params, check.score, state.num_steps, zero)
        best = select_tree(check.score < state.best_score, new, old)
        return eqx.tree_at(where, state, best), check

    @override
    def check_params(self, params: Any) -> OperatorCheck:
        network = eqx.combine(params, self.skeleton)
        errors = relative_errors(network, self.valid, self.recipe.batch_size)
        return OperatorCheck(errors, jnp.mean(errors))

    @override
    def plan(self, state: OperatorState) -> Plan:
        recipe = self.recipe
        return Plan(
            name=type(recipe.model).__name__,
            num_params=self.num_params,
            samples=f"batches of {recipe.batch_size} of {self.train.num_rows} samples "
            f"with weights of {self.weights_bytes / 1e6:.2g} MB",
            dtype=recipe.dtype,
            optimizer=type(recipe.optimizer).__name__,
            first_step=int(state.num_steps),
            max_steps=recipe.max_steps,
            disk_bytes=3 * sum(leaf.nbytes for leaf in jax.tree.leaves(state)),
        )


def _check_finite(train: Samples, valid: Samples) -> None:
    """Raise if a part is empty, or holds NaN or infinite values."""
    for name, rows in (("train", train), ("valid", valid)):
        if rows.num_rows == 0:
            raise InputError(f"There are no functions in the part `{name}`.")
        if not bool(jnp.all(jnp.isfinite(rows.targets))):
            raise InputError(f"Some outputs of the part `{name}` are not finite.")
        if not bool(jnp.all(jnp.isfinite(rows.inputs))):
            raise InputError(f"Some inputs of the part `{name}` are not finite.")


@eqx.filter_jit
def _resample(trainer: OperatorTrainer, state: OperatorState) -> OperatorState:
    recipe = trainer.recipe
    root = random_stream(trainer.root, 1)
    key = jax.random.fold_in(root, state.num_resamples)
    mass = recipe.policy.mass(state.policy)
    ids = recipe.batches.ids(recipe.policy, mass, *state.ids.shape, key=key)
    return eqx.tree_at(
        lambda s: (s.ids, s.num_since_resample, s.num_resamples),
        state,
        (ids, jnp.zeros((), jnp.int32), state.num_resamples + 1),
    )


class _BatchStream(AbstractObjectiveStream):
    """The loss of one batch after another; its state is that of the policy, and the
    position in `ids`."""

    trainer: OperatorTrainer
    ids: Int[Array, "steps batch"]

    @override
    def next_objective(
        self, stream_state: Any, params: Any
    ) -> tuple[PrecomputedObjective, Any]:
        """The residual gives the gradient, and also the weights of the next step."""
        policy_state, position = stream_state
        trainer, ids = self.trainer, self.ids[position]
        recipe, layout = trainer.recipe, trainer.layout
        functions, places, targets = trainer.train.take(ids)
        has_point_weights = recipe.policy.has_point_weights
        policy: Any = recipe.policy  # only some let gradients flow through weights
        update = policy.update if recipe.detach_weights else policy.update_through

        def loss_fn(params):
            network = eqx.combine(params, trainer.skeleton)
            predicted = predict(network, functions, places, layout)
            residual = recipe.loss.residual(predicted, targets, trainer.spacings)
            seen = residual
            if not has_point_weights:
                seen = residual.reshape(residual.shape[0], -1)
            new = update(policy_state, residual_norm(seen), ids)
            weight = recipe.policy.weights(new, ids).astype(residual.dtype)
            if layout.quadrature is not None and not has_point_weights:
                # with point weights it is part of the base
                shape = (-1, *(1,) * layout.quadrature.ndim)
                weight = weight.reshape(shape) * jnp.sqrt(layout.quadrature)[None]
            return recipe.loss.loss(weight, residual), new

        grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
        (value, new), gradient = grad_fn(params)
        return PrecomputedObjective(params, value, gradient), (new, position + 1)
