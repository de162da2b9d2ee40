"""A run on disk: what was asked for, what was logged, where it stands."""

import dataclasses
import hashlib
import inspect
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..core import (
    BrokenFileError,
    InputError,
    append_line,
    class_fingerprint,
    describe,
    load_header,
    load_tree,
    read_json,
    read_lines,
    save_tree,
    write_atomically,
)
from ..problems import Problem
from ._base import AbstractTrainer

FORMAT = 3  # of a checkpoint
_INTERNAL = ("checksum", "num_leaves", "stage")  # of its header


@dataclasses.dataclass(frozen=True)
class Kept:
    """An iterate that was selected before, its step and its score."""

    params: Any
    step: int
    score: float


class RunFolder:
    """`recipe.json`, `checkpoint/` and `fields.npz`, each written whole or not at all,
    and `metrics.jsonl`, line by line."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    @property
    def recipe_file(self) -> Path:
        """What was asked for."""
        return self.path / "recipe.json"

    @property
    def metrics_file(self) -> Path:
        """What was logged."""
        return self.path / "metrics.jsonl"

    @property
    def fields_file(self) -> Path:
        """The solution on a grid."""
        return self.path / "fields.npz"

    def checkpoint(self, name: str) -> Path:
        """A file of the folder `checkpoint`."""
        return self.path / "checkpoint" / f"{name}.npz"

    @property
    def holds_run(self) -> bool:
        """Whether there is a run that can be looked at: one that was killed before its
        first checkpoint is none."""
        made = [*(self.path / "checkpoint").glob("*.npz"), self.fields_file]
        is_begun = any(path.exists() for path in made) or bool(self.record())
        return self.recipe_file.exists() and is_begun

    def check_free(self) -> None:
        """Refuses a folder that holds another run."""
        if self.holds_run:
            raise InputError(
                f"`{self.path}` already holds a run: resume it, or choose another "
                "folder."
            )

    def write_about(self, about: dict[str, Any]) -> None:
        """What was asked for, and by which program."""
        content = json.dumps({"format": FORMAT} | about, indent=2) + "\n"
        write_atomically(self.recipe_file, content.encode())

    def about(self) -> dict[str, Any]:
        """What `write_about` wrote."""
        return read_json(self.recipe_file, f"`{self.path}` is no run folder")

    def about_problem(self) -> dict[str, Any]:
        """The same of a run that solves a problem, and not of another."""
        about = self.about()
        if "operator" in about:
            raise InputError(
                f"`{self.path}` is a run of `vrba train`: resume it with that, or read "
                "it with `vrba.Operator.load`."
            )
        settings = {
            "problem": ("name", "settings", "is_shipped"),
            "recipe": ("model", "optimizer", "policy", "dtype"),
        }
        return self._checked(about, settings, ("minutes", "block_size"))

    def about_operator(self) -> dict[str, Any]:
        """The same of a run that trains an operator, and not of another."""
        about = self.about()
        if "problem" in about:
            raise InputError(
                f"`{self.path}` is a run of `vrba solve`: resume it with that, or read "
                "it with `vrba.Solution.load`."
            )
        return self._checked(about, {"operator": (), "data": ()}, ("minutes",))

    def _checked(
        self,
        about: dict[str, Any],
        settings: dict[str, tuple[str, ...]],
        names: tuple[str, ...],
    ) -> dict[str, Any]:
        """Refuses a file that lacks settings, some of which have settings of theirs."""
        lacking = [name for name in ("format", "seed", *names) if name not in about]
        for part, wanted in settings.items():
            found = about.get(part)
            if not isinstance(found, dict):
                lacking.append(part)
            else:
                lacking += [f"{part}.{name}" for name in wanted if name not in found]
        if lacking:
            raise BrokenFileError(
                f"`{self.recipe_file}` is damaged: it has no `{lacking[0]}`."
            )
        return about

    def log(self, entry: dict[str, Any]) -> None:
        """Adds a line to the log."""
        append_line(self.metrics_file, entry)

    def record(self) -> list[dict[str, Any]]:
        """The log."""
        return read_lines(self.metrics_file)

    def rewind(self, num_steps: int) -> list[dict[str, Any]]:
        """Drops what was logged after a step, and returns the rest."""
        kept = [entry for entry in self.record() if entry["step"] <= num_steps]
        lines = "".join(json.dumps(entry) + "\n" for entry in kept)
        write_atomically(self.metrics_file, lines.encode())
        for step, path in self.drawn_files().items():
            if step > num_steps:
                path.unlink()
        return kept

    def save(
        self,
        trainer: AbstractTrainer,
        state: Any,
        selected: Any,
        header: dict[str, Any],
    ) -> None:
        """The state of training, and the same with what is selected of the whole run;
        the checkpoint before it is kept as well."""
        latest, previous = self.checkpoint("latest"), self.checkpoint("previous")
        coming = self.checkpoint("coming")
        about = header | {"stage": trainer.stage(state)}
        save_tree(coming, state, about)
        best = {"selected_step": int(selected.best_step)}
        best |= {"score": float(selected.best_score)}
        self.save_best(selected, about | best)
        if latest.exists():
            os.replace(latest, previous)
        os.replace(coming, latest)

    def save_best(self, state: Any, header: dict[str, Any]) -> None:
        """The selected and the last iterate, without what training needs."""
        both = (state.best_params, state.params)
        save_tree(self.checkpoint("best"), both, header)

    def save_whole(
        self, result: dict[str, Any], record: list[dict[str, Any]], both: Any
    ) -> None:
        """What came of a run, with both iterates: all that loading it needs. What makes
        it a run folder is written last."""
        self.check_free()
        header = {k: v for k, v in result.items() if k not in ("about", *_INTERNAL)}
        save_tree(self.checkpoint("best"), both, header)
        lines = "".join(json.dumps(entry) + "\n" for entry in record)
        write_atomically(self.metrics_file, lines.encode())
        self.write_about(result["about"])

    def load_best(self, like: Any) -> tuple[Any, dict[str, Any]]:
        """Both iterates, and what was told of the selected one."""
        both, header = load_tree(self.checkpoint("best"), (like, like))
        return both, {k: v for k, v in header.items() if k not in _INTERNAL}

    def load_kept(self, like: Any) -> Kept | None:
        """The selected iterate, unless it is damaged or nothing is told of it."""
        try:
            (best, _), header = self.load_best(like)
            return Kept(best, header["selected_step"], header["score"])
        except (BrokenFileError, FileNotFoundError, KeyError):
            return None

    def load(self, trainer: AbstractTrainer) -> tuple[Any, dict[str, Any]]:
        """The latest checkpoint that is whole."""
        problems = []
        order = ("coming", "latest", "previous")
        names = [name for name in order if self.checkpoint(name).exists()]
        if not names:
            found = (
                "a solution, not a run that can be resumed: begin a new one from it "
            )
            found += "with `init_from`."
            if not self.checkpoint("best").exists():
                found = "no checkpoint yet: begin the run again, without resuming."
            raise InputError(f"`{self.path}` holds {found}")
        for name in names:
            path = self.checkpoint(name)
            try:
                stage = load_header(path).get("stage")
                if stage is None:
                    raise BrokenFileError(f"`{path}` holds no state of training.")
                return load_tree(path, trainer.like(stage))
            except BrokenFileError as error:
                problems.append(str(error))
        raise InputError(
            f"No checkpoint of `{self.path}` can be read: " + " ".join(problems)
        )

    def wants_drawn(self, step: int) -> bool:
        """Whether twice as many steps have passed as when points were last saved."""
        return step >= 2 * max(self.drawn_files(), default=0)

    def save_drawn(self, step: int, points: np.ndarray) -> None:
        """Where points were drawn at a step."""
        buffer = io.BytesIO()
        np.save(buffer, points.astype(np.float32), allow_pickle=False)
        write_atomically(self.path / "drawn" / f"{step}.npy", buffer.getvalue())

    def drawn_files(self) -> dict[int, Path]:
        """What `save_drawn` wrote, by step."""
        files = (self.path / "drawn").glob("*.npy")
        found = {int(p.stem): p for p in files if p.stem.isdecimal()}
        return dict(sorted(found.items()))

    def save_fields(self, arrays: dict[str, np.ndarray]) -> None:
        """Arrays for figures."""
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        write_atomically(self.fields_file, buffer.getvalue())


def describe_problem(problem: Problem) -> dict[str, Any]:
    """The class, its settings, and a fingerprint of the file that defines it, or of the
    code of what was typed into a notebook or an interpreter."""
    kind, typed = type(problem), {}
    try:
        source = Path(inspect.getfile(kind)).read_bytes()
    except (OSError, TypeError):
        source, typed = b"", {"code": class_fingerprint(kind, describe)}
    return {
        "name": kind.__name__,
        "is_shipped": kind.__module__.startswith("vrba.problems"),
        "settings": describe(problem),
        "source": hashlib.sha256(source).hexdigest(),
        **typed,
    }
