"""What an experiment, a table and a figure of the paper are made of."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ...core import InputError

SCALES = ("paper", "laptop", "tiny")


@dataclasses.dataclass(frozen=True)
class Arm:
    """A row: what `vrba compare` calls it, what the paper calls it, and the relative L2
    error that was published, if it was, also in a later revision."""

    word: str
    label: str
    published: float | None = None
    revised: float | None = None


@dataclasses.dataclass(frozen=True)
class Cited:
    """A row that the paper takes from elsewhere, and what is to be said of it."""

    experiment: str
    label: str
    published: float
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Experiment:
    """Rows that differ in their policy only: a comparison. `scales` are its flags at
    each scale, `differences` tell what is not as published at the scale `paper`, and
    `like` names another that has the same published curves."""

    name: str
    title: str
    target: str
    arms: tuple[Arm, ...]
    scales: Mapping[str, Mapping[str, Any]]
    settings: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    like: str | None = None

    def __post_init__(self):
        """Every scale is there."""
        if set(self.scales) != set(SCALES):
            raise InputError(f"`scales` must be {SCALES}, got {tuple(self.scales)}.")


@dataclasses.dataclass(frozen=True)
class Exhibit:
    """A table or a figure: the experiments that it shows. Of a figure, `pictures` are
    those of their comparisons that show what it does."""

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    cited: tuple[Cited, ...] = ()
    pictures: tuple[str, ...] = ("comparison",)
