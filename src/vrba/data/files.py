"""Files of pairs: write HDF5; read HDF5, `.npz` and `.mat`."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import scipy
from scipy.io.matlab import MatReadError

from ..core import BrokenFileError, InputError, describe
from ._base import AbstractMaker, require_package
from .pairs import PARTS, Pairs

FORMAT = 1
FILE_FORMAT = """A file of pairs (.h5, .npz or .mat) contains:
  inputs   [funcs, ...] or [funcs, ..., channels]         input functions, one per row
  outputs  [funcs, points...] or [funcs, points..., channels]
and the coordinates of the outputs, either as
  axes     the names of their axes in order, such as "x y t", and for each name an
           array of that name with the coordinates along it, or
  places   [points, dim], for points that do not form a grid.
Optional numbers are num_train, num_valid and num_test (default 8 : 1 : 1), and
input_channels = 1 if the last axis of the inputs holds channels."""

ProgressFn = Callable[[int, int], None]


class PairsError(InputError):
    """A file without valid pairs; a note describes the expected format."""


def write_pairs(
    maker: AbstractMaker,
    path: str | os.PathLike[str],
    *,
    on_progress: ProgressFn | None = None,
) -> Path:
    """Generate data and write them as HDF5; continue a partly written file.

    `on_progress` is called with the number of functions done and in total.
    """
    require_package("h5py", "operators", "write data")
    path = Path(path)
    if path.suffix in (".npz", ".mat"):
        raise InputError(f"`{path}` must end in .h5, as data are written as HDF5.")
    settings = json.dumps(describe(maker), sort_keys=True)
    if path.exists():
        _check_settings(path, settings)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    with _open_partial(partial, maker, settings) as file:
        done = int(file.attrs["num_done"])
        for inputs, outputs in maker.chunks(done) if done < maker.num_funcs else ():
            rows = slice(done, done + len(inputs))
            for name, rows_of in (("inputs", inputs), ("outputs", outputs)):
                if name not in file:
                    shape = (maker.num_funcs, *rows_of.shape[1:])
                    file.create_dataset(name, shape, rows_of.dtype)
                file[name][rows] = rows_of
            file.flush()
            done += len(inputs)
            file.attrs["num_done"] = done
            file.flush()
            if on_progress is not None:
                on_progress(done, maker.num_funcs)
    os.replace(partial, path)
    return path


def open_pairs(path: str | os.PathLike[str]) -> Pairs:
    """Open a file of pairs: HDF5 (also `.mat` 7.3), `.npz` or `.mat`.

    HDF5 is read lazily. A file in another format raises `PairsError` with a note on the
    expected one.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"`{path}` does not exist.")
    try:
        arrays, attributes = _read(path)
        return _build_pairs(arrays, attributes)
    except (ValueError, KeyError) as error:
        wrapped = PairsError(f"`{path}`: {error.args[0] if error.args else error}")
        wrapped.add_note(FILE_FORMAT)
        raise wrapped from error


def _open_partial(partial: Path, maker: AbstractMaker, settings: str) -> Any:
    """Open or create the partly written file; raise if it is of other settings."""
    import h5py  # optional

    if partial.exists():
        try:
            file = h5py.File(partial, "r+")
        except OSError:
            file = None  # truncated: start again below
        if file is not None:
            found = file.attrs.get("settings")
            if found == settings:
                return file
            file.close()
            raise InputError(
                f"`{partial}` is a part of other data: {found}. Choose another file, "
                "or remove that one."
            )
    file = h5py.File(partial, "w")
    file.attrs["format"] = FORMAT
    file.attrs["settings"] = settings
    file.attrs["axes"] = " ".join(maker.names)
    file.attrs["input_channels"] = 1
    file.attrs["num_done"] = 0
    for part in PARTS:
        file.attrs[f"num_{part}"] = getattr(maker, f"num_{part}")
    for name, axis in zip(maker.names, maker.axes(), strict=True):
        file[name] = axis
    return file


def _check_settings(path: Path, settings: str) -> None:
    found = json.dumps(open_pairs(path).provenance.get("settings"), sort_keys=True)
    if found != settings:
        raise InputError(
            f"`{path}` holds other data: {found}. Choose another file, or remove it."
        )


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the arrays and the attributes of a file."""
    if path.suffix == ".npz":
        try:
            with open(path, "rb") as whole, np.load(whole, allow_pickle=False) as file:
                return dict(file), {}
        except (BadZipFile, EOFError) as error:
            raise BrokenFileError(
                f"the file is incomplete or damaged ({error})."
            ) from error
    if path.suffix == ".mat":
        try:
            found = scipy.io.loadmat(path)
        except NotImplementedError:  # version 7.3 is HDF5 with reversed axes
            arrays, attributes = _read_hdf5(path)
            arrays = {name: np.asarray(a).T for name, a in arrays.items()}
            if "axes" in arrays:  # text is a row of character codes
                arrays["axes"] = "".join(map(chr, np.ravel(arrays["axes"])))
            return arrays, attributes
        except (MatReadError, OSError) as error:
            raise BrokenFileError(
                f"the file is incomplete or damaged ({error})."
            ) from error
        return {k: v for k, v in found.items() if not k.startswith("__")}, {}
    return _read_hdf5(path)


def _read_hdf5(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    require_package("h5py", "operators", f"read {path.name}")
    import h5py  # optional

    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise BrokenFileError(
            f"the file is not HDF5, or is damaged ({error})."
        ) from error
    arrays = {name: item for name, item in file.items() if hasattr(item, "shape")}
    return arrays, dict(file.attrs)


def _build_pairs(arrays: Mapping[str, Any], attributes: Mapping[str, Any]) -> Pairs:
    for name in ("inputs", "outputs"):
        if name not in arrays:
            found = ", ".join(f"{k} {np.shape(v)}" for k, v in arrays.items())
            raise InputError(f"there is no array `{name}`; the arrays are: {found}.")
    inputs, outputs = arrays["inputs"], arrays["outputs"]
    if not _read_number(arrays, attributes, "input_channels", 0):
        inputs = _with_channels(inputs)
    text = attributes.get("axes", arrays.get("axes"))
    if text is not None:
        names = tuple(" ".join(np.atleast_1d(text).astype(str).tolist()).split())
        if missing := [name for name in names if name not in arrays]:
            raise InputError(
                f"there is no array `{missing[0]}` for the axis of that name."
            )
        axes = tuple(np.asarray(arrays[name], float).reshape(-1) for name in names)
        scattered, dim = None, len(names)
    elif "places" in arrays:
        scattered, axes = np.asarray(arrays["places"], float), None
        scattered = scattered[:, None] if scattered.ndim == 1 else scattered
        names = tuple(f"x{k + 1}" for k in range(scattered.shape[1]))
        dim = 1
    else:
        raise InputError("the coordinates of the outputs are missing.")
    if len(np.shape(outputs)) == 1 + dim:
        outputs = _with_channels(outputs)
    counts = _read_counts(arrays, attributes, inputs.shape[0])
    settings = {k: json.loads(v) for k, v in attributes.items() if k == "settings"}
    return Pairs(inputs, outputs, names, axes, scattered, *counts, provenance=settings)


def _read_number(
    arrays: Mapping[str, Any], attributes: Mapping[str, Any], name: str, default: int
) -> int:
    """Return a number from the attributes or arrays of a file."""
    found = attributes.get(name, arrays.get(name, default))
    return int(np.asarray(found).reshape(-1)[0])


def _read_counts(arrays, attributes, num_funcs: int) -> tuple[int, int, int]:
    tenth = num_funcs // 10
    defaults = {"train": num_funcs - 2 * tenth, "valid": tenth, "test": tenth}
    found = [
        _read_number(arrays, attributes, f"num_{part}", defaults[part])
        for part in PARTS
    ]
    return found[0], found[1], found[2]


class _WithChannels:
    """An array on disk with an axis of channels added at the end."""

    def __init__(self, array: Any):
        self.array = array
        self.shape = (*array.shape, 1)
        self.dtype = array.dtype

    def __getitem__(self, rows: Any) -> np.ndarray:
        return np.asarray(self.array[rows])[..., None]


def _with_channels(array: Any) -> Any:
    return array[..., None] if isinstance(array, np.ndarray) else _WithChannels(array)
