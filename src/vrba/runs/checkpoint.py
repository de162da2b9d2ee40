"""Checkpoints: pytrees in files, the latest state of a run and its best iterate."""

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core import BrokenFileError, InputError, read_arrays, write_arrays
from ._base import AbstractTrainer
from .folder import INTERNAL_KEYS, RunFolder

_HEADER = "header"
_ROOT = "tree"  # an array's name is its key path, such as `tree.params.layers[0]`


@dataclasses.dataclass(frozen=True)
class SelectedIterate:
    """The best iterate of the run before it was resumed."""

    params: Any
    step: int
    score: float


class Checkpointer:
    """Saves and restores the state of a run; without a folder it saves nothing.

    The state ended where the run was interrupted. An unbroken run does not check that
    iterate, so its score must not enter the state: `selected` holds it apart.
    """

    def __init__(
        self, trainer: AbstractTrainer, folder: RunFolder | None, save_every: float
    ):
        self.trainer, self.folder, self.save_every = trainer, folder, save_every
        self._before: SelectedIterate | None = None

    def save(self, state: Any, seconds: float) -> None:
        """Write the latest state and the best iterate; keep the previous state too."""
        folder = self.folder
        if folder is None:
            return
        paths = map(folder.checkpoint, ("latest", "previous", "incoming"))
        latest, previous, incoming = paths
        header = {
            "seconds": seconds,
            "step": int(state.num_steps),
            "stage": self.trainer.stage(state),
        }
        save_tree(incoming, state, header)
        best = self.with_selected(state)
        save_best(
            folder,
            best,
            header
            | {
                "selected_step": int(best.best_step),
                "score": float(best.best_score),
            },
        )
        if latest.exists():
            os.replace(latest, previous)
        os.replace(incoming, latest)

    def restore(self) -> tuple[Any, float]:
        """The latest complete state, and the seconds that it took."""
        if self.folder is None:
            raise InputError("`resume=True` needs the folder of a run: give `run`.")
        state, header = self._load_latest(self.folder)
        self._before = load_selected(self.folder, state.params)
        return state, header["seconds"]

    def rescore(self, state: Any) -> Any:
        """Recompute the best scores: the problem or the recipe changed on resume."""
        check = lambda params: self.trainer.check_params(params).score
        is_known = jnp.isfinite(state.best_score)  # else nothing is selected yet
        score = jnp.where(is_known, check(state.best_params), jnp.inf)
        if self._before is not None:
            found = float(check(self._before.params))
            self._before = dataclasses.replace(self._before, score=found)
        score = score.astype(state.best_score.dtype)
        return eqx.tree_at(lambda s: s.best_score, state, score)

    def with_selected(self, state: Any) -> Any:
        """The state with the best iterate of the whole run."""
        before = self._before
        if before is None or not before.score < float(state.best_score):
            return state
        dtypes = state.best_score.dtype, state.best_step.dtype
        numbers = map(jnp.asarray, (before.score, before.step), dtypes)
        where = lambda s: (s.best_params, s.best_score, s.best_step)
        return eqx.tree_at(where, state, (before.params, *numbers))

    def _load_latest(self, folder: RunFolder) -> tuple[Any, dict[str, Any]]:
        order = ("incoming", "latest", "previous")
        paths = [path for path in map(folder.checkpoint, order) if path.exists()]
        if not paths:
            raise InputError(f"`{folder.path}` holds {_what_is_there(folder)}")
        errors = []
        for path in paths:
            try:
                stage = load_header(path).get("stage")
                if stage is None:
                    raise BrokenFileError(f"`{path}` holds no state of training.")
                return load_tree(path, self.trainer.state_template(stage))
            except BrokenFileError as error:
                errors.append(str(error))
        raise InputError(
            f"No checkpoint of `{folder.path}` can be read: " + " ".join(errors)
        )


def _what_is_there(folder: RunFolder) -> str:
    if folder.checkpoint("best").exists():
        return (
            "a solution, not a run that can be resumed: start a new run from it with "
            "`init_from`."
        )
    return "no checkpoint yet: start the run again, without resuming."


def save_best(folder: RunFolder, state: Any, header: dict[str, Any]) -> None:
    """Write the selected and the last iterate, without what training needs."""
    iterates = (state.best_params, state.params)
    save_tree(folder.checkpoint("best"), iterates, header)


def load_best(folder: RunFolder, template: Any) -> tuple[Any, dict[str, Any]]:
    """Read the selected and the last iterate, and the result stored with them."""
    both, header = load_tree(folder.checkpoint("best"), (template, template))
    return both, {k: v for k, v in header.items() if k not in INTERNAL_KEYS}


def load_selected(folder: RunFolder, template: Any) -> SelectedIterate | None:
    """The selected iterate, unless its file is missing, damaged or of another run."""
    try:
        (best, _), header = load_best(folder, template)
        trained = header.get("before_polish", header)
        return SelectedIterate(best, header["selected_step"], trained["score"])
    except (BrokenFileError, FileNotFoundError, KeyError):
        return None


def save_complete(
    folder: RunFolder,
    result: dict[str, Any],
    record: list[dict[str, Any]],
    iterates: tuple[Any, Any],
) -> None:
    """Write everything that loading a result needs; the manifest comes last."""
    folder.check_free()
    left_out = ("manifest", *INTERNAL_KEYS)
    header = {k: v for k, v in result.items() if k not in left_out}
    save_tree(folder.checkpoint("best"), iterates, header)
    folder.write_record(record)
    folder.write_manifest(result["manifest"])


def save_tree(path: Path, tree: Any, header: dict[str, Any]) -> None:
    """Write the arrays of a pytree by key path, with a header and a checksum."""
    arrays = _named_arrays(tree)
    header = header | {"checksum": _checksum(arrays)}
    packed = {_HEADER: np.array(json.dumps(header))} | arrays
    write_arrays(path, packed, compressed=False)


def load_header(path: Path) -> dict[str, Any]:
    """The header of a saved pytree, after its checksum was verified."""
    return _read(path)[0]


def load_tree(path: Path, template: Any) -> tuple[Any, dict[str, Any]]:
    """Read a pytree with the structure of `template`, and its header."""
    header, arrays = _read(path)
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    expected = {_name_of(key_path): leaf for key_path, leaf in leaves}
    if differing := expected.keys() ^ arrays.keys():
        name = sorted(differing)[0]
        what = "lacks the array" if name in expected else "has an unknown array"
        raise BrokenFileError(
            f"`{path}` {what} `{name}`: it belongs to another problem or recipe."
        )
    found = []
    for name, leaf in expected.items():
        array = arrays[name]
        shape, dtype = np.shape(leaf), np.asarray(leaf).dtype
        if array.shape != shape or array.dtype != dtype:
            raise BrokenFileError(
                f"`{path}`: `{name}` is {array.dtype}{array.shape} where "
                f"{dtype}{shape} is expected: it belongs to another problem or recipe."
            )
        is_on_host = isinstance(leaf, np.ndarray | np.generic)
        found.append(array if is_on_host else jnp.asarray(array))
    return jax.tree.unflatten(structure, found), header


def _named_arrays(tree: Any) -> dict[str, np.ndarray]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {_name_of(key_path): np.asarray(leaf) for key_path, leaf in leaves}


def _name_of(key_path: Any) -> str:
    return _ROOT + jax.tree_util.keystr(key_path)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if not Path(path).exists():
        raise FileNotFoundError(f"`{path}` does not exist.")
    arrays = read_arrays(path)
    try:
        header = json.loads(str(arrays.pop(_HEADER)))
        is_intact = header["checksum"] == _checksum(arrays)
    except (ValueError, KeyError, TypeError) as error:
        raise BrokenFileError(f"`{path}` is damaged: it has no header.") from error
    if not is_intact:
        raise BrokenFileError(f"`{path}` is damaged: its checksum does not match.")
    return header, arrays


def _checksum(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
