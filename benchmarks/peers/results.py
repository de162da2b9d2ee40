"""From logs to `results/peers.json`: errors at two times, and thinned curves."""

import dataclasses
import json
from typing import Any

from .arms import Arm
from .runs import ROOT, Settings, read_log

RESULTS = ROOT / "results" / "peers.json"
MOST_POINTS = 60  # of a curve
SLACK = 1.02  # a step that ends this much too late still counts


def keep(tasks: list[tuple[Settings, Arm]]) -> None:
    """Adds what has ended to the results, in place of earlier ones."""
    known = read_results()
    for settings, arm in tasks:
        if settings.maker(arm).exists():
            known[f"{settings.folder.name}/{arm.name}"] = told_of(settings, arm)
    RESULTS.parent.mkdir(exist_ok=True)
    text = json.dumps(dict(sorted(known.items())), indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def read_results() -> dict[str, dict[str, Any]]:
    """All that was kept."""
    if not RESULTS.exists():
        return {}
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def told_of(settings: Settings, arm: Arm) -> dict[str, Any]:
    """What is told of a run; of one that failed the last that it said."""
    common = {"arm": arm.name, "settings": dataclasses.asdict(settings)}
    common |= json.loads(settings.maker(arm).read_text(encoding="utf-8"))
    lines = read_log(settings.log(arm))
    if lines:
        return common | summary(lines, 60 * settings.minutes)
    said = settings.said(arm).read_text(encoding="utf-8", errors="replace")
    return common | {"failure": (said.strip().splitlines() or ["nothing was said"])[-1]}


def summary(lines: list[dict[str, Any]], limit: float) -> dict[str, Any]:
    """The log of a run that was allowed so many seconds, in short."""
    about, entries, last = lines[0]["about"], lines[1:-1], lines[-1]
    whole = last["seconds"] + last["measuring_seconds"]
    return {
        "about": about,
        "seconds": last["seconds"],
        "measuring_seconds": last["measuring_seconds"],
        "cpu_share": round(last["cpu_seconds"] / whole, 3),
        "steps": entries[-1]["step"] if entries else 0,
        "error_at_quarter": error_at(entries, limit / 4),
        "error_at_end": error_at(entries, limit),
        "curve": [[e["seconds"], e["error"]] for e in thinned(entries)],
    }


def error_at(entries: list[dict[str, Any]], seconds: float) -> float | None:
    """That of the last measurement until then; none if there was none."""
    before = [e["error"] for e in entries if e["seconds"] <= SLACK * seconds]
    return before[-1] if before else None


def thinned(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first, the last, and those between that are evenly spread in the log."""
    if len(entries) <= MOST_POINTS:
        return entries
    last = len(entries) - 1
    picks = {round(k * last / (MOST_POINTS - 1)) for k in range(MOST_POINTS)}
    return [entries[k] for k in sorted(picks)]
