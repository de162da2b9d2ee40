"""One optimizer after another, as stages."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool
from typing_extensions import override

from ..core import InputError, Status
from ._base import AbstractInfo, AbstractObjective, AbstractOptimizer
from .first_order import Adam
from .quasi_newton import QuasiNewton
from .switches import AbstractSwitch, AfterSteps
from .updates import SSBroyden


class Stage(eqx.Module):
    """A part of a run with one optimizer, and the switch that ends this part."""

    optimizer: AbstractOptimizer
    until: AbstractSwitch


class SequenceState(eqx.Module):
    """The index of the current stage, and the states of its optimizer and switch.

    The structure depends on the stage. To read a saved state, build one of the same
    structure with `Sequence.init_stage`.
    """

    stage: int = eqx.field(static=True)
    optimizer: Any
    switch: Any
    is_over: Bool[Array, ""]


class Sequence(AbstractOptimizer):
    """`Sequence(Stage(FromOptax(optax.adam(1e-3)), AfterSteps(5000)), QuasiNewton())`.

    Every stage but the last has a switch. A stage that is stuck ends as well. Only the
    state of the current stage is in memory; the next stage starts from the parameters
    alone.
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
    @override
    def needs_residuals(self) -> bool:
        optimizers = [stage.optimizer for stage in self.stages]
        return any(o.needs_residuals for o in (*optimizers, self.last))

    @override
    def is_compiled(self, state: SequenceState) -> bool:
        return self._optimizer(state.stage).is_compiled(state.optimizer)

    @override
    def init(self, objective: AbstractObjective, params: Any) -> SequenceState:
        return self.init_stage(0, objective, params)

    def init_stage(
        self, stage: int, objective: AbstractObjective, params: Any
    ) -> SequenceState:
        """Return the state before the first step of the stage with index `stage`."""
        if not 0 <= stage <= len(self.stages):
            raise InputError(
                f"`stage` must be between 0 and {len(self.stages)}, got {stage}."
            )
        state = self._optimizer(stage).init(objective, params)
        is_last = stage == len(self.stages)
        switch = None if is_last else self.stages[stage].until.init()
        return SequenceState(stage, state, switch, jnp.zeros((), bool))

    @override
    def objective_changed(
        self, objective: AbstractObjective, params: Any, state: SequenceState
    ) -> SequenceState:
        optimizer = self._optimizer(state.stage)
        new = optimizer.objective_changed(objective, params, state.optimizer)
        return eqx.tree_at(lambda s: s.optimizer, state, new)

    @override
    def step(
        self, objective: AbstractObjective, params: Any, state: SequenceState
    ) -> tuple[Any, SequenceState, AbstractInfo]:
        """Make a step of the current stage. Being stuck ends the stage, not the run."""
        optimizer = self._optimizer(state.stage)
        params, new, info = optimizer.step(objective, params, state.optimizer)
        if state.stage == len(self.stages):
            return params, SequenceState(state.stage, new, None, state.is_over), info
        switch = self.stages[state.stage].until
        switch_state = switch.update(state.switch, info)
        is_bad = info.status == Status.nonfinite_objective
        is_over = switch.is_over(switch_state) | (info.is_stuck & ~is_bad)
        info = eqx.tree_at(lambda i: i.is_stuck, info, info.is_stuck & is_bad)
        return params, SequenceState(state.stage, new, switch_state, is_over), info

    @override
    def is_stage_over(self, state: SequenceState) -> Bool[Array, ""]:
        optimizer = self._optimizer(state.stage)
        return state.is_over | optimizer.is_stage_over(state.optimizer)

    @override
    def next_stage(
        self, objective: AbstractObjective, params: Any, state: SequenceState
    ) -> SequenceState:
        if bool(state.is_over):
            return self.init_stage(state.stage + 1, objective, params)
        optimizer = self._optimizer(state.stage)
        new = optimizer.next_stage(objective, params, state.optimizer)
        return eqx.tree_at(lambda s: s.optimizer, state, new)

    def _optimizer(self, stage: int) -> AbstractOptimizer:
        is_last = stage == len(self.stages)
        return self.last if is_last else self.stages[stage].optimizer


def adam_ssbroyden(num_steps: int = 1000) -> Sequence:
    """Return Adam for `num_steps` steps, then self-scaled Broyden.

    Toscano et al. (2025) use `num_steps=5000`.
    """
    first = Stage(Adam(), AfterSteps(num_steps))
    return Sequence(first, QuasiNewton(update=SSBroyden()))
