"""Recipes that differ in one setting, what they are held against, and what is kept."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import vrba
from vrba.core import describe
from vrba.pinn import FixedBalance, Recipe, TraceBalance

ROOT = Path(__file__).parents[1]


class Group(NamedTuple):
    """Variants by name, the one that they are compared with, and the problem that they
    solve if it is not the study's."""

    baseline: str
    variants: Mapping[str, Callable[[], Recipe]]
    problem: vrba.Problem | None = None


class Study(NamedTuple):
    """Groups of variants, each with a budget of so many minutes. A name stands once."""

    name: str
    title: str
    problem: vrba.Problem
    minutes: float
    groups: Mapping[str, Group]
    head: str

    @property
    def variants(self) -> dict[str, Callable[[], Recipe]]:
        """All of them by name."""
        groups = self.groups.values()
        return {name: make for one in groups for name, make in one.variants.items()}

    @property
    def file(self) -> Path:
        """What is kept."""
        return ROOT / "results" / f"{self.name}.json"

    @property
    def page(self) -> Path:
        """What is told of it."""
        return ROOT / "docs" / f"{self.name}.md"

    def own_problem(self, name: str) -> vrba.Problem | None:
        """What a variant solves if it is not the problem of the study."""
        groups = self.groups.values()
        return next(one.problem for one in groups if name in one.variants)

    def mark(self, name: str) -> str:
        """What tells recipe, minutes and problem of a variant from others."""
        own = self.own_problem(name)
        told = [self.variants[name](), *([] if own is None else [own])]
        texts = [json.dumps(_marked(x), sort_keys=True, default=str) for x in told]
        text = " ".join([f"{self.minutes}", *texts])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def run(self, name: str, seed: int) -> Path:
        """Where one run is written."""
        return ROOT / "runs" / self.name / f"{self.mark(name)}-{seed}.json"

    def current(self, content: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
        """Of what was kept, the runs of variants as they are now."""
        found = {}
        for name in self.variants:
            runs, mark = content["variants"].get(name, ()), self.mark(name)
            found[name] = [run for run in runs if run["mark"] == mark]
        return found

    def done(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Runs by mark and seed: those that were kept, and what was written since."""
        found = {}
        if self.file.exists():
            content = json.loads(self.file.read_text(encoding="utf-8"))
            for run in [run for runs in content["variants"].values() for run in runs]:
                found[run["mark"], run["seed"]] = run
        for path in (ROOT / "runs" / self.name).glob("*.json"):
            run = json.loads(path.read_text(encoding="utf-8"))
            mark, _ = path.stem.rsplit("-", 1)
            found[mark, run["seed"]] = run | {"mark": mark}
        return found


# Settings that kept results did not have yet. The studies have neither a linear stage
# nor plain conditions: these settings change nothing.
_NEW = ("polish", "exact_conditions", "race", "has_scales")
_NEW += ("continuation", "time_marching")


def _marked(told: Any) -> Any:
    """A description; settings that kept results did not have yet are left out."""
    if not isinstance(told, Recipe):
        return describe(told)
    if isinstance(told.balance, TraceBalance):  # a problem with an ansatz has no terms
        told = dataclasses.replace(told, balance=FixedBalance())
    return {name: part for name, part in describe(told).items() if name not in _NEW}
