"""Arms of a comparison: the same settings for all, but for the policy."""

import dataclasses
from pathlib import Path
from typing import Any

from ..problems import AbstractProblem
from ..train import Recipe
from ._base import UsageError
from .names import known_policies, known_potentials, pick
from .recipe import RecipeFlags, new_recipe

_BASELINE = "uniform"


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a comparison was asked for. `flags` are those of `vrba solve` that every run
    gets; each has `num_threads`."""

    target: str
    set: tuple[str, ...]
    arms: tuple[str, ...]
    first_seed: int
    num_seeds: int
    flags: dict[str, Any]
    num_threads: int

    @property
    def baseline(self) -> str:
        """The arm that the others are measured against."""
        return _BASELINE if _BASELINE in self.arms else self.arms[0]

    def runs(self) -> list[tuple[str, int]]:
        """Arms and seeds, seed by seed; each seed begins with another arm, so that what
        changes on the machine meanwhile meets all of them."""
        found = []
        for turn in range(self.num_seeds):
            first = turn % len(self.arms)
            order = self.arms[first:] + self.arms[:first]
            found += [(arm, self.first_seed + turn) for arm in order]
        return found

    def words(self, arm: str, seed: int, run: Path) -> tuple[str, ...]:
        """The command of one run."""
        policy, _, potential = arm.partition(":")
        own = {"policy": policy, "potential": potential or None}
        flags = own | self.flags | {"seed": seed, "out": run}
        return ("solve", *self._problem(), *_as_words(flags))

    def words_to_resume(self, arm: str, run: Path) -> tuple[str, ...]:
        """The command that goes on with it: what a folder may not tell is repeated."""
        policy, _, potential = arm.partition(":")
        flags = {"policy": policy, "potential": potential or None}
        flags |= {"optimizer": self.flags.get("optimizer"), "resume": run}
        return ("solve", *self._problem(), *_as_words(flags))

    def _problem(self) -> list[str]:
        return [self.target, *(w for pair in self.set for w in ("--set", pair))]


def recipes_of(
    arms: str, flags: RecipeFlags, problem: AbstractProblem, minutes: float | None
) -> dict[str, Recipe]:
    """From `uniform,vrba:exponential` to a recipe for each arm."""
    policies = {name: name for name in known_policies()}
    potentials = {name: name for name in known_potentials()}
    found: dict[str, Recipe] = {}
    for word in filter(None, (part.strip() for part in arms.split(","))):
        name, colon, after = word.partition(":")
        policy = pick("policy", name, policies)
        potential = pick("potential", after, potentials) if colon else None
        arm = f"{policy}:{potential}" if potential else policy
        own = {"policy": policy, "potential": potential}
        recipe = new_recipe(dataclasses.replace(flags, **own), problem, minutes, None)
        same = [other for other, there in found.items() if there == recipe]
        if same:
            raise UsageError(f"The arms `{same[0]}` and `{arm}` are the same.")
        found[arm] = recipe
    if not found:
        raise UsageError("`--policies` names none: give some, as in uniform,rad,vrba.")
    return found


def _as_words(flags: dict[str, Any]) -> list[str]:
    """Flags that are given, as they are typed."""
    given = {name: value for name, value in flags.items() if value is not None}
    return [word for name, v in given.items() for word in (f"--{name}", str(v))]
