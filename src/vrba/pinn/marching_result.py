"""What time marching adds to the result of a run."""

import math
from typing import Any

from ..core import describe
from ..problems import EQUATIONS, Reference
from .accuracy import measure_residuals, relative_error
from .marching import TimeMarching
from .marching_files import MarchState
from .polish_files import PolishResult
from .slab_steps import ROUNDING
from .slabs import Slabs
from .trainer import Trainer


def result_of(
    trainer: Trainer,
    trained: Any,
    slabs: Slabs,
    settings: TimeMarching,
    state: MarchState,
    step: int,
    reference: Reference | None,
) -> PolishResult:
    """The solution of all slabs, and what the stage adds to a run's result."""
    networks = list(state.networks)
    evaluator, params = slabs.join(state.intervals, networks, settings.polish)
    before = trainer.check_params(trained)
    after = measure_residuals(evaluator, trainer.held_out, params)
    reached = state.slabs[-1]["end"]
    is_complete = reached >= slabs.interval.end
    is_selected = is_complete and bool(after.score < before.score)
    start, end = (
        _accuracy(found, check, *pair, reference)
        for found, check, pair in (
            (trainer.evaluator, before, (trained,)),
            (evaluator, after, (params,)),
        )
    )
    estimate = None
    if state.sweeps and math.isfinite(state.sweeps[-1]["estimate"]):
        estimate = max(state.sweeps[-1]["estimate"], ROUNDING)
    steps = [one | end for one in state.sweeps]
    result = {
        "estimated_error": estimate,
        "estimate_is_reliable": estimate is not None,
        "polish": {
            "is_selected": is_selected,
            "num_growths": 0,
            "step": step,
            "start": start,
            "settings": describe(settings.polish),
            "stop_reason": state.stop_reason,
            "seconds": state.seconds,
            "steps": steps,
        },
        "marching": {
            "settings": describe(settings),
            "is_complete": is_complete,
            "reached": reached,
            "slabs": [_plain(one) for one in state.slabs],
            "attempts": list(state.attempts),
            "sweeps": list(state.sweeps),
        },
    }
    return PolishResult(evaluator, params, result, step)


def _plain(slab: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in slab.items() if name != "factors"}


def _accuracy(
    evaluator: Any, check: Any, params: Any, reference: Reference | None
) -> dict[str, float]:
    """The residual of a solution, and its error to a reference."""
    found = {
        "residual_l2": math.sqrt(float(check.mean_squares[EQUATIONS])),
        "residual_max": float(check.largest[EQUATIONS]),
        "score": float(check.score),
    }
    if reference is not None:
        found["error"] = relative_error(evaluator, params, reference)
    return found
