"""Files of the linear stage: what its next step needs, and the selected network."""

import dataclasses
import hashlib
import math
from collections.abc import Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core import BrokenFileError, is_same_description, rebuild
from ..runs import (
    RunFolder,
    StopReason,
    describe_problem,
    load_header,
    load_tree,
    save_tree,
)
from .evaluator import Evaluator, Rows
from .polish import Polish
from .polisher import (
    NUM_DIRECTIONS,
    PolishState,
    polished_evaluator,
    polished_network,
    trained_parts,
)
from .recipe import known_classes

STAGE, POLISHED = "stage", "polished"  # in the folder of checkpoints
EARLIER = "earlier"  # the selected network before that of an interrupted stage


@dataclasses.dataclass(frozen=True)
class PolishResult:
    """A polished network, and the part of a run's result that belongs to it.

    `step` is the step of training before the stage. `held_out` has the held-out points
    if the terms of the loss are others than in training.
    """

    evaluator: Evaluator
    params: Any
    result: dict[str, Any]
    step: int
    held_out: dict[str, Rows] | None = None

    @property
    def is_selected(self) -> bool:
        """Whether a step was accepted, so that the polished network is selected."""
        return self.result.get("polish", {}).get("is_selected", False)

    def is_same_stage(self, other: "PolishResult") -> bool:
        """Whether both are results of one stage, one perhaps with more steps."""
        one, two = (each.result.get("polish", {}) for each in (self, other))
        same_settings = bool(one) and one["settings"] == two.get("settings")
        return self.step == other.step and same_settings

    @property
    def rank(self) -> tuple[bool, float]:
        """Smaller is better: reliable estimates first."""
        is_uncertain = not self.result.get("estimate_is_reliable", False)
        estimate = self.result.get("estimated_error")
        return is_uncertain, math.inf if estimate is None else estimate


def best_result(results: Iterable[PolishResult | None]) -> PolishResult | None:
    """The first of the results with the lowest estimated error, if there are any."""
    known = (one for one in results if one is not None)
    return min(known, key=lambda one: one.rank, default=None)


class PolishFiles:
    """The files of the linear stage in a run folder, or nowhere without a folder.

    Files of another problem, damaged and missing ones do not count.
    """

    def __init__(self, folder: RunFolder | None, evaluator: Evaluator):
        self.folder, self.evaluator = folder, evaluator
        self._problem = describe_problem(evaluator.formulation.problem)

    def attempts(self, num_steps: int) -> list[dict[str, Any]]:
        """The stages that ended, up to a step of training: their limits and times."""
        header = self._header(STAGE)
        if not header:
            return []
        names = ("step", "limit", "end", "stop_reason")
        last = [{name: header[name] for name in names}] if _is_over(header) else []
        all_ended = [*header["attempts"], *last]
        return [attempt for attempt in all_ended if attempt["step"] <= num_steps]

    def seconds(self, num_steps: int) -> float:
        """The seconds at the end of the last stage up to a step of training."""
        header = self._header(STAGE)
        ends = [attempt["end"] for attempt in self.attempts(num_steps)]
        if header.get("step", math.inf) <= num_steps:
            ends.append(header["end"])
        return max(ends, default=0.0)

    def last_steps(self, num_steps: int) -> list[dict[str, Any]]:
        """The steps of the linear stage at this step of training.

        A one shot, which has no limit, is of a network without training.
        """
        header = self._header(STAGE)
        is_wanted = header.get("step") == num_steps and header["limit"] is not None
        return header["steps"] if is_wanted else []

    def selected(self) -> PolishResult | None:
        """The best result, also of a stage that was interrupted."""
        return self._load(POLISHED)

    def ended(self) -> PolishResult | None:
        """The best result of the stages that ended."""
        return self._load(EARLIER if self._is_interrupted() else POLISHED)

    def interrupted(self) -> PolishResult | None:
        """The result of a stage that was interrupted after an accepted step."""
        return self._load(POLISHED) if self._is_interrupted() else None

    def save_selected(
        self, found: PolishResult, earlier: PolishResult | None = None
    ) -> None:
        """Write the best result, and that of `earlier` stages if it is another one."""
        if self.folder is None or not found.is_selected:
            return
        pairs = {EARLIER: None if earlier is found else earlier, POLISHED: found}
        for name, one in pairs.items():
            if one is not None:
                save_polished(self.folder, one, self._problem, name)
            else:
                self.folder.checkpoint(name).unlink(missing_ok=True)

    def _is_interrupted(self) -> bool:
        """Whether the best result is that of a stage that was interrupted."""
        header, stage = self._header(POLISHED), self._header(STAGE)
        same = header and stage and header["step"] == stage["step"]
        return bool(same) and not _is_over(stage)

    def _load(self, name: str) -> PolishResult | None:
        if self.folder is None or not self._header(name):
            return None
        return load_polished(self.folder, self.evaluator, name)

    def save_stage(
        self, header: dict[str, Any], network: Any, state: PolishState
    ) -> None:
        """Write what the next step needs."""
        if self.folder is None:
            return
        params = eqx.filter(network, eqx.is_inexact_array)
        tree = {"params": params, "directions": state.directions}
        header = header | {"problem": self._problem}
        save_tree(self.folder.checkpoint(STAGE), tree, header)

    def stage_at(self, step: int, trained: Any, settings: Any) -> dict[str, Any]:
        """The header of the stage of a trained network with these settings, or none."""
        header = self._header(STAGE)
        wanted = {"step": step, "trained": fingerprint(trained), "settings": settings}
        is_same = all(header.get(name) == value for name, value in wanted.items())
        return header if is_same else {}

    def stage_arrays(self, network: Any) -> tuple[Any, Any]:
        """The parameters of the polished network, and the directions."""
        folder: Any = self.folder
        params = eqx.filter(network, eqx.is_inexact_array)
        linear = eqx.filter(params, trained_parts(network))
        columns = sum(leaf.size for leaf in jax.tree.leaves(linear))
        dtype = jax.tree.leaves(params)[0].dtype
        directions = jnp.zeros((NUM_DIRECTIONS, columns), dtype)
        template = {"params": params, "directions": directions}
        tree, _ = load_tree(folder.checkpoint(STAGE), template)
        return tree["params"], tree["directions"]

    def _header(self, name: str) -> dict[str, Any]:
        if self.folder is None:
            return {}
        try:
            header = load_header(self.folder.checkpoint(name))
        except (FileNotFoundError, BrokenFileError):
            return {}
        is_same = is_same_description(header.get("problem"), self._problem)
        return header if is_same else {}


def _is_over(header: dict[str, Any]) -> bool:
    return header.get("stop_reason") not in (None, StopReason.interrupted)


def fingerprint(params: Any) -> str:
    """A checksum of parameters."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(params):
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()


def save_polished(
    folder: RunFolder,
    found: PolishResult,
    problem: dict[str, Any],
    name: str = POLISHED,
) -> None:
    """Write a polished network, with its part of a result."""
    names = ("estimated_error", "estimate_is_reliable", "polish")
    part = {name: found.result[name] for name in names}
    header = {"result": part, "step": found.step, "problem": problem}
    save_tree(folder.checkpoint(name), found.params, header)


def load_polished(
    folder: RunFolder, evaluator: Evaluator, name: str = POLISHED
) -> PolishResult:
    """Read a polished network of a folder."""
    header = load_header(folder.checkpoint(name))
    result = header["result"]
    settings: Any = rebuild(result["polish"]["settings"], known_classes())
    start, number = evaluator.initial_params(), result["polish"]["num_growths"]
    network = polished_network(settings, evaluator, start, number)
    found, template = evaluator_of(network, evaluator, settings)
    params, _ = load_tree(folder.checkpoint(name), template)
    return PolishResult(found, params, result, header["step"])


def evaluator_of(
    network: Any, evaluator: Evaluator, settings: Polish
) -> tuple[Evaluator, Any]:
    """An evaluator of a polished network, and all its parameters."""
    params, skeleton = eqx.partition(network, eqx.is_inexact_array)
    return polished_evaluator(settings, evaluator, skeleton), params


def result_before_polish(result: dict[str, Any]) -> dict[str, Any]:
    """The result of training alone."""
    estimate = ("estimated_error", "estimate_is_reliable")
    added = ("before_polish", *estimate, "polish", "marching")
    kept = {key: value for key, value in result.items() if key not in added}
    return kept | result["before_polish"]
