"""Levenberg-Marquardt with geodesic acceleration, for residuals in blocks."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core import InputError, Status, check_positive, flatten, select_tree
from ._base import AbstractInfo, AbstractMethod, check_type
from .accelerations import AbstractAcceleration, FiniteDifference
from .dampings import AbstractDamping, SmallestDamping
from .least_squares import AbstractLeastSquares
from .objective import AbstractObjective, value_of
from .solvers import AbstractSolver, Cholesky, HostCholesky

Scalar = Float[Array, ""]
Vector = Float[Array, " params"]


class LevenbergMarquardtState(eqx.Module):
    """The loss, the damping and the scale it is measured against."""

    value: Scalar
    damping: Any
    scale: Scalar


class LevenbergMarquardtInfo(AbstractInfo):
    """What happened. `gradient_norm` is that where the step began."""

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
    """The trials of one step: the damping's state, and the best trial so far."""

    damping: Any
    vector: Vector
    value: Scalar
    has_kept: Bool[Array, ""]


def best_solver() -> AbstractSolver:
    """The host's BLAS on a CPU, compiled products elsewhere."""
    return HostCholesky() if jax.default_backend() == "cpu" else Cholesky()


class LevenbergMarquardt(AbstractMethod):
    """Steps `d1 + d2`: `(J'J + mu I) d1 = -J'r`, `(J'J + mu I) d2 = -J' r_vv / 2`.

    `mu` by the `damping` rule, `r_vv` by the `acceleration`. Where
    `|d2| > max_bend |d1|`, `d2` is left out, and the trial is rejected unless the
    linear model alone foresees it (a gain of `plain_gain`): then `d2` was round-off.
    `solver` not given: the host's BLAS on a CPU.
    Points and weights may change between steps: nothing but `mu` is remembered, as a
    share of the trace of `J'J`.
    """

    damping: AbstractDamping = SmallestDamping()
    acceleration: AbstractAcceleration = FiniteDifference()
    solver: AbstractSolver = eqx.field(default_factory=best_solver)
    max_bend: float = 0.75
    plain_gain: float = 0.75

    def __check_init__(self):
        """Settings in range."""
        check_positive(max_bend=self.max_bend, plain_gain=self.plain_gain)

    @property
    def needs_residuals(self) -> bool:
        """The objective must be least squares."""
        return True

    def is_compiled(self, state: Any) -> bool:
        """If the solver is."""
        return self.solver.is_compiled

    def init(
        self, objective: AbstractObjective, params: Any
    ) -> LevenbergMarquardtState:
        """The loss, and a damping that no step has set."""
        if not isinstance(objective, AbstractLeastSquares):
            raise InputError(
                f"`objective` must be `LeastSquares`, got {type(objective).__name__}."
            )
        value = value_of(objective, params)
        check_type(value, flatten(params)[0])
        damping = self.damping.init(value.dtype)
        return LevenbergMarquardtState(value, damping, jnp.zeros_like(value))

    def objective_changed(
        self,
        objective: AbstractObjective,
        params: Any,
        state: LevenbergMarquardtState,
    ) -> LevenbergMarquardtState:
        """The loss anew; the damping is kept."""
        return eqx.tree_at(lambda s: s.value, state, value_of(objective, params))

    def step(
        self, objective: Any, params: Any, state: LevenbergMarquardtState
    ) -> tuple[Any, LevenbergMarquardtState, LevenbergMarquardtInfo]:
        """Assembles once, then tries dampings."""
        vector, rebuild = flatten(params)
        is_first = state.scale == 0
        relative = state.damping.damping / jnp.where(is_first, 1, state.scale)
        system = self.solver.assemble(objective, params, relative)
        scale = jnp.asarray(system.scale, vector.dtype)
        smallest = self.solver.smallest(system) * scale
        factor = scale / jnp.where(is_first, 1, state.scale)
        damping = _scaled(state.damping, factor)  # as large, beside `J'J`, as it was
        norm = 2 * jnp.linalg.norm(jnp.asarray(system.pulled))
        is_finite = jnp.isfinite(state.value) & jnp.isfinite(norm)
        begun = self.damping.begin(damping, smallest)
        trials = _Trials(
            eqx.tree_at(lambda d: d.is_done, begun, ~is_finite),
            vector,
            state.value,
            jnp.zeros((), bool),
        )

        def try_damping(trials):
            mu = trials.damping.damping
            new, value, gain = self._trial(
                objective, params, vector, state.value, system, mu
            )
            following = self.damping.update(trials.damping, gain, smallest)
            is_kept = following.is_kept
            return _Trials(
                following,
                select_tree(is_kept, new, trials.vector),
                select_tree(is_kept, value, trials.value),
                trials.has_kept | following.is_kept,
            )

        trials = self.solver.loop(lambda t: ~t.damping.is_done, try_damping, trials)
        new_state = LevenbergMarquardtState(trials.value, trials.damping, scale)
        new_state = select_tree(
            trials.has_kept, new_state, state
        )  # failing teaches nothing
        info = self._report(trials, norm, is_finite)
        return rebuild(trials.vector), new_state, info

    def _trial(self, objective, params, vector, value, system, mu):
        """The point that a damping leads to, its loss and its gain."""
        factor = self.solver.factor(system, mu)
        first = self.solver.step(factor)
        pulled = _pull(self.acceleration, objective, params, first)
        second = -0.5 * self.solver.solve(factor, pulled)
        foreseen = mu * jnp.vdot(first, first) - jnp.vdot(first, system.pulled)
        is_straight = jnp.linalg.norm(second) <= self.max_bend * jnp.linalg.norm(first)
        new = vector + first + jnp.where(is_straight, second, 0)
        new_value = value_of(objective, flatten(params)[1](new))
        gain = (value - new_value) / foreseen
        is_usable = is_straight | (gain >= self.plain_gain)
        is_usable &= jnp.isfinite(new_value) & (foreseen > 0)
        return new, new_value, jnp.where(is_usable, gain, -jnp.inf)

    def _report(self, trials, norm, is_finite):
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


def _scaled(damping: Any, factor: Scalar) -> Any:
    return eqx.tree_at(lambda d: d.damping, damping, factor * damping.damping)


@eqx.filter_jit
def _pull(acceleration, objective, params, velocity):
    return acceleration.pull(objective, params, velocity)
