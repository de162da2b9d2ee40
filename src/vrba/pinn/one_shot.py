"""One shot: random features of an untrained network, without any training.

For smooth solutions this takes seconds. The scale of the features decides; it is chosen
by the residual on points that were not fitted.
"""

import dataclasses
import time
from typing import Any

import numpy as np

from ..problems import Reference
from ..runs import Logger, RunFolder
from .polish import Polish
from .polish_run import PolishRun, run_polish
from .polisher import Polisher
from .trainer import Trainer

GAINS = (4.0, 2.0, 8.0)
SHOT = Polish(
    num_features=1000,
    max_growths=1,
    num_rounds=2,
    rows_per_column=6,
    pool_factor=4,
    has_tangent=False,
)


def run_one_shot(
    trainer: Trainer,
    logger: Logger,
    folder: RunFolder | None,
    *,
    reference: Reference | None,
    seconds: float,
    max_seconds: float,
    tolerance: float,
) -> PolishRun:
    """Fit features of the best of a few scales, until the tolerance is met or a step
    does not help."""
    begun = time.monotonic()
    best = min((_first_step(trainer, gain) for gain in GAINS), key=lambda one: one[0])
    seconds += time.monotonic() - begun
    return run_polish(
        PolishRun.new(_maker(trainer, best[1])),
        0,
        logger,
        folder,
        reference=reference,
        seconds=seconds,
        max_seconds=max_seconds,
        tolerance=tolerance,
    )


def _maker(trainer: Trainer, settings: Polish) -> Any:
    params = trainer.evaluator.initial_params()
    return lambda number: Polisher(
        settings, trainer.evaluator, params, trainer.pools, number
    )


def _first_step(trainer: Trainer, gain: float) -> tuple[float, Polish]:
    """The residual after a step with features of one scale."""
    settings = dataclasses.replace(SHOT, gain=gain)
    polisher = _maker(trainer, settings)(0)
    state, _ = polisher.step(polisher.init())
    residual = polisher.residual(state.params)
    size = float(np.sqrt(np.mean(residual**2)))
    return size if np.isfinite(size) else np.inf, settings
