"""How the published runs learnt: steps and relative L2 errors of their logs, or read
off their figures where there is no log (3 % off for Adam, 10 to 20 % for second order).
"""

import json
from importlib.resources import files


def published_curves(experiment: str) -> dict[str, list[list[int | float]]]:
    """Pairs of step and error by arm; nothing of what has no curve."""
    text = files(__package__ or "vrba.cli.paper").joinpath("curves.json")
    return json.loads(text.read_text(encoding="utf-8")).get(experiment, {})
