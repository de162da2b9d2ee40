"""Pairs on disk: written once with their settings, read where they are needed."""

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
from ._base import AbstractMaker
from ._optional import needed
from .pairs import PARTS, Pairs

FORMAT = 1
SHAPES = """A file of pairs holds, as .h5, .npz or .mat:
  inputs   [funcs, ...] or [funcs, ..., channels]         input functions, one a row
  outputs  [funcs, points...] or [funcs, points..., channels]
and the coordinates of the outputs, as either
  axes     the names of their axes in order, such as "x y t", and for each name an
           array of that name with the coordinates along it, or
  places   [points, dim], for points that are no grid.
It may hold the numbers num_train, num_valid and num_test (8 : 1 : 1 if not), and
input_channels = 1 if the last axis of the inputs is one of channels."""

Told = Callable[[int, int], None]


class PairsError(InputError):
    """A file that holds no pairs, with a note of what it must hold."""


def write_pairs(
    maker: AbstractMaker,
    path: str | os.PathLike[str],
    *,
    on_progress: Told | None = None,
) -> Path:
    """Makes data and writes them as HDF5; what is there already, also in part, is not
    made again. `on_progress` is told how many functions of how many are done."""
    needed("h5py", "operators", "write data")
    path = Path(path)
    if path.suffix in (".npz", ".mat"):
        raise InputError(f"`{path}` must end in .h5: data are written as HDF5.")
    settings = json.dumps(describe(maker), sort_keys=True)
    if path.exists():
        _check_settings(path, settings)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    with _begun(beside, maker, settings) as file:
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
    os.replace(beside, path)
    return path


def open_pairs(path: str | os.PathLike[str]) -> Pairs:
    """The pairs of a file: HDF5 (also `.mat` 7.3), which is read lazily, `.npz` or
    `.mat`. What it must hold is told if it does not."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"`{path}` is not there.")
    try:
        arrays, about = _read(path)
        return _pairs(arrays, about)
    except (ValueError, KeyError) as error:
        told = PairsError(f"`{path}`: {error.args[0] if error.args else error}")
        told.add_note(SHAPES)
        raise told from error


def _begun(beside: Path, maker: AbstractMaker, settings: str) -> Any:
    """The file that is being written, from where it was left if it is the same."""
    import h5py  # optional

    if beside.exists():
        try:
            file = h5py.File(beside, "r+")
        except OSError:
            file = None  # it was cut short: begun again below
        if file is not None:
            there = file.attrs.get("settings")
            if there == settings:
                return file
            file.close()
            raise InputError(
                f"`{beside}` is the beginning of other data: {there}. Choose another "
                "file, or remove that one."
            )
    file = h5py.File(beside, "w")
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
    about = open_pairs(path).about
    if json.dumps(about.get("settings"), sort_keys=True) != settings:
        raise InputError(
            f"`{path}` holds other data: {json.dumps(about.get('settings'))}. Choose "
            "another file, or remove that one."
        )


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays, and what is said of them."""
    if path.suffix == ".npz":
        try:
            with open(path, "rb") as whole, np.load(whole, allow_pickle=False) as file:
                return dict(file), {}
        except (BadZipFile, EOFError) as error:
            raise BrokenFileError(f"it is not whole ({error}).") from error
    if path.suffix == ".mat":
        try:
            found = scipy.io.loadmat(path)
        except NotImplementedError:  # version 7.3, which is HDF5 with axes reversed
            arrays, about = _read_hdf5(path)
            arrays = {name: np.asarray(a).T for name, a in arrays.items()}
            if "axes" in arrays:  # text is a row of codes
                arrays["axes"] = "".join(map(chr, np.ravel(arrays["axes"])))
            return arrays, about
        except (MatReadError, OSError) as error:
            raise BrokenFileError(f"it is not whole ({error}).") from error
        return {k: v for k, v in found.items() if not k.startswith("__")}, {}
    return _read_hdf5(path)


def _read_hdf5(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    needed("h5py", "operators", f"read {path.name}")
    import h5py  # optional

    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise BrokenFileError(f"it is no HDF5 file, or not whole ({error}).") from error
    arrays = {name: item for name, item in file.items() if hasattr(item, "shape")}
    return arrays, dict(file.attrs)


def _pairs(arrays: Mapping[str, Any], about: Mapping[str, Any]) -> Pairs:
    for name in ("inputs", "outputs"):
        if name not in arrays:
            found = ", ".join(f"{k} {np.shape(v)}" for k, v in arrays.items())
            raise InputError(f"there is no array `{name}`; there are: {found}.")
    inputs, outputs = arrays["inputs"], arrays["outputs"]
    if not _number(arrays, about, "input_channels", 0):
        inputs = _with_channels(inputs)
    text = about.get("axes", arrays.get("axes"))
    if text is not None:
        names = tuple(" ".join(np.atleast_1d(text).astype(str).tolist()).split())
        if missing := [name for name in names if name not in arrays]:
            raise InputError(f"there is no array `{missing[0]}` for the axis of it.")
        axes = tuple(np.asarray(arrays[name], float).reshape(-1) for name in names)
        scattered, dim = None, len(names)
    elif "places" in arrays:
        scattered, axes = np.asarray(arrays["places"], float), None
        scattered = scattered[:, None] if scattered.ndim == 1 else scattered
        names = tuple(f"x{k + 1}" for k in range(scattered.shape[1]))
        dim = 1
    else:
        raise InputError("there are no coordinates of the outputs.")
    if len(np.shape(outputs)) == 1 + dim:
        outputs = _with_channels(outputs)
    counts = _counts(arrays, about, inputs.shape[0])
    told = {k: v for k, v in about.items() if k == "settings"}
    told = {k: json.loads(v) for k, v in told.items()}
    return Pairs(inputs, outputs, names, axes, scattered, *counts, about=told)


def _number(arrays: Mapping[str, Any], about: Mapping[str, Any], name: str, other: int):
    return int(np.asarray(about.get(name, arrays.get(name, other))).reshape(-1)[0])


def _counts(arrays, about, num_funcs: int) -> tuple[int, int, int]:
    tenth = num_funcs // 10
    usual = {"train": num_funcs - 2 * tenth, "valid": tenth, "test": tenth}
    found = [_number(arrays, about, f"num_{part}", usual[part]) for part in PARTS]
    return found[0], found[1], found[2]


class _WithChannels:
    """An array on disk with one more axis at the end."""

    def __init__(self, array: Any):
        self.array = array
        self.shape = (*array.shape, 1)
        self.dtype = array.dtype

    def __getitem__(self, rows: Any) -> np.ndarray:
        return np.asarray(self.array[rows])[..., None]


def _with_channels(array: Any) -> Any:
    return array[..., None] if isinstance(array, np.ndarray) else _WithChannels(array)
