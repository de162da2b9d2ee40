"""The files of a run folder. Only this room knows their names and formats."""

import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..core import (
    BrokenFileError,
    InputError,
    append_line,
    read_json,
    read_lines,
    write_arrays,
    write_atomically,
    write_json,
)
from .callbacks import POLISH_STEP

Entry = dict[str, Any]  # of the log
FORMAT_VERSION = 1
INTERNAL_KEYS = ("checksum", "stage")  # of a checkpoint's header
SOLVE, TRAIN = "solve", "train"
_READERS = {SOLVE: "vrba.Solution.load", TRAIN: "vrba.Operator.load"}
_REQUIRED = {
    SOLVE: {
        "problem": ("name", "settings", "is_shipped"),
        "recipe": ("model", "optimizer", "policy", "dtype"),
        "block_size": (),
    },
    TRAIN: {"recipe": (), "data": (), "layout": ()},
}


class RunFolder:
    """`recipe.json`, `checkpoint/` and `fields.npz`, each written atomically, and
    `metrics.jsonl`, appended line by line."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    @property
    def manifest_file(self) -> Path:
        """Settings of the run, and the program that made it."""
        return self.path / "recipe.json"

    @property
    def metrics_file(self) -> Path:
        """The log."""
        return self.path / "metrics.jsonl"

    @property
    def fields_file(self) -> Path:
        """Arrays for figures."""
        return self.path / "fields.npz"

    def checkpoint(self, name: str) -> Path:
        """A file of the folder `checkpoint`: latest, previous, incoming, best or
        polished."""
        return self.path / "checkpoint" / f"{name}.npz"

    @property
    def holds_run(self) -> bool:
        """Whether it holds a run with a checkpoint or a log."""
        made = [*(self.path / "checkpoint").glob("*.npz"), self.fields_file]
        is_begun = any(path.exists() for path in made) or bool(self.record())
        return self.manifest_file.exists() and is_begun

    def check_free(self) -> None:
        """Raise if the folder holds a run."""
        if self.holds_run:
            raise InputError(
                f"`{self.path}` already holds a run: resume it, or choose another "
                "folder."
            )

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Write the settings of the run."""
        write_json(self.manifest_file, {"format_version": FORMAT_VERSION} | manifest)

    def read_manifest(self, kind: str | None = None) -> dict[str, Any]:
        """The settings of the run; raise unless it is of this version and kind."""
        complaint = f"`{self.path}` is no run folder"
        manifest = read_json(self.manifest_file, complaint)
        if "format_version" not in manifest:
            raise BrokenFileError(
                f"`{self.manifest_file}` is damaged, or was made by another version of "
                "vrba: it has no `format_version`."
            )
        version = manifest["format_version"]
        if version != FORMAT_VERSION:
            raise InputError(
                f"`{self.path}` has the format version {version}, this vrba reads "
                f"version {FORMAT_VERSION}: read it with the vrba that made it, or "
                "start the run again."
            )
        found = manifest.get("kind")
        if found not in _REQUIRED:
            raise BrokenFileError(
                f"`{self.manifest_file}` is damaged: its `kind` is {found!r}."
            )
        if kind is not None and found != kind:
            raise InputError(
                f"`{self.path}` is a run of `vrba {found}`: read it with "
                f"`{_READERS[found]}`, or resume it with `vrba {found} --resume "
                f"{self.path}`."
            )
        self._check_complete(manifest, _REQUIRED[found])
        return manifest

    def _check_complete(
        self, manifest: dict[str, Any], required: dict[str, tuple[str, ...]]
    ) -> None:
        missing = [name for name in ("seed", "minutes") if name not in manifest]
        for part, names in required.items():
            found = manifest.get(part)
            if found is None or (names and not isinstance(found, dict)):
                missing.append(part)
            else:
                missing += [f"{part}.{name}" for name in names if name not in found]
        if missing:
            raise BrokenFileError(
                f"`{self.manifest_file}` is damaged: it has no `{missing[0]}`."
            )

    def log(self, entry: dict[str, Any]) -> None:
        """Append an entry to the log."""
        append_line(self.metrics_file, entry)

    def record(self) -> list[dict[str, Any]]:
        """All entries of the log."""
        return read_lines(self.metrics_file)

    def write_record(self, record: list[dict[str, Any]]) -> None:
        """Replace the log."""
        lines = "".join(json.dumps(entry) + "\n" for entry in record)
        write_atomically(self.metrics_file, lines.encode())

    def rewind(
        self, num_steps: int, num_polish_steps: float | int = math.inf
    ) -> list[dict[str, Any]]:
        """Remove what was logged and drawn after a step; return the other entries.

        At the step itself the entries of `num_polish_steps` steps of the linear stage
        remain.
        """
        kept = entries_until(self.record(), num_steps, num_polish_steps)
        self.write_record(kept)
        for step, path in self.drawn_files().items():
            if step > num_steps:
                path.unlink()
        return kept

    def wants_drawn(self, step: int) -> bool:
        """Whether the step is at least twice that of the points saved last."""
        return step >= 2 * max(self.drawn_files(), default=0)

    def save_drawn(self, step: int, points: np.ndarray) -> None:
        """Write the points drawn at a step."""
        buffer = io.BytesIO()
        np.save(buffer, points.astype(np.float32), allow_pickle=False)
        write_atomically(self.path / "drawn" / f"{step}.npy", buffer.getvalue())

    def drawn_files(self) -> dict[int, Path]:
        """The files of drawn points, by step."""
        files = (self.path / "drawn").glob("*.npy")
        found = {int(p.stem): p for p in files if p.stem.isdecimal()}
        return dict(sorted(found.items()))

    def save_fields(self, arrays: dict[str, np.ndarray]) -> None:
        """Write arrays for figures."""
        write_arrays(self.fields_file, arrays, compressed=True)


def entries_until(
    record: list[Entry], num_steps: int, num_polish_steps: float | int
) -> list[Entry]:
    """Entries up to a step, with those of `num_polish_steps` linear steps after it."""
    last = (num_steps, num_polish_steps)
    place = lambda entry: (entry["step"], entry.get(POLISH_STEP, 0))
    return [entry for entry in record if place(entry) <= last]
