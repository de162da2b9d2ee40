"""`vrba data`: pairs of functions to train operators on."""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from tyro.conf import Positional, arg

from .. import data as room
from ..compare import listed, named_in, pick
from ..core import kebab_case
from ..data import AbstractMaker, Pairs, open_pairs, write_pairs
from ..report import Bar
from ._base import DONE, AbstractFolderCommand, UsageError
from .flags import Assignments
from .outcome import as_json
from .target import parse_settings


def known_makers() -> dict[str, type[AbstractMaker]]:
    """The data that can be made."""
    return named_in(room, AbstractMaker)


@dataclasses.dataclass(frozen=True)
class Data(AbstractFolderCommand):
    """Make data for operators, or tell what a file of such data holds.

    What is there already is not made again; what was stopped goes on.
    """

    action: Annotated[Positional[Literal["make", "info"]], arg(metavar="make|info")]
    target: Annotated[
        Positional[str],
        arg(
            metavar="NAME|FILE",
            help=f"to make one of {listed(known_makers())}; to be told of, a file",
        ),
    ]
    scale: Annotated[str, arg(metavar="SCALE")] = "laptop"
    """How much: paper, laptop or tiny."""
    param: Assignments = ()
    out: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Where to write; data/NAME-SCALE.h5 unless given."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Makes, or tells."""
        path = self.made() if self.action == "make" else Path(self.target)
        told = about(open_pairs(path)) | {"file": str(path)}
        lines = [f"{name}: {value}" for name, value in told.items()]
        sys.stdout.write((as_json(told) if self.json else "\n".join(lines)) + "\n")
        return DONE

    def made(self) -> Path:
        """The file, written if it was not there."""
        if self.param and self.out is None:
            raise UsageError("Say with `--out FILE` where data with `--param` go.")
        return make_data(self.target, self.scale, self.param, self.out)


def make_data(
    target: str, scale: str, settings: Sequence[str] = (), out: Path | None = None
) -> Path:
    """The file of data that can be made, written if it was not there."""
    kind = pick("data", target, known_makers())
    given = pick(f"scale of {target}", scale, kind.scales)
    maker = kind(**(given | parse_settings(kind, settings)))
    name = f"{kebab_case(kind.__name__)}-{scale}"
    with Bar(f"Making {name}") as bar:
        path = out or Path("data") / f"{name}.h5"
        return write_pairs(maker, path, on_progress=bar.update)


def about(pairs: Pairs) -> dict[str, object]:
    """What pairs hold: shapes, parts, and the moments of those to train on."""
    told: dict[str, object] = {
        "inputs": list(pairs.inputs.shape),
        "outputs": list(pairs.outputs.shape),
        "coordinates": " ".join(pairs.names),
        "train": pairs.num_train,
        "valid": pairs.num_valid,
        "test": pairs.num_test,
    }
    for name in ("inputs", "outputs"):
        mean, std = moments(getattr(pairs, name), pairs.num_train)
        told[f"mean of {name} to train on"] = mean
        told[f"std of {name} to train on"] = std
    return told | dict(pairs.about)


def moments(array: Any, num_rows: int) -> tuple[float, float]:
    """Mean and deviation of the first rows, which need not fit in memory."""
    count, mean, spread = 0, 0.0, 0.0
    for start in range(0, num_rows, 20):
        part = np.asarray(array[start : min(start + 20, num_rows)], float)
        gap = np.mean(part) - mean  # two sets are joined by their means and spreads
        total = count + part.size
        spread += np.var(part) * part.size + gap**2 * count * part.size / total
        mean += gap * part.size / total
        count = total
    return float(mean), float(np.sqrt(spread / count))
