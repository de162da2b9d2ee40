"""What a run says and logs in JSON: of a log a line each, never half a line read."""

import json
import math
from pathlib import Path
from typing import Any

from .checkpoint import cannot_write
from .errors import BrokenFileError, InputError

_MOST_BYTES = 1 << 16  # far more than two lines have


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
    found = [_entry(line) for line in path.read_bytes().splitlines()]
    return [entry for entry in found if entry is not None]


def read_last_line(path: Path) -> dict[str, Any] | None:
    """The last whole line of a log, without reading the others."""
    if not path.exists():
        return None
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - _MOST_BYTES))
        lines = file.read().splitlines()
    found = (_entry(line) for line in reversed(lines))
    return next((entry for entry in found if entry is not None), None)


def read_json(path: Path, complaint: str) -> dict[str, Any]:
    """A JSON object; the complaint says what a folder without it is not."""
    if not path.exists():
        raise InputError(f"{complaint}: it has no {path.name}.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BrokenFileError(f"`{path}` is damaged: {error}.") from error
    if not isinstance(content, dict):
        raise BrokenFileError(f"`{path}` is damaged: it holds no settings.")
    return content


def _entry(line: bytes) -> dict[str, Any] | None:
    """What a line says of a step, if it is whole: a crash may cut it short."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    step = entry.get("step") if isinstance(entry, dict) else None
    return entry if isinstance(step, int) else None
