"""One shot: random features of an untrained network, without any training.

For smooth solutions this takes seconds. The scale of the features decides. The first
rounds of points are fitted with each of a few scales; the scale with the lowest loss on
other points goes on. All scales have the same shapes, so one program serves them all.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..problems import Reference
from ..runs import Logger, watch_signals
from .polish import Polish
from .polish_run import PolishRun, run_polish
from .polisher import Polisher, PolishRounds
from .trainer import Trainer

GAINS = (2.0, 4.0, 8.0)
NUM_TRIED = 2  # rounds of points with every scale
SHOT = Polish(
    num_features=1500,
    max_growths=1,
    max_steps=8,
    num_rounds=3,
    rows_per_column=4,
    pool_factor=4,
    has_tangent=False,
)


class ShotAttempt(NamedTuple):
    """Features of one scale: their loss on other points, and what is computed."""

    loss: float
    make_polisher: Callable[[int], Polisher]
    polisher: Polisher
    begun: PolishRounds


def run_one_shot(
    trainer: Trainer,
    origin: dict[str, Any],
    logger: Logger,
    save_fn: Callable[[PolishRun], Any],
    *,
    reference: Reference | None,
    max_seconds: float,
    tolerance: float,
) -> PolishRun:
    """Fit features of the best of a few scales, until the tolerance is met or a step
    does not help."""
    start = time.monotonic() - origin["begin"]
    clock, tried = lambda: time.monotonic() - start, []
    with watch_signals() as flag:
        for gain in GAINS:
            tried.append(attempt_shot(trainer, gain))
            if flag.is_set or clock() > max_seconds:
                break
    best = min(tried, key=lambda one: one.loss)
    return run_polish(
        PolishRun.new(
            best.make_polisher, origin | {"begin": clock()}, best.polisher, best.begun
        ),
        logger,
        save_fn,
        reference=reference,
        max_seconds=max_seconds,
        tolerance=tolerance,
    )


def attempt_shot(trainer: Trainer, gain: float) -> ShotAttempt:
    """Fit the first rounds of points with features of one scale."""
    settings = _with_choices(SHOT, trainer.recipe.polish or SHOT, gain)
    evaluator, params = trainer.evaluator, trainer.evaluator.initial_params()
    make = lambda number: Polisher(settings, evaluator, params, trainer.pools, number)
    polisher = make(0)
    state = polisher.init()
    begun = polisher.begin(state)
    for _ in range(min(NUM_TRIED, polisher.num_rounds)):
        begun = polisher.add_round(state, begun)
    loss = polisher.held_out_loss(state, begun)
    return ShotAttempt(loss if np.isfinite(loss) else np.inf, make, polisher, begun)


def _with_choices(shot: Polish, chosen: Polish, gain: float) -> Polish:
    """The settings of the one shot, with what was chosen for the linear stage."""
    return dataclasses.replace(
        shot,
        gain=gain,
        num_features=min(shot.num_features, chosen.max_columns),
        max_columns=chosen.max_columns,
        draws=chosen.draws,
        has_singular=chosen.has_singular,
    )
