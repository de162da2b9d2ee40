"""Write fields on a grid as `.npz` or NetCDF."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.io import netcdf_file

from ..core import InputError, write_arrays, write_atomically


def write_grid(
    path: Path, grid_fn: Callable[[], dict[str, np.ndarray]], names: tuple[str, ...]
) -> Path:
    """Write what `grid_fn` returns; `names` are the coordinates among its arrays."""
    check_grid_file(path)
    arrays = grid_fn()
    if path.suffix == ".nc":
        write_atomically(path, _netcdf_bytes(arrays, names))
    else:
        write_arrays(path, arrays, compressed=True)
    return path


def check_grid_file(path: Path) -> None:
    """Raise if the file cannot be written; create its folder."""
    if path.suffix not in (".npz", ".nc"):
        raise InputError(f"`path` must end in .npz or .nc, got `{path}`.")
    if path.is_dir():
        raise InputError(f"`path` must be a file, but `{path}` is a folder.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"`{path}` cannot be written: {error}.") from error


def _netcdf_bytes(arrays: dict[str, np.ndarray], names: tuple[str, ...]) -> bytes:
    buffer = io.BytesIO()
    with netcdf_file(buffer, "w") as file:
        for name in names:
            file.createDimension(name, arrays[name].size)
        for name, array in arrays.items():
            dimensions = (name,) if name in names else names
            variable = file.createVariable(name, "d", dimensions)
            variable[...] = array
        file.flush()
        return buffer.getvalue()
