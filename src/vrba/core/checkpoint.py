"""Arrays on disk that are whole or not there: no pickle, no half-written file."""

import hashlib
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .errors import BrokenFileError


def write_atomically(path: Path, content: bytes) -> None:
    """Writes beside, then renames: a crash leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    os.replace(beside, path)


def cannot_write(path: Path, error: OSError) -> OSError:
    """The error, with what is lost (nothing) and what to do."""
    return OSError(
        error.errno,
        f"`{path}` could not be written ({error.strerror}); what was there before is "
        "intact. Free some space, or choose another folder",
    )


def save_tree(path: Path, tree: Any, header: dict[str, Any]) -> None:
    """The arrays of a pytree and a header of plain values, with a checksum."""
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    packed = {f"leaf_{k}": array for k, array in enumerate(arrays)}
    about = header | {"checksum": _checksum(arrays), "num_leaves": len(arrays)}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, header=np.array(json.dumps(about)), **packed)
    write_atomically(path, buffer.getvalue())


def load_header(path: Path) -> dict[str, Any]:
    """The header of a saved pytree, once all of it is found whole."""
    return _load(path)[0]


def load_tree(path: Path, like: Any) -> tuple[Any, dict[str, Any]]:
    """A saved pytree with the structure of `like`, and its header."""
    header, arrays = _load(path)
    leaves, structure = jax.tree.flatten(like)
    if len(leaves) != len(arrays):
        raise BrokenFileError(
            f"`{path}` holds {len(arrays)} arrays where {len(leaves)} are expected: it "
            "belongs to another problem or recipe."
        )
    found = []
    for k, (leaf, array) in enumerate(zip(leaves, arrays, strict=True)):
        shape, dtype = np.shape(leaf), np.asarray(leaf).dtype
        if array.shape != shape or array.dtype != dtype:
            raise BrokenFileError(
                f"`{path}`: array {k} is {array.dtype}{array.shape} where "
                f"{dtype}{shape} is expected: it belongs to another problem or recipe."
            )
        is_host = isinstance(leaf, np.ndarray | np.generic)
        found.append(array if is_host else jnp.asarray(array))
    return jax.tree.unflatten(structure, found), header


def _load(path: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    if not Path(path).exists():
        raise FileNotFoundError(f"`{path}` is not there.")
    arrays = read_arrays(path)
    try:
        header = json.loads(str(arrays["header"]))
        leaves = [arrays[f"leaf_{k}"] for k in range(header["num_leaves"])]
        is_whole = header["checksum"] == _checksum(leaves)
    except (ValueError, KeyError, TypeError) as error:
        raise BrokenFileError(f"`{path}` is damaged: it has no header.") from error
    if not is_whole:
        raise BrokenFileError(f"`{path}` is damaged: its checksum does not fit.")
    return header, leaves


def read_arrays(path: Path, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The arrays of an `.npz` file, or those of them that are named."""
    content = io.BytesIO(Path(path).read_bytes())
    try:
        with np.load(content, allow_pickle=False) as file:
            wanted = file.files if names is None else names
            return {name: file[name] for name in wanted if name in file.files}
    except Exception as error:  # what is wrong with a zip file is told in many ways
        raise BrokenFileError(
            f"`{path}` is not whole: it was cut short, or some of it was changed."
        ) from error


def _checksum(arrays: list[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
