"""Files that are complete or absent, and are read without running code."""

import io
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .errors import BrokenFileError, InputError

_TAIL_BYTES = 1 << 16  # far more than two lines of a log have


def write_atomically(path: Path, content: bytes) -> None:
    """Write to a file beside, then rename: a crash leaves the old or the new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _write_error(path, error) from error
    os.replace(part, path)


def _write_error(path: Path, error: OSError) -> OSError:
    return OSError(
        error.errno,
        f"`{path}` could not be written ({error.strerror}); its former content is "
        "intact. Free some space, or choose another folder",
    )


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON object, indented."""
    write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())


def read_json(path: Path, complaint: str) -> dict[str, Any]:
    """Read a JSON object; `complaint` starts the message if there is no such file."""
    if not path.exists():
        raise InputError(f"{complaint}: it has no {path.name}.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BrokenFileError(f"`{path}` is damaged: {error}.") from error
    if not isinstance(content, dict):
        raise BrokenFileError(f"`{path}` is damaged: it holds no settings.")
    return content


def write_arrays(path: Path, arrays: dict[str, Any], *, compressed: bool) -> None:
    """Write an `.npz` file; objects, which would be pickled, are refused."""
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise InputError(f"`{path}`: the array `{name}` holds Python objects.")
    buffer = io.BytesIO()
    save = np.savez_compressed if compressed else np.savez
    save(buffer, **arrays)
    write_atomically(path, buffer.getvalue())


def read_arrays(path: Path, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The arrays of an `.npz` file, or those of `names` that it has."""
    content = io.BytesIO(Path(path).read_bytes())
    try:
        with np.load(content, allow_pickle=False) as file:
            wanted = file.files if names is None else names
            return {name: file[name] for name in wanted if name in file.files}
    except Exception as error:  # a damaged zip file raises many kinds of errors
        raise BrokenFileError(
            f"`{path}` is incomplete: it was cut short, or some of it was changed."
        ) from error


def append_line(path: Path, entry: dict[str, Any]) -> None:
    """Append an entry to a log of JSON lines; numbers not finite become null."""
    clean = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in entry.items()
    }
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(clean) + "\n")
    except OSError as error:
        raise _write_error(path, error) from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All complete entries of a log; each has a step."""
    if not path.exists():
        return []
    found = [_parse_entry(line) for line in path.read_bytes().splitlines()]
    return [entry for entry in found if entry is not None]


def read_last_line(path: Path) -> dict[str, Any] | None:
    """The last complete entry of a log, without reading the others."""
    if not path.exists():
        return None
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        lines = file.read().splitlines()
    found = (_parse_entry(line) for line in reversed(lines))
    return next((entry for entry in found if entry is not None), None)


def _parse_entry(line: bytes) -> dict[str, Any] | None:
    """The entry of a line, unless a crash cut the line short."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    step = entry.get("step") if isinstance(entry, dict) else None
    return entry if isinstance(step, int) else None
