"""Training a problem: resample, step, check."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ..adapt import AbstractPolicy, residual_norm
from ..core import (
    InputError,
    check_kind,
    flatten_gradient,
    select_tree,
    to_jax_arrays,
)
from ..optim import AdvanceInfo, LeastSquares, PointTerm, Sequence, advance
from ..problems import EQUATIONS
from ..runs import AbstractTrainer, Plan, StopReason, random_stream
from .accuracy import measure_residuals
from .balance import BalanceState
from .continuation import Continuation
from .continuing import (
    MAX_STUCK,
    after_check,
    at_factor,
    continuation_of,
    has_easier_problem,
    is_marched,
    leaves_training,
    needs_way_out,
    new_continuation,
    next_check,
)
from .evaluator import Evaluator, Rows
from .pools import batch_size, make_pools, policy_of
from .recipe import Recipe
from .singular import describe_singular
from .state import Check, TrainState, replaced


class Trainer(AbstractTrainer):
    """An evaluator, a recipe, and the points.

    `rows` are the pools and the held-out points, if they exist already.
    """

    evaluator: Evaluator
    recipe: Recipe
    pools: dict[str, Rows]
    held_out: dict[str, Rows]
    policies: dict[str, AbstractPolicy]
    continuation: Continuation | None  # if it applies to the problem
    is_marched: bool  # if training is stuck

    def __init__(self, evaluator: Evaluator, rows: Any = None):
        self.recipe = recipe = evaluator.recipe
        self.continuation = continuation_of(evaluator)
        self.is_marched = self.continuation is None and is_marched(evaluator)
        if self.continuation is not None:
            evaluator = evaluator.with_factor(1.0, self.continuation.coefficient)
        self.evaluator = evaluator
        self.policies = {EQUATIONS: recipe.policy}
        for name, condition in evaluator.formulation.conditions.items():
            residual = evaluator.terms[name].residual
            self.policies[name] = policy_of(recipe, condition, residual)
        for name, policy in self.policies.items():
            _check_policy(name, policy)
        self.pools, self.held_out = make_pools(evaluator) if rows is None else rows

    @property
    @override
    def resample_every(self) -> int:
        return self.recipe.resample_every

    @property
    def num_stages(self) -> int:
        """The number of stages of the optimizer."""
        optimizer = self.recipe.optimizer
        return len(optimizer.stages) + 1 if isinstance(optimizer, Sequence) else 1

    @override
    def init(self, params: Any = None) -> TrainState:
        params = to_jax_arrays(
            self.evaluator.initial_params() if params is None else params
        )
        dtype = self.evaluator.dtype
        count = lambda: jnp.zeros((), jnp.int32)
        number = lambda value: jnp.asarray(value, dtype)
        terms = self.evaluator.terms
        policies = {
            name: policy.init(len(points), points=points, dtype=dtype)
            for name, policy in self.policies.items()
            for points in [self.pools[name][0]]
        }
        balance = BalanceState(
            {name: number(0.0) for name in terms},
            {
                name: number(weight)
                for name, weight in self.evaluator.term_weights.items()
            },
        )
        ids = {n: jnp.arange(self._batch_size(n), dtype=jnp.int32) for n in terms}
        state = TrainState(
            params=params,
            optimizer=None,
            policies=policies,
            ids=ids,
            balance=balance,
            num_steps=count(),
            num_since_resample=jnp.asarray(self.recipe.resample_every, jnp.int32),
            num_resamples=count(),
            num_stuck=count(),
            num_failed=count(),
            best_params=params,
            best_score=number(jnp.inf),
            best_step=count(),
            first_score=number(jnp.inf),
            continuation=new_continuation(self, params),
        )
        return self.with_optimizer(state, 0)

    @override
    def state_template(self, stage: int) -> TrainState:
        return self.with_optimizer(self.init(), stage)

    def with_optimizer(self, state: TrainState, stage: int) -> TrainState:
        """The state with the optimizer before the first step of a stage."""
        optimizer, objective = self.recipe.optimizer, self.objective(state)
        if isinstance(optimizer, Sequence):
            inner = optimizer.init_stage(stage, objective, state.params)
        else:
            inner = optimizer.init(objective, state.params)
        return replaced(state, optimizer=inner)

    def _batch_size(self, name: str) -> int:
        condition = self.evaluator.formulation.conditions.get(name)
        is_finite = self.evaluator.terms[name].residual.num_available is not None
        return batch_size(self.recipe, condition, self.pools[name], is_finite)

    @override
    def stage(self, state: TrainState) -> int:
        is_sequence = isinstance(self.recipe.optimizer, Sequence)
        return state.optimizer.stage if is_sequence else 0

    @override
    def is_stage_over(self, state: TrainState) -> bool:
        return bool(self.recipe.optimizer.is_stage_over(state.optimizer))

    @override
    def stop_reason(self, state: TrainState) -> StopReason | None:
        if leaves_training(self, state):
            return StopReason.stuck
        has_no_descent = int(state.num_stuck) >= MAX_STUCK
        if not has_no_descent or has_easier_problem(state) or needs_way_out(state):
            return None
        return StopReason.no_descent

    @override
    def needs_resample(self, state: TrainState) -> bool:
        return int(state.num_since_resample) >= self.recipe.resample_every

    def objective(self, state: TrainState) -> LeastSquares:
        """The loss on the points drawn last, with the weights of their policies."""
        return LeastSquares(*terms_of(self, state).values())

    @override
    def resample(self, state: TrainState) -> TrainState:
        optimizer, inner = self.recipe.optimizer, state.optimizer
        state = _resample(self.at(state), replaced(state, optimizer=None))
        is_compiled = optimizer.is_compiled(inner)
        change = _changed_compiled if is_compiled else _changed
        inner = change(optimizer, self.objective(state), state.params, inner)
        return replaced(state, optimizer=inner)

    @override
    def advance(
        self, state: TrainState, num_steps: int
    ) -> tuple[TrainState, AdvanceInfo]:
        """Steps on the current points; without descent the next resampling is due."""
        params, inner, steps = advance(
            self.recipe.optimizer,
            self.objective(state),
            state.params,
            state.optimizer,
            num_steps,
            capacity=max(self.recipe.resample_every, num_steps),
        )
        is_stuck = steps.info.is_stuck
        since = state.num_since_resample + steps.num_steps
        limit = jnp.asarray(self.recipe.resample_every, jnp.int32)
        state = replaced(
            state,
            params=params,
            optimizer=inner,
            num_steps=state.num_steps + steps.num_steps,
            num_since_resample=jnp.where(is_stuck, limit, since),
            num_stuck=jnp.where(is_stuck, state.num_stuck + 1, 0),
            num_failed=state.num_failed + is_stuck.astype(jnp.int32),
        )
        return state, steps

    @override
    def next_check(self, state: TrainState) -> int:
        return next_check(self, state)

    @override
    def check(self, state: TrainState) -> tuple[TrainState, Check]:
        check = self.check_params(state.params)
        best = (state.best_params, state.best_score, state.best_step)
        found = (state.params, check.score, state.num_steps)
        best = select_tree(check.score < state.best_score, found, best)
        names = ("best_params", "best_score", "best_step")
        return replaced(state, **dict(zip(names, best, strict=True))), check

    @override
    def after_check(self, state: TrainState, check: Check) -> tuple[TrainState, str]:
        if state.continuation is None:
            return state, ""
        return after_check(self, state, check)

    def at(self, state: TrainState) -> "Trainer":
        """The trainer of the problem that a state trains at present."""
        return at_factor(self, state)

    @override
    def check_params(self, params: Any) -> Check:
        return measure_residuals(self.evaluator, self.held_out, params)

    @override
    def plan(self, state: TrainState) -> Plan:
        recipe, evaluator = self.recipe, self.evaluator
        return Plan(
            name=type(evaluator.formulation.problem).__name__,
            num_params=evaluator.num_params,
            samples=f"{recipe.num_points} points of a pool of {recipe.pool_size} in "
            f"blocks of {evaluator.block_size}",
            dtype=recipe.dtype,
            optimizer=_optimizer_name(recipe.optimizer),
            first_step=int(state.num_steps),
            max_steps=recipe.max_steps or 0,
            disk_bytes=3 * max(map(self.state_bytes, range(self.num_stages))),
            note=_note(evaluator),
        )

    def state_bytes(self, stage: int) -> int:
        """The size of the state in a stage of the optimizer."""
        leaves = jax.tree.leaves(jax.eval_shape(lambda: self.state_template(stage)))
        return sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)


def _note(evaluator: Evaluator) -> str:
    """What the plan says of interfaces, of conditions and of the linear stage."""
    formulation, recipe = evaluator.formulation, evaluator.recipe
    exact = formulation.exact
    singular = describe_singular(recipe.polish, recipe.dtype, formulation)
    found = [
        formulation.sides.sentence(),
        exact.sentence() if exact else "",
        evaluator.preparation.sentence(evaluator.term_weights),
        singular,
    ]
    return " ".join(filter(None, found))


def _check_policy(name: str, policy: AbstractPolicy) -> None:
    """Raise if the loss is not a mean of squares: optimizers would minimise another."""
    check_kind(**{f"policy of {name}": (policy, AbstractPolicy)})
    if policy.objective.loss_power != 2:
        raise InputError(
            f"The policy of `{name}` has the objective "
            f"{type(policy.objective).__name__}, which is not a mean of squares: use "
            "`SquaredLoss` or `ExactSquaredLoss`."
        )


def _optimizer_name(optimizer: Any) -> str:
    if isinstance(optimizer, Sequence):
        parts = [*(stage.optimizer for stage in optimizer.stages), optimizer.last]
        return ", then ".join(_optimizer_name(part) for part in parts)
    return type(optimizer).__name__


def terms_of(trainer: Trainer, state: TrainState) -> dict[str, PointTerm]:
    """The terms of the loss, on the points drawn last."""
    return _gather_terms(trainer.at(state), state.policies, state.ids, state.balance)


@eqx.filter_jit
def _gather_terms(trainer, policy_states, all_ids, balance):
    terms, block_size = {}, trainer.evaluator.block_size
    for name, fn in trainer.evaluator.terms.items():
        ids, policy = all_ids[name], trainer.policies[name]
        rows = jax.tree.map(lambda leaf, ids=ids: leaf[ids], trainer.pools[name])
        weights = policy.weights(policy_states[name], ids)
        terms[name] = PointTerm(fn, rows, weights, balance.factors[name], block_size)
    return terms


@eqx.filter_jit
def _resample(trainer: Trainer, state: TrainState) -> TrainState:
    policies, ids = {}, {}
    root = random_stream(trainer.evaluator.root, 1)
    root = jax.random.fold_in(root, state.num_resamples)
    for k, (name, policy) in enumerate(trainer.policies.items()):
        old, rows = state.policies[name], trainer.pools[name]
        seen = None if trainer.recipe.scans_pool else state.ids[name]
        if seen is not None:
            rows = jax.tree.map(lambda leaf, seen=seen: leaf[seen], rows)
        residual = trainer.evaluator.residual(state.params, name, rows)
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
    if len(trainer.policies) == 1 or not trainer.recipe.balance.needs_gradients:
        return state
    return replaced(state, balance=_balance(trainer, state))


def _balance(trainer: Trainer, state: TrainState) -> BalanceState:
    """The balance after measuring the gradient norm of each term."""
    norms: dict[str, Float[Array, ""]] = {}
    for name, term in terms_of(trainer, state).items():
        plain = eqx.tree_at(lambda t: t.weight, term, jnp.ones_like(term.weight))
        gradient = LeastSquares(plain).value_and_gradient(state.params)[1]
        norms[name] = jnp.linalg.norm(flatten_gradient(gradient))
    return trainer.recipe.balance.update(state.balance, norms, EQUATIONS)


def _changed(optimizer, objective, params, state):
    return optimizer.objective_changed(objective, params, state)


_changed_compiled = eqx.filter_jit(_changed)
