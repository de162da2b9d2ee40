"""What a run does between two looks at the clock: redraw, step, check."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..adapt import AbstractPolicy, residual_norm
from ..core import (
    InputError,
    Status,
    as_arrays,
    check_kind,
    flatten,
    flatten_gradient,
    float_dtype,
    select_tree,
)
from ..fields import choose_block_size, closure, in_blocks
from ..models import Embedding
from ..optim import LeastSquares, PointTerm, Sequence, Steps, advance
from ..problems import (
    EQUATIONS,
    Extended,
    Formulation,
    Residual,
    opened,
)
from ._base import AbstractTrainer, as_root, stream
from .balance import BalanceState
from .pools import Rows, batch_size, make_pools, policy_of
from .recipe import Recipe, embedding_of, network_of
from .state import Check, TrainState, replaced

MOST_STUCK = 5


class TermFn(eqx.Module):
    """The residual of one term as a function of trained parameters and a row; what of
    the network is not trained is its `skeleton`."""

    residual: Residual
    embedding: Embedding
    skeleton: Any

    def __call__(self, params: Any, row: Any) -> Float[Array, " eqs"]:
        """The residuals at one point."""
        network = eqx.combine(params, self.skeleton)
        return self.residual(self.embedding, network, row)


class Trainer(AbstractTrainer):
    """A problem, a recipe, and the points: everything that a run does not change."""

    formulation: Formulation
    recipe: Recipe
    embedding: Embedding
    skeleton: Any
    terms: dict[str, TermFn]
    pools: dict[str, Rows]
    held_out: dict[str, Rows]
    policies: dict[str, AbstractPolicy]
    weights: dict[str, float]
    block_size: int
    root: np.ndarray  # the seed; an array, so that another seed compiles nothing

    def __init__(self, formulation: Formulation, recipe: Recipe, seed: int):
        dtype = float_dtype(recipe.dtype)
        self.formulation, self.recipe = formulation, recipe
        self.root = as_root(seed)
        self.embedding = embedding_of(formulation)
        residuals = formulation.terms()
        network = self._network()
        self.skeleton = eqx.filter(network, eqx.is_inexact_array, inverse=True)
        self.terms = {
            name: TermFn(residual, self.embedding, self.skeleton)
            for name, residual in residuals.items()
        }
        self.policies, self.weights = {EQUATIONS: recipe.policy}, {EQUATIONS: 1.0}
        for name, condition in formulation.conditions.items():
            self.policies[name] = policy_of(recipe, condition, residuals[name])
            self.weights[name] = float(condition.penalty.weight)
        for name, policy in self.policies.items():
            _check_policy(name, policy)
        given = (formulation, residuals, recipe, seed, dtype)
        self.pools, self.held_out = make_pools(*given)
        self.block_size = recipe.block_size or self._fitting_block(residuals, dtype)

    def _fitting_block(self, residuals: dict[str, Residual], dtype: Any) -> int:
        num_channels = max(len(closure(r.indices)) for r in residuals.values())
        width = getattr(self.recipe.model, "width", 32)
        return choose_block_size(num_channels * width, dtype)

    @property
    def seed(self) -> int:
        """What all random numbers of the run follow from."""
        return int(self.root)

    @property
    def num_params(self) -> int:
        """How many numbers are trained."""
        return jax.eval_shape(lambda: flatten(self.build())[0]).size

    def build(self) -> Any:
        """The parameters before training."""
        return as_arrays(eqx.filter(self._network(), eqx.is_inexact_array))

    def _network(self) -> Any:
        """The network before training, with the unknowns beside it."""
        dtype, key = float_dtype(self.recipe.dtype), stream(self.root, 0)
        network = network_of(self.formulation, self.recipe.model, key=key, dtype=dtype)
        return Extended.of(network, self.formulation.problem.unknowns, dtype)

    def init(self, params: Any = None) -> TrainState:
        """The state before the first step, from given parameters or random ones."""
        params = as_arrays(self.build() if params is None else params)
        dtype = float_dtype(self.recipe.dtype)
        count = lambda: jnp.zeros((), jnp.int32)
        number = lambda value: jnp.asarray(value, dtype)
        policies = {
            name: policy.init(len(points), points=points, dtype=dtype)
            for name, policy in self.policies.items()
            for points in [self.pools[name][0]]
        }
        balance = BalanceState(
            {name: number(0.0) for name in self.terms},
            {name: number(weight) for name, weight in self.weights.items()},
        )
        ids = {n: jnp.arange(self._batch(n), dtype=jnp.int32) for n in self.terms}
        state = TrainState(
            params,
            None,
            policies,
            ids,
            balance,
            count(),
            jnp.asarray(self.recipe.resample_every, jnp.int32),
            count(),
            count(),
            count(),
            params,
            number(jnp.inf),
            count(),
        )
        return self._started(state, 0)

    def like(self, stage: int) -> TrainState:
        """A state of the structure that the optimizer's stage has, to read a file."""
        return self._started(self.init(), stage)

    def stage(self, state: TrainState) -> int:
        """Which stage of a sequence is at work."""
        is_sequence = isinstance(self.recipe.optimizer, Sequence)
        return state.optimizer.stage if is_sequence else 0

    @property
    def num_stages(self) -> int:
        """How many stages the optimizer has."""
        optimizer = self.recipe.optimizer
        return len(optimizer.stages) + 1 if isinstance(optimizer, Sequence) else 1

    def num_bytes(self, stage: int) -> int:
        """How large a checkpoint of a stage is."""
        leaves = jax.tree.leaves(jax.eval_shape(lambda: self.like(stage)))
        return sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)

    def _started(self, state: TrainState, stage: int) -> TrainState:
        optimizer, objective = self.recipe.optimizer, self.objective(state)
        if isinstance(optimizer, Sequence):
            inner = optimizer.init_stage(stage, objective, state.params)
        else:
            inner = optimizer.init(objective, state.params)
        return replaced(state, optimizer=inner)

    def _batch(self, name: str) -> int:
        condition = self.formulation.conditions.get(name)
        is_finite = self.terms[name].residual.num_available is not None
        return batch_size(self.recipe, condition, self.pools[name], is_finite)

    def objective(self, state: TrainState) -> LeastSquares:
        """The loss on the points drawn last, with the weights of their policies."""
        terms = terms_of(self, state)
        return LeastSquares(*terms.values())

    def is_stage_over(self, state: TrainState) -> bool:
        """Whether the next step is the first of another stage."""
        return bool(self.recipe.optimizer.is_stage_over(state.optimizer))

    @property
    def resample_every(self) -> int:
        """Steps between two draws."""
        return self.recipe.resample_every

    def ending(self, state: TrainState) -> Any:
        """Why the run ends here, if it does."""
        return Status.no_descent if int(state.num_stuck) >= MOST_STUCK else None

    def needs_resample(self, state: TrainState) -> bool:
        """Whether points must be redrawn before the next step."""
        return int(state.num_since_resample) >= self.recipe.resample_every

    def resample(self, state: TrainState) -> TrainState:
        """Policies see residuals, points are drawn, terms balanced."""
        optimizer, inner = self.recipe.optimizer, state.optimizer
        state = _resample(self, replaced(state, optimizer=None))
        is_compiled = optimizer.is_compiled(inner)
        change = _changed_compiled if is_compiled else _changed
        inner = change(optimizer, self.objective(state), state.params, inner)
        return replaced(state, optimizer=inner)

    def advance(self, state: TrainState, num_steps: int) -> tuple[TrainState, Steps]:
        """Steps on the points at hand; if none leads on, the next redraw is due."""
        params, inner, steps = advance(
            self.recipe.optimizer,
            self.objective(state),
            state.params,
            state.optimizer,
            num_steps,
            room=max(self.recipe.resample_every, num_steps),
        )
        is_stuck = steps.info.is_stuck
        since = state.num_since_resample + steps.num_steps
        most = jnp.asarray(self.recipe.resample_every, jnp.int32)
        state = replaced(
            state,
            params=params,
            optimizer=inner,
            num_steps=state.num_steps + steps.num_steps,
            num_since_resample=jnp.where(is_stuck, most, since),
            num_stuck=jnp.where(is_stuck, state.num_stuck + 1, 0),
            num_failed=state.num_failed + is_stuck.astype(jnp.int32),
        )
        return state, steps

    def check(self, state: TrainState) -> tuple[TrainState, Check]:
        """Residuals on held-out points; the best iterate so far is kept."""
        check = _check(self, state.params)
        best = (state.best_params, state.best_score, state.best_step)
        found = (state.params, check.score, state.num_steps)
        best = select_tree(check.score < state.best_score, found, best)
        names = ("best_params", "best_score", "best_step")
        return replaced(state, **dict(zip(names, best, strict=True))), check

    def check_of(self, params: Any) -> Check:
        """Residuals of other parameters on held-out points."""
        return _check(self, params)

    def fields(self, params: Any, points: Float[Array, "points dim"]) -> dict[str, Any]:
        """Every field at many points."""
        return _fields(self, params, points)

    def unknowns(self, params: Any) -> dict[str, float]:
        """The values of the coefficients that are sought."""
        problem = self.formulation.problem
        _, found = opened(eqx.combine(params, self.skeleton), problem.unknowns)
        return {name: float(value) for name, value in found.items()}

    def residual(
        self, params: Any, name: str, rows: Rows
    ) -> Float[Array, "points eqs"]:
        """The residuals of a term at many points."""
        return _residual(self, params, name, rows)

    def evaluate(
        self,
        params: Any,
        expression: Callable[..., dict[str, Any]],
        points: Float[Array, "points dim"],
    ) -> dict[str, Any]:
        """Expressions written as equations are, at many points."""
        residual = Residual(self.formulation, None, expression)
        term = TermFn(residual, self.embedding, self.skeleton)
        rows = points, jnp.zeros((len(points), 0), points.dtype)
        found = _evaluated(term, params, rows, self.block_size)
        return {name: found[:, k] for k, name in enumerate(residual.labels)}


def _check_policy(name: str, policy: AbstractPolicy) -> None:
    """Refuses what is no policy, and a loss that is no mean of squares: the optimizers
    would see another."""
    check_kind(**{f"policy of {name}": (policy, AbstractPolicy)})
    if policy.objective.loss_power != 2:
        raise InputError(
            f"The policy of `{name}` has the objective "
            f"{type(policy.objective).__name__}, which is no mean of squares; here it "
            "must be one, such as `SquaredLoss` or `ExactSquaredLoss`."
        )


def terms_of(trainer: Trainer, state: TrainState) -> dict[str, PointTerm]:
    """The terms of the loss, on the points drawn last."""
    return _gathered(trainer, state.policies, state.ids, state.balance)


@eqx.filter_jit
def _gathered(trainer, policy_states, all_ids, balance):
    terms = {}
    for name, fn in trainer.terms.items():
        ids, policy = all_ids[name], trainer.policies[name]
        rows = jax.tree.map(lambda leaf, ids=ids: leaf[ids], trainer.pools[name])
        weights = policy.weights(policy_states[name], ids)
        factor = balance.factors[name]
        terms[name] = PointTerm(fn, rows, weights, factor, trainer.block_size)
    return terms


@eqx.filter_jit
def _resample(trainer: Trainer, state: TrainState) -> TrainState:
    policies, ids = {}, {}
    root = jax.random.fold_in(stream(trainer.root, 1), state.num_resamples)
    for k, (name, policy) in enumerate(trainer.policies.items()):
        old, rows = state.policies[name], trainer.pools[name]
        seen = None if trainer.recipe.scans_pool else state.ids[name]
        if seen is not None:
            rows = jax.tree.map(lambda leaf, seen=seen: leaf[seen], rows)
        residual = _residual(trainer, state.params, name, rows)
        policies[name] = policy.update(old, residual_norm(residual), seen)
        key = jax.random.fold_in(root, k + 1)
        ids[name] = policy.draw(policies[name], state.ids[name].size, key=key)
    state = replaced(
        state,
        policies=policies,
        ids=ids,
        num_since_resample=jnp.zeros((), jnp.int32),
        num_resamples=state.num_resamples + 1,
    )
    if len(trainer.terms) == 1 or not trainer.recipe.balance.needs_gradients:
        return state
    return replaced(state, balance=_balanced(trainer, state))


def _balanced(trainer: Trainer, state: TrainState) -> BalanceState:
    """The balance after seeing how long each term's gradient is."""
    norms = {}
    for name, term in terms_of(trainer, state).items():
        plain = eqx.tree_at(lambda t: t.weight, term, jnp.ones_like(term.weight))
        gradient = LeastSquares(plain).value_and_gradient(state.params)[1]
        norms[name] = jnp.linalg.norm(flatten_gradient(gradient))
    return trainer.recipe.balance.update(state.balance, norms, EQUATIONS)


def _changed(optimizer, objective, params, state):
    return optimizer.objective_changed(objective, params, state)


_changed_compiled = eqx.filter_jit(_changed)


@eqx.filter_jit
def _residual(trainer, params, name, rows):
    return _evaluated(trainer.terms[name], params, rows, trainer.block_size)


@eqx.filter_jit
def _evaluated(term, params, rows, block_size):
    return in_blocks(lambda row: term(params, row), rows, block_size)


@eqx.filter_jit
def _check(trainer: Trainer, params: Any) -> Check:
    squares, largest = {}, {}
    for name, rows in trainer.held_out.items():
        residual = _residual(trainer, params, name, rows)
        squares[name] = jnp.mean(residual**2)
        largest[name] = jnp.max(jnp.abs(residual))
    weighed = [trainer.weights[name] * square for name, square in squares.items()]
    score = sum(weighed[1:], start=weighed[0])
    return Check(squares, largest, score)


@eqx.filter_jit
def _fields(trainer, params, points):
    zero = (0,) * points.shape[1]

    def at(point):
        network = eqx.combine(params, trainer.skeleton)
        jets = trainer.formulation.jets(
            trainer.embedding, network, point, frozenset([zero])
        )
        return {name: jet[zero] for name, jet in jets.items()}

    return in_blocks(at, points, trainer.block_size)
