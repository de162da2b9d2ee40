"""What a run logs: one JSON object a line, never half a line read."""

import json
import math
from pathlib import Path
from typing import Any

from .checkpoint import cannot_write


def append_line(path: Path, entry: dict[str, Any]) -> None:
    """Adds one entry to the log; numbers that are not finite become null."""
    clean = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in entry.items()
    }
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(clean) + "\n")
    except OSError as error:
        raise cannot_write(path, error) from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All whole lines of a log."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue  # cut short by a crash
    return found
