"""What a solve measures at every check."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from ..core import InputError
from ..problems import EQUATIONS, Reference
from ..runs import AbstractMeasurements, Entry
from .accuracy import relative_error
from .diagnostics import Budget, diagnose
from .snapshot import drawn_points
from .state import Check, TrainState
from .trainer import Trainer
from .undetermined import find_undetermined


class Measurements(AbstractMeasurements):
    """Residuals, unknown coefficients, the error to a reference, and diagnostics.

    `undetermined` are sentences on parts of the solution that nothing determines.
    They are found before training.
    """

    def __init__(
        self, trainer: Trainer, reference: Reference | None, fraction: float | int
    ):
        self.trainer, self.reference = trainer, reference
        found = find_undetermined(trainer.evaluator, trainer.pools)
        self.undetermined = [part.sentence() for part in found]
        self.budget = Budget(fraction, math.inf)

    @override
    def start(self, planned_seconds: float, record: list[Entry]) -> None:
        spent = [entry.get("diagnose_seconds", 0.0) for entry in record]
        spent = max(spent, default=0.0)
        self.budget = Budget(self.budget.fraction, planned_seconds, spent)

    @override
    def entry(
        self, state: TrainState, check: Check, loss: float, seconds: float
    ) -> Entry:
        trainer = self.trainer
        policy = trainer.policies[EQUATIONS]
        entry: Entry = {
            "step": int(state.num_steps),
            "seconds": round(seconds, 3),
            "stage": trainer.stage(state),
            "loss": loss,
            "residual_l2": float(jnp.sqrt(check.mean_squares[EQUATIONS])),
            "residual_max": float(check.largest[EQUATIONS]),
            "score": float(check.score),
            "best_step": int(state.best_step),
            "num_failed": int(state.num_failed),
            "effective_size": float(policy.effective_size(state.policies[EQUATIONS])),
        }
        for name in trainer.evaluator.formulation.conditions:
            entry[f"residual_l2 {name}"] = float(jnp.sqrt(check.mean_squares[name]))
            entry[f"weight {name}"] = float(state.balance.factors[name])
        for name, value in trainer.evaluator.unknowns(state.params).items():
            entry[f"unknown {name}"] = value
        if self.reference is not None:
            params, reference = state.params, self.reference
            entry["error"] = relative_error(trainer.evaluator, params, reference)
        if self.undetermined:
            entry["undetermined"] = self.undetermined
        return entry | self._diagnostics(state, seconds)

    def _diagnostics(self, state: TrainState, seconds: float) -> dict[str, Any]:
        """Diagnostics, if their budget allows."""
        if not self.budget.allows(seconds):
            return {}
        return self.budget.measure(lambda: self._diagnose(state))

    def _diagnose(self, state: TrainState) -> dict[str, Any]:
        """Diagnostics, or why they failed: the run goes on without them."""
        try:
            return diagnose(self.trainer, state, has_time=self.budget.is_ample)
        except InputError as error:
            return {"not_diagnosed": str(error)}

    @override
    def drawn_points(self, state: TrainState) -> np.ndarray | None:
        return drawn_points(self.trainer, state)
