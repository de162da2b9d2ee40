"""The linear stage of a run: its steps, its time, its files, and what it reports."""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core import BrokenFileError, describe, rebuild
from ..problems import Reference
from ..runs import (
    POLISH_STEP,
    Logger,
    RunFolder,
    StopFlag,
    StopReason,
    load_header,
    load_tree,
    save_tree,
    watch_signals,
)
from .accuracy import relative_error
from .evaluator import Evaluator
from .polish import Polish
from .polisher import (
    NUM_DIRECTIONS,
    Polisher,
    PolishInfo,
    PolishRounds,
    PolishState,
    block_size_for,
    polished_network,
    trained_parts,
)
from .recipe import known_classes
from .trainer import Trainer

POLISHED = "polished"  # the file of the checkpoint
_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # no estimate is smaller
_GROWTH_SECONDS = 10.0  # compilation after a growth
_FIRST_SHARE = 0.5  # of the first step: what is not compilation


@dataclasses.dataclass
class PolishRun:
    """The steps of one linear stage so far."""

    make_polisher: Callable[[int], Polisher]  # takes the number of growths
    polisher: Polisher
    state: PolishState
    num_growths: int
    steps: list[dict[str, Any]]
    stop_reason: StopReason | None = None
    begun: PolishRounds | None = None  # rounds of the next step

    @staticmethod
    def new(
        make_polisher: Callable[[int], Polisher],
        polisher: Polisher | None = None,
        begun: PolishRounds | None = None,
    ) -> "PolishRun":
        """A stage before its first step, of which some rounds may exist already."""
        polisher = make_polisher(0) if polisher is None else polisher
        return PolishRun(make_polisher, polisher, polisher.init(), 0, [], begun=begun)

    @property
    def is_accepted(self) -> bool:
        """Whether a step was taken, so that the polished network is selected."""
        return any(step["is_accepted"] for step in self.steps)

    @property
    def seconds(self) -> float:
        """The time of all steps."""
        return self.steps[-1]["seconds"] if self.steps else 0.0

    def ends_with(self, trained: StopReason) -> StopReason:
        """Why the whole run ended, given why training ended."""
        ends = (StopReason.interrupted, StopReason.converged, StopReason.tolerance)
        found = self.stop_reason
        return trained if found is None or found not in ends else found

    def result(self) -> dict[str, Any]:
        """The part of a run's result that the stage adds, as plain values."""
        if not self.steps:
            return {}
        estimate, is_reliable = error_estimate(self.steps)
        return {
            "estimated_error": estimate,
            "estimate_is_reliable": is_reliable,
            "polish": {
                "is_selected": self.is_accepted,
                "num_growths": self.num_growths,
                "settings": describe(self.polisher.settings),
                "stop_reason": self.stop_reason,
                "seconds": self.seconds,
                "steps": self.steps,
            },
        }

    def solution(self) -> tuple[Evaluator, Any]:
        """An evaluator of the polished network, and all its parameters."""
        network = self.polisher.network(self.state.params)
        return evaluator_of(network, self.polisher.evaluator, self.polisher.settings)


def run_polish(
    run: PolishRun,
    num_steps: int,
    logger: Logger,
    folder: RunFolder | None,
    *,
    reference: Reference | None,
    seconds: float,
    max_seconds: float,
    tolerance: float | None = None,
) -> PolishRun:
    """Polish the network selected after `num_steps` steps, which took `seconds`."""
    logger.rewind(num_steps, len(run.steps))
    before, begun = seconds + run.seconds, time.monotonic()
    clock = lambda: before + time.monotonic() - begun
    with watch_signals() as flag:
        while run.stop_reason is None:
            run.stop_reason = _stop_reason(run, flag, clock(), max_seconds, tolerance)
            if run.stop_reason is not None:
                break
            start = clock()
            run.state, info = run.polisher.step(run.state, run.begun)
            run.begun = None
            found = _describe(run, info, reference)
            found |= {"seconds": clock() - seconds, "step_seconds": clock() - start}
            run.steps.append(found)
            entry = _entry(run, info, num_steps, seconds)
            if not info.choice.is_accepted and not is_converged(run.steps):
                _grow(run, clock(), max_seconds)
            _save(run, num_steps, folder)
            logger.add(entry)
            left = max_seconds - clock()
            logger.report(entry, max(0.0, left) if math.isfinite(left) else 0.0)
    _save(run, num_steps, folder)
    return run


def _stop_reason(
    run: PolishRun,
    flag: StopFlag,
    seconds: float,
    max_seconds: float,
    tolerance: float | None,
) -> StopReason | None:
    """Why the stage ends here; `None` if another step follows."""
    if flag.is_set:
        return StopReason.interrupted
    last = run.steps[-1] if run.steps else None
    if last is not None:
        if tolerance is not None and meets_tolerance(run.steps, tolerance):
            return StopReason.tolerance
        if is_converged(run.steps):
            return StopReason.converged
        if not last["is_accepted"] and last["num_growths"] == run.num_growths:
            return StopReason.no_improvement
        if seconds + _next_seconds(run, last) > max_seconds:
            return StopReason.time
    if len(run.steps) >= run.polisher.settings.max_steps:
        return StopReason.steps
    return None


def _next_seconds(run: PolishRun, last: dict[str, Any]) -> float:
    """The expected time of the next step. Half of the first one is compilation."""
    growth = run.polisher.num_columns / last["num_columns"]
    if growth > 1:
        return last["step_seconds"] * growth**3 + _GROWTH_SECONDS
    share = _FIRST_SHARE if len(run.steps) == 1 else 1.0
    return share * last["step_seconds"]


def _grow(run: PolishRun, seconds: float, max_seconds: float) -> None:
    """Add features if the settings and the time allow."""
    settings = run.polisher.settings
    if run.num_growths >= settings.max_growths:
        return
    number = run.num_growths + 1
    polisher = run.make_polisher(number)
    larger = dataclasses.replace(run, polisher=polisher)
    is_fitting = polisher.num_columns <= settings.max_columns
    if is_fitting and seconds + _next_seconds(larger, run.steps[-1]) <= max_seconds:
        run.state = polisher.adopt(run.state)
        run.polisher, run.num_growths = polisher, number


def _describe(
    run: PolishRun, info: PolishInfo, reference: Reference | None
) -> dict[str, Any]:
    """What is stored of a step, as plain values."""
    choice = info.choice
    found = {
        "num_columns": run.polisher.num_columns,
        "num_growths": run.num_growths,
        "estimate": choice.estimate,
        "noise": choice.noise,
        "expected": choice.total,
        "is_accepted": choice.is_accepted,
        "remainder": info.remainder * choice.estimate,
        "used_columns": choice.candidate.num_columns,
        "ridge": choice.candidate.ridge,
        "parts": {name: round(value, 3) for name, value in info.seconds.items()},
    }
    if reference is not None:
        evaluator, params = run.polisher.evaluator, run.state.params
        found["error"] = relative_error(evaluator, params, reference)
    return found


def _entry(
    run: PolishRun, info: PolishInfo, num_steps: int, seconds: float
) -> dict[str, Any]:
    """The entry of the log after a step."""
    last = run.steps[-1]
    evaluator, params = run.polisher.evaluator, run.state.params
    residual = run.polisher.residual(params)
    entry = {
        "step": num_steps,
        POLISH_STEP: len(run.steps),
        "seconds": round(seconds + last["seconds"], 3),
        "loss": info.loss,
        "residual_l2": float(np.sqrt(np.mean(residual**2))),
        "residual_max": float(np.max(np.abs(residual))),
        "estimated_error": error_estimate(run.steps)[0],
        "is_accepted": last["is_accepted"],
    }
    for name, value in evaluator.unknowns(params).items():
        entry[f"unknown {name}"] = value
    if "error" in last:
        entry["error"] = last["error"]
    return entry


def error_estimate(steps: list[dict[str, Any]]) -> tuple[float, bool]:
    """The estimated relative error after the last step, and whether it is reliable.

    A step that was not taken measures the error of the solution before it. After a step
    that was taken, its sampling error and its quadratic remainder are left.
    """
    last = steps[-1]
    names = ("expected", "remainder") if last["is_accepted"] else ("estimate", "noise")
    found = max(_ROUNDING, *(last[name] for name in names))
    return found, bool(last["noise"] < last["estimate"]) or found == _ROUNDING


def meets_tolerance(steps: list[dict[str, Any]], tolerance: float) -> bool:
    """Whether the estimated error is reliable and below the tolerance.

    After a step that was not taken, the distance to it and its own sampling error may
    also be below the tolerance together.
    """
    estimate, is_reliable = error_estimate(steps)
    if is_reliable or steps[-1]["is_accepted"]:
        return is_reliable and estimate <= tolerance
    return steps[-1]["estimate"] + steps[-1]["noise"] <= tolerance


def is_converged(steps: list[dict[str, Any]]) -> bool:
    """Whether rounding errors limit the solution."""
    return error_estimate(steps)[0] == _ROUNDING or steps[-1]["estimate"] < _ROUNDING


def _save(run: PolishRun, num_steps: int, folder: RunFolder | None) -> None:
    if folder is None:
        return
    header = {
        "step": num_steps,
        "num_growths": run.num_growths,
        "settings": describe(run.polisher.settings),
        "steps": run.steps,
        "stop_reason": run.stop_reason,
    }
    tree = {"params": run.solution()[1], "directions": run.state.directions}
    save_tree(folder.checkpoint(POLISHED), tree, header)


def save_polished(folder: RunFolder, params: Any, result: dict[str, Any]) -> None:
    """Write the network of a stage that is over, with the part of the result that
    `PolishRun.result` made."""
    stage = result["polish"]
    columns = stage["steps"][-1]["num_columns"]
    directions = jnp.zeros((NUM_DIRECTIONS, columns), jax.tree.leaves(params)[0].dtype)
    names = ("num_growths", "settings", "steps", "stop_reason")
    header = {"step": result["step"]} | {name: stage[name] for name in names}
    tree = {"params": params, "directions": directions}
    save_tree(folder.checkpoint(POLISHED), tree, header)


def result_before_polish(result: dict[str, Any]) -> dict[str, Any]:
    """The result of training alone."""
    added = ("before_polish", "estimated_error", "estimate_is_reliable", "polish")
    kept = {key: value for key, value in result.items() if key not in added}
    return kept | result["before_polish"]


def begin_polish(
    trainer: Trainer, trained: Any, num_steps: int, folder: RunFolder | None
) -> PolishRun:
    """The stage that the folder holds for this step of training, or a new one."""
    settings: Any = trainer.recipe.polish
    make_polisher = lambda number: Polisher(
        settings, trainer.evaluator, trained, trainer.pools, number
    )
    try:
        header = {} if folder is None else load_header(folder.checkpoint(POLISHED))
    except (FileNotFoundError, BrokenFileError):
        header = {}  # the stage begins again
    is_same = header.get("settings") == describe(settings)
    if folder is None or not is_same or header.get("step") != num_steps:
        return PolishRun.new(make_polisher)
    polisher = make_polisher(header["num_growths"])
    params, directions = _load(folder, polisher.network(polisher.trained))
    count = jnp.asarray(len(header["steps"]), jnp.int32)
    state = PolishState(polisher.linear_part(params), directions, count)
    ends = (StopReason.converged, StopReason.no_improvement)
    stop_reason = next((end for end in ends if end == header["stop_reason"]), None)
    number, steps = header["num_growths"], header["steps"]
    return PolishRun(make_polisher, polisher, state, number, steps, stop_reason)


def load_polished(folder: RunFolder, evaluator: Evaluator) -> tuple[Evaluator, Any]:
    """An evaluator of the polished network in a folder, and all its parameters."""
    header = load_header(folder.checkpoint(POLISHED))
    settings: Any = rebuild(header["settings"], known_classes())
    params = evaluator.initial_params()
    network = polished_network(settings, evaluator, params, header["num_growths"])
    return evaluator_of(network, evaluator, settings)[0], _load(folder, network)[0]


def evaluator_of(
    network: Any, evaluator: Evaluator, settings: Polish
) -> tuple[Evaluator, Any]:
    """An evaluator of a polished network, and all its parameters."""
    params, skeleton = eqx.partition(network, eqx.is_inexact_array)
    found = Evaluator(
        evaluator.formulation,
        evaluator.recipe,
        evaluator.seed,
        skeleton=skeleton,
        block_size=block_size_for(evaluator, settings.num_features),
    )
    return found, params


def _load(folder: RunFolder, network: Any) -> tuple[Any, Any]:
    """The parameters of a polished network and the directions in a folder."""
    params = eqx.filter(network, eqx.is_inexact_array)
    linear = eqx.filter(params, trained_parts(network))
    columns = sum(leaf.size for leaf in jax.tree.leaves(linear))
    directions = jnp.zeros((NUM_DIRECTIONS, columns), jax.tree.leaves(params)[0].dtype)
    template = {"params": params, "directions": directions}
    tree, _ = load_tree(folder.checkpoint(POLISHED), template)
    return tree["params"], tree["directions"]
