"""Files of time marching: what its next slab needs, and the solution of all slabs."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..core import BrokenFileError, describe, is_same_description, rebuild
from ..runs import (
    RunFolder,
    StopReason,
    describe_problem,
    load_header,
    load_tree,
    save_tree,
)
from .evaluator import Evaluator, Rows
from .marching import TimeMarching
from .polish_files import PolishResult
from .polisher import polished_network
from .pools import make_held_out
from .recipe import known_classes
from .slabs import Interval, Slabs

STAGE, MARCHED = "marching", "marched"  # in the folder of checkpoints
_PARTS = ("polish", "marching", "estimated_error", "estimate_is_reliable")


@dataclasses.dataclass(frozen=True)
class MarchState:
    """The slabs so far.

    `slabs` describes the finished slabs, `networks` are theirs, `attempts` tells of
    all slabs that were tried. `trained` holds the slab that awaits the linear stage,
    with its network. `length` is that of the next one. `sweeps` describes the sweeps of
    the linear stage, `swept` and `swept_parts` belong to the present one.
    """

    length: float
    slabs: tuple[dict[str, Any], ...] = ()
    networks: tuple[Any, ...] = ()
    attempts: tuple[dict[str, Any], ...] = ()
    sweeps: tuple[dict[str, Any], ...] = ()
    swept_parts: tuple[dict[str, float], ...] = ()
    swept: tuple[Any, ...] = ()
    trained: tuple[tuple[dict[str, Any], Any], ...] = ()
    stop_reason: StopReason | None = None
    seconds: float = 0.0

    def with_(self, **new: Any) -> "MarchState":
        """The state with some of its parts replaced."""
        return dataclasses.replace(self, **new)

    @property
    def num_reports(self) -> int:
        """The number of slabs and sweeps in the log."""
        return len(self.attempts) + len(self.sweeps)

    @property
    def intervals(self) -> list[Interval]:
        """The times of the finished slabs."""
        return [Interval(one["start"], one["end"]) for one in self.slabs]


class MarchFiles:
    """The files of time marching in a run folder, or nowhere without a folder."""

    def __init__(
        self,
        folder: RunFolder | None,
        slabs: Slabs,
        settings: TimeMarching,
        origin: dict[str, Any],
    ):
        self.folder, self.slabs, self.settings = folder, slabs, settings
        problem = describe_problem(slabs.formulation.problem)
        self.identity = {
            "problem": problem,
            "settings": describe(settings),
            "origin": origin,
        }

    def save(self, state: MarchState) -> None:
        """Write what the next slab needs."""
        if self.folder is None:
            return
        trained = tuple(network for _, network in state.trained)
        networks = (state.networks, state.swept, trained)
        tree = eqx.filter(networks, eqx.is_inexact_array)
        left_out = ("networks", "swept", "trained")
        fields = [field.name for field in dataclasses.fields(state)]
        header = {n: getattr(state, n) for n in fields if n not in left_out}
        header["trained"] = [slab for slab, _ in state.trained]
        save_tree(self.folder.checkpoint(STAGE), tree, header | self.identity)

    def load(self) -> MarchState | None:
        """What was written by the same stage, if anything."""
        header = self._header()
        if not header:
            return None
        plain = dataclasses.replace(self.settings, polish=None)
        one, first = (network_form(self.slabs, s) for s in (self.settings, plain))
        counts = [len(header[name]) for name in ("slabs", "swept_parts", "trained")]
        forms = [(form,) * n for form, n in zip((one, one, first), counts, strict=True)]
        template, fixed = eqx.partition(tuple(forms), eqx.is_inexact_array)
        folder: Any = self.folder
        tree, _ = load_tree(folder.checkpoint(STAGE), template)
        networks, swept, trained = eqx.combine(tree, fixed)
        trained = tuple(zip(header["trained"], trained, strict=True))
        known = {name: header[name] for name in ("length", "seconds")}
        lists = ("slabs", "attempts", "sweeps", "swept_parts")
        known |= {name: tuple(header[name]) for name in lists}
        reason = header["stop_reason"]
        known["stop_reason"] = None if reason is None else StopReason(reason)
        return MarchState(networks=networks, swept=swept, trained=trained, **known)

    def _header(self) -> dict[str, Any]:
        if self.folder is None:
            return {}
        try:
            header = load_header(self.folder.checkpoint(STAGE))
        except (FileNotFoundError, BrokenFileError):
            return {}
        known = {name: header.get(name) for name in self.identity}
        return header if is_same_description(known, self.identity) else {}


def network_form(slabs: Slabs, settings: TimeMarching) -> Any:
    """A network of a slab, whose arrays have the shapes of all others."""
    params = slabs.whole.initial_params()
    if settings.polish is None:
        return eqx.combine(params, slabs.whole.skeleton)
    return polished_network(settings.polish, slabs.whole, params)


def held_out_of(slabs: Slabs, known: dict[str, Rows]) -> dict[str, Rows]:
    """The held-out points of the whole solution: those of training, as far as there
    are any."""
    own = make_held_out(slabs.whole)
    return {name: known.get(name, rows) for name, rows in own.items()}


def save_marched(
    folder: RunFolder, found: PolishResult, problem: dict[str, Any]
) -> None:
    """Write the solution of all slabs, with its part of a result."""
    part = {name: found.result[name] for name in _PARTS if name in found.result}
    header = {"result": part, "step": found.step, "problem": problem}
    save_tree(folder.checkpoint(MARCHED), found.params, header)


def load_marched(folder: RunFolder, evaluator: Evaluator) -> PolishResult:
    """Read the solution of all slabs; `evaluator` is that of training."""
    header = load_header(folder.checkpoint(MARCHED))
    result, slabs = header["result"], Slabs.of(evaluator)
    described = result["marching"]
    classes = known_classes() | {"TimeMarching": TimeMarching}
    settings: Any = rebuild(described["settings"], classes)
    intervals = [Interval(one["start"], one["end"]) for one in described["slabs"]]
    one = network_form(slabs, settings)
    found, template = slabs.join(intervals, [one] * len(intervals), settings.polish)
    template = jax.tree.map(jnp.zeros_like, template)
    params, _ = load_tree(folder.checkpoint(MARCHED), template)
    held_out = held_out_of(slabs, make_held_out(evaluator))
    return PolishResult(found, params, result, header["step"], held_out)
