"""Sweeps of the linear stage over all slabs of time: what they found."""

import math
from typing import Any

import numpy as np

from .slab_steps import SlabStep
from .slabs import Interval


def rounding(dtype: Any) -> float:
    """The smallest estimate in a precision."""
    return 16 * float(np.finfo(dtype).eps)


def relative_change(found: SlabStep) -> float:
    """The change of the fields by a step, relative to their size."""
    size = float(np.linalg.norm(found.after)) or 1.0
    return float(np.linalg.norm(found.after - found.before)) / size


def parts_of(found: SlabStep, interval: Interval) -> dict[str, float]:
    """Squares of the solution and of its errors, integrated over a slab."""
    size = interval.length * float(np.mean(found.after**2))
    change = interval.length * float(np.mean((found.after - found.before) ** 2))
    errors = {"noise": size * found.noise**2, "expected": size * found.expected**2}
    sizes = {"size": size, "change": change, "num_columns": found.num_columns}
    return sizes | errors


def join_parts(parts: tuple[dict[str, float], ...], least: float) -> dict[str, Any]:
    """What a sweep found, relative to the whole solution; `least` is `rounding`."""
    total = lambda name: math.fsum(one[name] for one in parts)
    size = total("size") or 1.0
    root = lambda name: math.sqrt(total(name) / size)
    found: dict[str, Any] = {
        "estimate": root("change"),
        "noise": root("noise"),
        "expected": root("expected"),
        "num_columns": int(parts[0]["num_columns"]),
    }
    is_gain = max(found["expected"], least) < 0.5 * found["estimate"]
    return found | {"is_accepted": is_gain and math.isfinite(found["estimate"])}


def estimate_of(
    sweeps: tuple[dict[str, Any], ...], least: float
) -> tuple[float | None, bool]:
    """The estimated error after the last sweep, and whether it is reliable.

    It must exceed its sampling error, or be at `least`, which is `rounding`.
    """
    if not sweeps or not math.isfinite(sweeps[-1]["estimate"]):
        return None, False
    found = max(sweeps[-1]["estimate"], least)
    return found, bool(sweeps[-1]["noise"] < found) or found == least


def sweep_sentence(number: int, sweep: dict[str, Any]) -> str:
    """A sweep in words."""
    word = "" if sweep["is_accepted"] else ", not accepted"
    return f"Linear sweep {number}: relative change {sweep['estimate']:.1e}{word}"
