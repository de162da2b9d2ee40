"""Levenberg-Marquardt with geodesic acceleration, for residuals in blocks."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int
from typing_extensions import override

from ..core import InputError, Status, check_positive, flatten, select_tree
from ._base import AbstractInfo, AbstractMethod, AbstractObjective, check_dtype
from .accelerations import AbstractAcceleration, FiniteDifference
from .dampings import AbstractDamping, SmallestDamping
from .objectives import AbstractLeastSquares, compiled_value
from .solvers import AbstractSolver, Cholesky, HostCholesky

Scalar = Float[Array, ""]
Vector = Float[Array, " params"]


class LevenbergMarquardtState(eqx.Module):
    """The loss, the damping, and the scale of the system it belongs to."""

    value: Scalar
    damping: Any
    scale: Scalar


class LevenbergMarquardtInfo(AbstractInfo):
    """Measurements of one step. `gradient_norm` is that before the step."""

    value_is_old: ClassVar[bool] = False
    gradient_is_old: ClassVar[bool] = True

    value: Scalar
    gradient_norm: Scalar
    num_evaluations: Int[Array, ""]
    is_stuck: Bool[Array, ""]
    status: Status
    damping: Scalar
    num_trials: Int[Array, ""]


class _Trials(eqx.Module):
    """The trials of one step: the state of the damping, and the last trial kept."""

    damping: Any
    vector: Vector
    value: Scalar
    has_kept: Bool[Array, ""]


def default_solver() -> AbstractSolver:
    """Return `HostCholesky` on a CPU, `Cholesky` on other devices."""
    return HostCholesky() if jax.default_backend() == "cpu" else Cholesky()


class LevenbergMarquardt(AbstractMethod):
    """Steps `d1 + d2`: `(J'J + mu I) d1 = -J'r`, `(J'J + mu I) d2 = -J' r_vv / 2`.

    The `damping` chooses `mu`, the `acceleration` computes `r_vv`. If `|d2|` exceeds
    `max_acceleration |d1|`, the trial omits `d2`. It is then rejected unless the linear
    model alone predicts the decrease, with a gain of at least `min_linear_gain`: in
    that case `d2` was round-off. Default solver: `HostCholesky` on a CPU, else
    `Cholesky`. Points and weights may change between steps: the state keeps only `mu`,
    relative to the trace of `J'J`.
    """

    damping: AbstractDamping = SmallestDamping()
    acceleration: AbstractAcceleration = FiniteDifference()
    solver: AbstractSolver = eqx.field(default_factory=default_solver)
    max_acceleration: float = 0.75
    min_linear_gain: float = 0.75

    def __check_init__(self):
        """Check that the settings are in range."""
        check_positive(
            max_acceleration=self.max_acceleration, min_linear_gain=self.min_linear_gain
        )

    @property
    @override
    def needs_residuals(self) -> bool:
        return True

    @override
    def is_compiled(self, state: Any) -> bool:
        return self.solver.is_compiled

    @override
    def init(
        self, objective: AbstractObjective, params: Any
    ) -> LevenbergMarquardtState:
        if not isinstance(objective, AbstractLeastSquares):
            raise InputError(
                f"`objective` must be a `LeastSquares`, got {type(objective).__name__}."
            )
        value = compiled_value(objective, params)
        check_dtype(value, flatten(params)[0])
        damping = self.damping.init(value.dtype)
        return LevenbergMarquardtState(value, damping, jnp.zeros_like(value))

    @override
    def objective_changed(
        self,
        objective: AbstractObjective,
        params: Any,
        state: LevenbergMarquardtState,
    ) -> LevenbergMarquardtState:
        return eqx.tree_at(lambda s: s.value, state, compiled_value(objective, params))

    @override
    def step(
        self, objective: Any, params: Any, state: LevenbergMarquardtState
    ) -> tuple[Any, LevenbergMarquardtState, LevenbergMarquardtInfo]:
        vector, rebuild = flatten(params)
        is_first = state.scale == 0
        relative = state.damping.damping / jnp.where(is_first, 1, state.scale)
        system = self.solver.assemble(objective, params, relative)
        scale = jnp.asarray(system.scale, vector.dtype)
        min_damping = self.solver.min_damping(system) * scale
        factor = scale / jnp.where(is_first, 1, state.scale)
        damping = _rescale(state.damping, factor)  # relative to `J'J` as before
        norm = 2 * jnp.linalg.norm(jnp.asarray(system.half_gradient))
        is_finite = jnp.isfinite(state.value) & jnp.isfinite(norm)
        first = self.damping.begin_step(damping, min_damping)
        trials = _Trials(
            eqx.tree_at(lambda d: d.is_done, first, ~is_finite),
            vector,
            state.value,
            jnp.zeros((), bool),
        )

        def try_damping(trials):
            mu = trials.damping.damping
            new, value, gain = self._trial(
                objective, params, vector, state.value, system, mu
            )
            following = self.damping.update(trials.damping, gain, min_damping)
            is_kept = following.is_kept
            return _Trials(
                following,
                select_tree(is_kept, new, trials.vector),
                select_tree(is_kept, value, trials.value),
                trials.has_kept | following.is_kept,
            )

        trials = self.solver.loop(lambda t: ~t.damping.is_done, try_damping, trials)
        new_state = LevenbergMarquardtState(trials.value, trials.damping, scale)
        # A step that failed must not change the damping of the next objective.
        new_state = select_tree(trials.has_kept, new_state, state)
        info = self._info(trials, norm, is_finite)
        return rebuild(trials.vector), new_state, info

    def _trial(self, objective, params, vector, value, system, mu):
        """Return the parameters after a trial, their loss and the gain."""
        factor = self.solver.factor(system, mu)
        first = self.solver.step(factor)
        term = _second_order_term(self.acceleration, objective, params, first)
        second = -0.5 * self.solver.solve(factor, term)
        predicted = mu * jnp.vdot(first, first) - jnp.vdot(first, system.half_gradient)
        largest = self.max_acceleration * jnp.linalg.norm(first)
        is_small = jnp.linalg.norm(second) <= largest
        new = vector + first + jnp.where(is_small, second, 0)
        new_value = compiled_value(objective, flatten(params)[1](new))
        gain = (value - new_value) / predicted
        is_usable = is_small | (gain >= self.min_linear_gain)
        is_usable &= jnp.isfinite(new_value) & (predicted > 0)
        return new, new_value, jnp.where(is_usable, gain, -jnp.inf)

    def _info(self, trials, norm, is_finite):
        is_stuck = ~trials.has_kept
        status = Status.where(is_stuck, Status.no_descent, Status.ok)
        status = Status.where(is_finite, status, Status.nonfinite_objective)
        count = trials.damping.num_trials
        num_evaluations = 1 + count * (1 + self.acceleration.num_evaluations)
        return LevenbergMarquardtInfo(
            trials.value,
            norm,
            num_evaluations.astype(jnp.int32),
            is_stuck,
            status,
            trials.damping.damping,
            count,
        )


def _rescale(damping: Any, factor: Scalar) -> Any:
    return eqx.tree_at(lambda d: d.damping, damping, factor * damping.damping)


@eqx.filter_jit
def _second_order_term(acceleration, objective, params, velocity):
    return acceleration.second_order_term(objective, params, velocity)
