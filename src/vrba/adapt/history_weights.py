"""Weights that follow the history of each point's residual: BRDR and SA-PINN."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num
from typing_extensions import override

from ..core import InputError, Status, float_dtype
from ._base import AbstractPolicy, update_status
from ._inputs import (
    ArrayOfIds,
    ArrayOfNumbers,
    check_ids,
    check_residual,
    count_once,
    equation_axis_of,
    follow_residual,
    pool_size,
    replace_rows,
    rows,
    size_of,
)
from .draws import AbstractDraw, Stratified
from .losses import AbstractLoss, SquaredLoss


class AbstractHistoryWeights(AbstractPolicy):
    """Weights of a pool of points, which are drawn uniformly.

    The loss is `mean(m R**2)`, with `m` the weight of each squared residual.
    """

    @abc.abstractmethod
    def square_weight(
        self, state: Any, ids: ArrayOfIds | None
    ) -> Float[Array, " batch"]:
        """The weight `m` of each squared residual."""

    @abc.abstractmethod
    def first_state(
        self, num_points: int, equation_axis: Int[Array, "..."], dtype: jnp.dtype
    ) -> Any:
        """The state before the first residual."""

    @abc.abstractmethod
    def follow(
        self,
        state: Any,
        residual: Num[Array, "batch *eqs"],
        ids: Int[Array, " batch"] | None,
    ) -> Any:
        """The state after checked residuals, except for its `equation_axis`."""

    @override
    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> Any:
        name = type(self).__name__
        count, has_equations = pool_size(name, num_points)
        if base is not None:
            raise InputError(f"`{name}` draws uniformly: `base` must be None.")
        axis = jnp.zeros((1,) * has_equations, jnp.int32)
        return self.first_state(count, axis, float_dtype(dtype))

    @override
    def update(
        self, state: Any, residual: ArrayOfNumbers, ids: ArrayOfIds | None = None
    ) -> Any:
        shape = state[0].shape  # the table of weights
        ids = check_ids(ids, shape[0])
        residual = check_residual(residual, ids, shape, state.equation_axis)
        state = _follow(self, state, jax.lax.stop_gradient(residual), ids)
        return state._replace(equation_axis=equation_axis_of(residual, shape))

    @override
    def weights(self, state: Any, ids: ArrayOfIds | None = None) -> Float[Array, "..."]:
        weight = jnp.sqrt(self.square_weight(state, ids))
        return follow_residual(weight, state.equation_axis)

    @override
    def mass(self, state: Any) -> Float[Array, " points"]:
        return self.base(state)

    @override
    def base(self, state: Any) -> Float[Array, " points"]:
        return jnp.full_like(state[0], 1 / state[0].size)

    @override
    def tilt(self, state: Any) -> Float[Array, " points"]:
        weight = self.square_weight(state, None)
        return weight / jnp.sum(weight)

    @override
    def is_sampling(self) -> bool:
        return False

    @override
    def is_unbiased(self) -> bool:
        return False


class DecayState(NamedTuple):
    """Weight, fourth root of the mean of `R**4`, and visits of each point id."""

    weight: Float[Array, " points"]
    root_moment: Float[Array, " points"]  # the mean itself could overflow
    num_visits: Int[Array, " points"]
    num_rejected: Int[Array, ""]
    equation_axis: Int[Array, "..."]

    @property
    def status(self) -> Status:
        """Whether the last update rejected residuals."""
        return update_status(self.num_rejected)


class BRDR(AbstractHistoryWeights):
    """Weight `R**2` by its inverse decay rate `R**2 / sqrt(EMA R**4)`, of mean one.

    A residual that decreases more slowly than before gets a larger weight.
    `moment_memory` is the memory of the average of `R**4`, corrected for its start;
    `weight_memory` that of the weights. (Chen, Howard and Stinis 2024)
    """

    moment_memory: float = eqx.field(default=0.999, converter=float, static=True)
    weight_memory: float = eqx.field(default=0.999, converter=float, static=True)
    draws: AbstractDraw = eqx.field(default=Stratified(), kw_only=True)
    objective: AbstractLoss = eqx.field(default=SquaredLoss(), kw_only=True)

    def __check_init__(self):
        check_squared(self)
        for name in ("moment_memory", "weight_memory"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(
                    f"`BRDR({name}=...)` must lie in [0, 1), got {getattr(self, name)}."
                )

    @override
    def first_state(
        self, num_points: int, equation_axis: Int[Array, "..."], dtype: jnp.dtype
    ) -> DecayState:
        return DecayState(
            weight=jnp.ones(num_points, dtype),
            root_moment=jnp.zeros(num_points, dtype),
            num_visits=jnp.zeros(num_points, jnp.int32),
            num_rejected=jnp.zeros((), jnp.int32),
            equation_axis=equation_axis,
        )

    @override
    def follow(
        self,
        state: DecayState,
        residual: Num[Array, "batch *eqs"],
        ids: Int[Array, " batch"] | None,
    ) -> DecayState:
        weight, root = rows(state.weight, ids), rows(state.root_moment, ids)
        visits = (state.num_visits if ids is None else state.num_visits[ids]) + 1
        size = size_of(residual, 1, weight.dtype)
        is_finite = jnp.isfinite(size)
        size = jnp.where(is_finite, size, 0)

        memory = self.moment_memory
        unit = jnp.where(jnp.maximum(root, size) > 0, jnp.maximum(root, size), 1)
        mean_fourth = memory * (root / unit) ** 4 + (1 - memory) * (size / unit) ** 4
        new_root = unit * mean_fourth**0.25
        start = -jnp.expm1(visits.astype(weight.dtype) * jnp.log(memory))
        decay = jnp.square(size / jnp.where(new_root > 0, new_root, 1))
        decay = decay * jnp.sqrt(start)

        counted = is_finite
        if ids is not None:
            counted = count_once(ids, is_finite, state.weight.shape[0])
        num_counted = jnp.sum(counted).astype(weight.dtype)
        mean = jnp.sum(jnp.where(counted, decay, 0)) / jnp.maximum(num_counted, 1)
        target = jnp.where(mean > 0, decay / jnp.where(mean > 0, mean, 1), 1)
        new_weight = self.weight_memory * weight + (1 - self.weight_memory) * target
        return state._replace(
            weight=replace_rows(state.weight, ids, new_weight, is_finite),
            root_moment=replace_rows(state.root_moment, ids, new_root, is_finite),
            num_visits=replace_rows(state.num_visits, ids, visits, is_finite),
            num_rejected=jnp.sum(~is_finite, dtype=jnp.int32),
        )

    @override
    def square_weight(
        self, state: DecayState, ids: ArrayOfIds | None
    ) -> Float[Array, " batch"]:
        return rows(state.weight, ids)

    @override
    def objective_norm(self) -> str:
        return "mean of R**2 balanced by decay rates: no norm, it depends on history"


class AscentState(NamedTuple):
    """One multiplier for each point id."""

    multiplier: Float[Array, " points"]
    num_rejected: Int[Array, ""]
    equation_axis: Int[Array, "..."]

    @property
    def status(self) -> Status:
        """Whether the last update rejected residuals."""
        return update_status(self.num_rejected)


class SelfAdaptive(AbstractHistoryWeights):
    """`lambda <- lambda + rate * m'(lambda) * R**2`, the loss `mean(m(lambda) R**2)`.

    `mask_fn` is `m`, positive and increasing. The weights are `sqrt(m(lambda))`.
    Multipliers start at `start` and never decrease. (McClenny and Braga-Neto 2020)
    """

    mask_fn: Callable[[Float[Array, ""]], Float[Array, ""]] = eqx.field(
        default=jnp.square, static=True
    )
    rate: float = eqx.field(default=0.1, converter=float, static=True)
    start: float = eqx.field(default=1.0, converter=float, static=True)
    draws: AbstractDraw = eqx.field(default=Stratified(), kw_only=True)
    objective: AbstractLoss = eqx.field(default=SquaredLoss(), kw_only=True)

    def __check_init__(self):
        check_squared(self)
        if not 0 < self.rate < float("inf"):
            raise InputError(
                f"`SelfAdaptive(rate=...)` must be positive, got {self.rate}."
            )
        with jax.ensure_compile_time_eval():
            mask = float(self.mask_fn(jnp.asarray(self.start, jnp.result_type(float))))
        if not mask > 0:
            raise InputError(
                f"`SelfAdaptive(mask_fn=...)` must be positive at start={self.start}, "
                f"got {mask}."
            )

    @override
    def first_state(
        self, num_points: int, equation_axis: Int[Array, "..."], dtype: jnp.dtype
    ) -> AscentState:
        return AscentState(
            multiplier=jnp.full(num_points, self.start, dtype),
            num_rejected=jnp.zeros((), jnp.int32),
            equation_axis=equation_axis,
        )

    @override
    def follow(
        self,
        state: AscentState,
        residual: Num[Array, "batch *eqs"],
        ids: Int[Array, " batch"] | None,
    ) -> AscentState:
        """Make one step of ascent on the multipliers of `ids`."""
        old = rows(state.multiplier, ids)
        size = size_of(residual, 1, old.dtype)
        climb = self.rate * jax.vmap(jax.grad(self.mask_fn))(old) * size**2
        is_finite = jnp.isfinite(size) & jnp.isfinite(climb)
        new = jnp.where(is_finite, old + climb, old)
        return state._replace(
            multiplier=replace_rows(state.multiplier, ids, new, is_finite),
            num_rejected=jnp.sum(~is_finite, dtype=jnp.int32),
        )

    @override
    def square_weight(
        self, state: AscentState, ids: ArrayOfIds | None
    ) -> Float[Array, " batch"]:
        return jax.vmap(self.mask_fn)(rows(state.multiplier, ids))

    @override
    def objective_norm(self) -> str:
        return "saddle of mean(m(lambda) R**2): no norm, it depends on history"


@eqx.filter_jit
def _follow(policy, state, residual, ids):
    return policy.follow(state, residual, ids)


def check_squared(policy: AbstractPolicy) -> None:
    """Raise `InputError` unless the loss is squared: these weights define their own."""
    if not isinstance(policy.objective, SquaredLoss):
        raise InputError(
            f"`{type(policy).__name__}(objective=...)` must be `SquaredLoss()`, got "
            f"{policy.objective}."
        )
