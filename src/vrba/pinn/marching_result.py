"""What time marching adds to the result of a run."""

import math
from typing import Any

import numpy as np

from ..core import describe
from ..problems import EQUATIONS, Reference
from .accuracy import measure_residuals, relative_error
from .evaluator import Rows
from .marching import TimeMarching
from .marching_files import MarchState, held_out_of
from .polish import Polish
from .polish_files import PolishResult
from .slabs import Slabs
from .sweeps import estimate_of, rounding
from .trainer import Trainer


def marched_result(
    trainer: Trainer,
    trained: Any,
    slabs: Slabs,
    settings: TimeMarching,
    state: MarchState,
    step: int,
    reference: Reference | None,
) -> PolishResult:
    """The solution of all slabs, and what the stage adds to a run's result.

    Its score includes the initial conditions, and jumps between slabs like these.
    Without any slab it is the trained network.
    """
    marching = _described(slabs, settings, state)
    if not state.slabs:
        return PolishResult(trainer.evaluator, trained, {"marching": marching}, step)
    networks = list(state.networks)
    evaluator, params = slabs.join(state.intervals, networks, settings.polish)
    held_out = held_out_of(slabs, trainer.held_out)
    before = trainer.check_params(trained)
    after = measure_residuals(evaluator, held_out, params)
    jumps, marching["largest_jump"] = _jumps(slabs, state, settings.polish, held_out)
    scores = float(before.score), float(after.score) + jumps
    is_selected = marching["is_complete"] and scores[1] < scores[0]
    start, end = (
        _accuracy(found, check, pair, reference) | {"score": score}
        for found, check, pair, score in (
            (trainer.evaluator, before, trained, scores[0]),
            (evaluator, after, params, scores[1]),
        )
    )
    estimate, is_reliable = estimate_of(state.sweeps, rounding(evaluator.dtype))
    result = {
        "estimated_error": estimate,
        "estimate_is_reliable": is_reliable,
        "polish": {
            "is_selected": is_selected,
            "num_growths": 0,
            "step": step,
            "start": start,
            "settings": describe(settings.polish),
            "stop_reason": state.stop_reason,
            "seconds": state.seconds,
            "steps": [one | end for one in state.sweeps],
        },
        "marching": marching | {"is_selected": is_selected, "score": scores[1]},
    }
    return PolishResult(evaluator, params, result, step, held_out)


def _described(
    slabs: Slabs, settings: TimeMarching, state: MarchState
) -> dict[str, Any]:
    """The slabs as plain values."""
    reached = state.slabs[-1]["end"] if state.slabs else slabs.interval.start
    return {
        "settings": describe(settings),
        "is_complete": reached >= slabs.interval.end,
        "is_selected": False,
        "reached": reached,
        "slabs": [_plain(one) for one in state.slabs],
        "attempts": list(state.attempts),
        "sweeps": list(state.sweeps),
    }


def _plain(slab: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in slab.items() if name != "factors"}


def _jumps(
    slabs: Slabs, state: MarchState, polish: Polish | None, held_out: dict[str, Rows]
) -> tuple[float, float]:
    """What jumps between slabs add to the score, and the largest jump.

    A jump of a field or a rate has the weight of its initial condition. The largest is
    relative to the size of its field or rate.
    """
    weights, added = slabs.whole.term_weights, 0.0
    points = np.array(held_out[next(iter(slabs.initials))][0])
    largest, sizes = (dict.fromkeys(slabs.initials, 0.0) for _ in range(2))
    pairs = zip(state.intervals, state.networks, strict=True)
    rates = [slabs.rates_of(*pair, polish) for pair in pairs]
    for interval, *both in zip(state.intervals[1:], rates, rates[1:], strict=False):
        points[:, slabs.position] = interval.start
        before, after = (rates_fn(points) for rates_fn in both)
        for name in largest:
            square = float(np.mean((after[name] - before[name]) ** 2))
            added += weights[name] * square
            largest[name] = max(largest[name], math.sqrt(square))
            size = math.sqrt(float(np.mean(before[name] ** 2)))
            sizes[name] = max(sizes[name], size)
    relative = [jump / (sizes[name] or 1.0) for name, jump in largest.items()]
    return added, max(relative)


def _accuracy(
    evaluator: Any, check: Any, params: Any, reference: Reference | None
) -> dict[str, float]:
    """The residual of a solution, and its error to a reference."""
    found = {
        "residual_l2": math.sqrt(float(check.mean_squares[EQUATIONS])),
        "residual_max": float(check.largest[EQUATIONS]),
    }
    if reference is not None:
        found["error"] = relative_error(evaluator, params, reference)
    return found
