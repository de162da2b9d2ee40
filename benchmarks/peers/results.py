"""From logs to `results/peers.json`: errors at two times, and thinned curves."""

import bisect
import dataclasses
import json
import math
from typing import Any

from .arms import Arm
from .runs import ROOT, Settings, has_finished, read_log

RESULTS = ROOT / "results" / "peers.json"
MOST_POINTS = 60  # of a curve
LATEST = 1.02  # times its limit: what is measured later is not looked at


def keep(tasks: list[tuple[Settings, Arm]]) -> None:
    """Adds what has ended to the results, in place of earlier ones."""
    known = read_results()
    for settings, arm in tasks:
        if found := told_of(settings, arm):
            known[f"{settings.folder.name}/{arm.name}"] = found
    RESULTS.parent.mkdir(exist_ok=True)
    text = json.dumps(dict(sorted(known.items())), indent=1, allow_nan=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def read_results() -> dict[str, dict[str, Any]]:
    """All that was kept."""
    if not RESULTS.exists():
        return {}
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def told_of(settings: Settings, arm: Arm) -> dict[str, Any] | None:
    """What is told of a run: of one that failed also why, and what it had measured; of
    one that was stopped nothing."""
    if not settings.maker(arm).exists():
        return None
    maker = json.loads(settings.maker(arm).read_text(encoding="utf-8"))
    lines = read_log(settings.log(arm))
    if not has_finished(lines) and "failure" not in maker:
        return None
    common = {"arm": arm.name, "settings": dataclasses.asdict(settings)} | maker
    return common | summary(lines, 60 * settings.minutes)


def summary(lines: list[dict[str, Any]], limit: float) -> dict[str, Any]:
    """The log of a run that was allowed so many seconds, in short."""
    is_whole = has_finished(lines)
    about = lines[0]["about"] if lines else {}
    entries = lines[1:-1] if is_whole else lines[1:]
    entries = [entry for entry in entries if entry["seconds"] <= LATEST * limit]
    finite = [entry for entry in entries if math.isfinite(entry["error"])]
    found = {
        "about": about,
        "steps": entries[-1]["step"] if entries else 0,
        "seconds": entries[-1]["seconds"] if entries else 0.0,
        "is_finite": len(finite) == len(entries),
        "error_at_quarter": error_at(entries, limit / 4),
        "error_at_end": error_at(entries, limit) if is_whole else None,
        "curve": [
            [e["seconds"], e["error"]] for e in thinned(finite, limit / 4, limit)
        ],
    }
    if is_whole:
        last = lines[-1]
        whole = last["seconds"] + last["measuring_seconds"]
        found |= {name: last[name] for name in ("seconds", "measuring_seconds")}
        found |= {"cpu_share": round(last["cpu_seconds"] / whole, 3)}
        found |= {"stop_reason": last["stop_reason"]} if "stop_reason" in last else {}
    return found


def error_at(entries: list[dict[str, Any]], seconds: float) -> float | None:
    """Between two measurements the logarithm of the error is taken as linear in time,
    so that it does not matter when an arm measures; after the last that is a number it
    is that one's. None before the first, and after one that is no number."""
    times = [entry["seconds"] for entry in entries]
    number = bisect.bisect_right(times, seconds)
    if number == 0:
        return None
    near = [entry["error"] for entry in entries[number - 1 : number + 1]]
    if not math.isfinite(near[0]):
        return None
    if len(near) == 1 or not math.isfinite(near[1]) or min(near) <= 0:
        return near[0]
    before, after = times[number - 1 : number + 1]
    share = (seconds - before) / (after - before)
    return math.exp((1 - share) * math.log(near[0]) + share * math.log(near[1]))


def thinned(entries: list[dict[str, Any]], *seconds: float) -> list[dict[str, Any]]:
    """The first, the last, and those between that are evenly spread in the log; and
    those around some times, so that errors at these follow from what is left."""
    if len(entries) <= MOST_POINTS:
        return entries
    last, times = len(entries) - 1, [entry["seconds"] for entry in entries]
    picks = {round(k * last / (MOST_POINTS - 1)) for k in range(MOST_POINTS)}
    for place in [bisect.bisect_right(times, one) for one in seconds]:
        picks |= {max(place - 1, 0), min(place, last)}
    return [entries[k] for k in sorted(picks)]
