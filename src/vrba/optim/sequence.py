"""One optimizer after another."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from ..core import InputError, Status
from ._base import AbstractInfo, AbstractOptimizer
from .objective import AbstractObjective
from .switches import AbstractSwitch


class Stage(eqx.Module):
    """An optimizer, and until when it works."""

    optimizer: AbstractOptimizer
    until: AbstractSwitch


class SequenceState(eqx.Module):
    """Which stage is at work, its optimizer's state and its switch's.

    Its structure is that of the stage: to read a saved one, make its like with
    `Sequence.init_stage`.
    """

    stage: int = eqx.field(static=True)
    inner: Any
    watch: Any
    is_over: Bool[Array, ""]


class Sequence(AbstractOptimizer):
    """`Sequence(Stage(FromOptax(optax.adam(1e-3)), AfterSteps(5000)), QuasiNewton())`.

    Every stage but the last has a switch. A stage that is stuck hands over too. Only
    the state of the stage at work is in memory; the next one begins from the
    parameters alone.
    """

    stages: tuple[Stage, ...]
    last: AbstractOptimizer

    def __init__(self, *stages: Stage | AbstractOptimizer):
        *first, last = stages or (None,)
        staged = tuple(stage for stage in first if isinstance(stage, Stage))
        if len(staged) < len(first):
            raise InputError(
                "`stages` before the last must each be `Stage(optimizer, until)`, got "
                f"{[type(stage).__name__ for stage in first]}."
            )
        if not isinstance(last, AbstractOptimizer):
            raise InputError(
                f"The last of `stages` must be an optimizer, got {type(last).__name__}."
            )
        self.stages, self.last = staged, last

    @property
    def needs_residuals(self) -> bool:
        """If one of its stages does."""
        optimizers = [stage.optimizer for stage in self.stages]
        return any(o.needs_residuals for o in (*optimizers, self.last))

    def is_compiled(self, state: SequenceState) -> bool:
        """If the stage at work is."""
        return self._optimizer(state.stage).is_compiled(state.inner)

    def init(self, objective: AbstractObjective, params: Any) -> SequenceState:
        """The first stage."""
        return self.init_stage(0, objective, params)

    def init_stage(
        self, stage: int, objective: AbstractObjective, params: Any
    ) -> SequenceState:
        """A stage before its first step."""
        if not 0 <= stage <= len(self.stages):
            raise InputError(
                f"`stage` must be between 0 and {len(self.stages)}, got {stage}."
            )
        inner = self._optimizer(stage).init(objective, params)
        is_last = stage == len(self.stages)
        watch = None if is_last else self.stages[stage].until.init()
        return SequenceState(stage, inner, watch, jnp.zeros((), bool))

    def objective_changed(
        self, objective: AbstractObjective, params: Any, state: SequenceState
    ) -> SequenceState:
        """Tells the stage at work."""
        optimizer = self._optimizer(state.stage)
        inner = optimizer.objective_changed(objective, params, state.inner)
        return eqx.tree_at(lambda s: s.inner, state, inner)

    def step(
        self, objective: AbstractObjective, params: Any, state: SequenceState
    ) -> tuple[Any, SequenceState, AbstractInfo]:
        """A step of the stage at work; being stuck ends the stage, not the run."""
        optimizer = self._optimizer(state.stage)
        params, inner, info = optimizer.step(objective, params, state.inner)
        if state.stage == len(self.stages):
            new = SequenceState(state.stage, inner, None, state.is_over)
            return params, new, info
        switch = self.stages[state.stage].until
        watch = switch.update(state.watch, info)
        is_bad = info.status == Status.nonfinite_objective
        is_over = switch.is_due(watch) | (info.is_stuck & ~is_bad)
        info = eqx.tree_at(lambda i: i.is_stuck, info, info.is_stuck & is_bad)
        return params, SequenceState(state.stage, inner, watch, is_over), info

    def is_stage_over(self, state: SequenceState) -> Bool[Array, ""]:
        """Whether the stage is over, or a part of it."""
        return state.is_over | self._optimizer(state.stage).is_stage_over(state.inner)

    def next_stage(
        self, objective: AbstractObjective, params: Any, state: SequenceState
    ) -> SequenceState:
        """The next stage, from the parameters alone."""
        if bool(state.is_over):
            return self.init_stage(state.stage + 1, objective, params)
        optimizer = self._optimizer(state.stage)
        inner = optimizer.next_stage(objective, params, state.inner)
        return eqx.tree_at(lambda s: s.inner, state, inner)

    def _optimizer(self, stage: int) -> AbstractOptimizer:
        is_last = stage == len(self.stages)
        return self.last if is_last else self.stages[stage].optimizer
