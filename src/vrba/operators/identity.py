"""The identity of operator data: where they come from, shapes and moments."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..core import is_same_description, kebab_case
from ..data import Pairs
from .layout import moments


def fingerprint(
    pairs: Pairs, file: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """The name, the origin, the shapes, and the moments of all parts."""
    made_by = pairs.provenance.get("settings", {}).get("class")
    names = {} if file is None else {"name": Path(file).stem}
    names = names if made_by is None else {"name": kebab_case(made_by)}
    counts = {"valid": pairs.num_valid, "test": pairs.num_test}
    found = {
        "shapes": [list(pairs.inputs.shape), list(pairs.outputs.shape)],
        "moments": _moments_of(pairs, "train"),
        "held_out": {p: _moments_of(pairs, p) for p, count in counts.items() if count},
    }
    return names | dict(pairs.provenance) | found


def _moments_of(pairs: Pairs, part: str) -> list[list[float]]:
    """Mean and deviation of inputs and outputs over all channels."""
    all_channels = (np.reshape(array, (-1, 1)) for array in pairs.load(part))
    return [[float(one[0]) for one in moments(array)] for array in all_channels]


def is_same_data(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether two fingerprints describe the same data; the file name may differ."""
    known = {key: part for key, part in before.items() if key != "name"}
    return is_same_description(known, {key: now.get(key) for key in known})
