"""Arms of a comparison: the same settings for all, but for the policy."""

import dataclasses
from pathlib import Path
from typing import Any

BASELINE = "uniform"


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a comparison was asked for. `flags` are those of the `command`, `solve` or
    `train`, that every run gets; each has `num_threads`."""

    command: str
    target: str
    param: tuple[str, ...]
    arms: tuple[str, ...]
    first_seed: int
    num_seeds: int
    flags: dict[str, Any]
    num_threads: int

    @property
    def baseline(self) -> str:
        """The arm that the others are measured against."""
        return BASELINE if BASELINE in self.arms else self.arms[0]

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
        flags = _policy(arm) | self.flags | {"seed": seed, "out": run}
        return (self.command, *self._subject(), *_as_words(flags))

    def words_to_resume(self, arm: str, run: Path) -> tuple[str, ...]:
        """The command that goes on with it: what a folder may not tell is repeated."""
        flags: dict[str, Any] = {"scale": self.flags.get("scale")}
        if self.command == "solve":
            flags = _policy(arm) | {"optimizer": self.flags.get("optimizer")}
        return (self.command, *self._subject(), *_as_words(flags | {"resume": run}))

    def _subject(self) -> list[str]:
        return [self.target, *(w for pair in self.param for w in ("--param", pair))]


def _policy(arm: str) -> dict[str, Any]:
    """`POLICY:POTENTIAL` as flags."""
    policy, _, potential = arm.partition(":")
    return {"policy": policy, "potential": potential or None}


def _as_words(flags: dict[str, Any]) -> list[str]:
    """Flags that are given, as they are typed."""
    given = {name: value for name, value in flags.items() if value is not None}
    return [word for name, v in given.items() for word in (f"--{name}", str(v))]
