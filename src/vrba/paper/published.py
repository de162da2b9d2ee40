"""Published learning curves."""

import json
from importlib.resources import files
from typing import NamedTuple


class PublishedCurves(NamedTuple):
    """Pairs of step and relative L2 error by method, and their source."""

    source: str
    methods: dict[str, list[list[int | float]]]


def published_curves(experiment: str) -> PublishedCurves | None:
    """The curves in `curves/EXPERIMENT.json`; `None` without such a file."""
    folder = files(__package__ or "vrba.paper").joinpath("curves")
    path = folder.joinpath(f"{experiment}.json")
    if not path.is_file():
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
    return PublishedCurves(content["source"], content["methods"])
