"""How the published runs learnt."""

import json
from importlib.resources import files
from typing import NamedTuple


class PublishedCurves(NamedTuple):
    """Pairs of step and relative L2 error by arm, and where they are from."""

    source: str
    arms: dict[str, list[list[int | float]]]


def published_curves(experiment: str) -> PublishedCurves | None:
    """Those of `curves/EXPERIMENT.json`, if there are any."""
    folder = files(__package__ or "vrba.cli.paper").joinpath("curves")
    path = folder.joinpath(f"{experiment}.json")
    if not path.is_file():
        return None
    return PublishedCurves(**json.loads(path.read_text(encoding="utf-8")))
