"""What an experiment, a table and a figure of the paper consist of."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..core import InputError

SCALES = ("paper", "laptop", "tiny")


@dataclasses.dataclass(frozen=True)
class PaperRow:
    """A method, its name in the paper, and the published relative L2 error, also that
    of a later revision."""

    method: str
    label: str
    published: float | None = None
    revised: float | None = None


@dataclasses.dataclass(frozen=True)
class CitedRow:
    """A row that the paper cites from elsewhere, with a note."""

    experiment: str
    label: str
    published: float
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A comparison: rows that differ in their policy only.

    `target` is a problem with its `params`, or data for operators if `is_data`.
    `scales` are the flags of every run at each scale. `differences` say what is not as
    published at the scale `paper`. `same_curves_as` names another experiment with the
    same published curves.
    """

    name: str
    title: str
    target: str
    rows: tuple[PaperRow, ...]
    scales: Mapping[str, Mapping[str, Any]]
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    differences: tuple[str, ...] = ()
    same_curves_as: str | None = None
    is_data: bool = False

    def __post_init__(self):
        """Every scale is there."""
        if set(self.scales) != set(SCALES):
            raise InputError(f"`scales` must be {SCALES}, got {tuple(self.scales)}.")

    @property
    def methods(self) -> tuple[str, ...]:
        """The method of each row."""
        return tuple(row.method for row in self.rows)

    def param_words(self) -> tuple[str, ...]:
        """The parameters of the problem, as typed after `--param`."""
        as_text = lambda value: f"{value:g}" if isinstance(value, float) else str(value)
        return tuple(f"{name}={as_text(v)}" for name, v in self.params.items())


@dataclasses.dataclass(frozen=True)
class PaperItem:
    """A table or a figure: the experiments that it shows. `pictures` are the figures of
    a comparison that its page shows."""

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    cited: tuple[CitedRow, ...] = ()
    pictures: tuple[str, ...] = ("comparison",)
