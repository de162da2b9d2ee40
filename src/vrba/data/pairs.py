"""Pairs of input and output functions, with their coordinates and parts."""

import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..core import InputError, as_floats, check_real

PARTS = ("train", "valid", "test")
_CHUNK = 20  # rows in memory at a time

Axes = tuple[Float[np.ndarray, " _"], ...] | None
Scattered = Float[np.ndarray, "points dim"] | None


class Pairs(eqx.Module):
    """Input and output functions, one pair per row, with channels on the last axis.

    `inputs` and `outputs` may be on disk and are read where they are sliced. The
    coordinates of the outputs are named `names`. They form a grid with one array per
    axis in `axes`, or are `scattered` points `[points, dim]`. The first `num_train`
    rows are for training, the next `num_valid` for selection, the last `num_test` for
    the test error. `provenance` holds the settings of the generator.
    """

    inputs: Any
    outputs: Any
    names: tuple[str, ...]
    axes: tuple[Float[np.ndarray, " _"], ...] | None
    scattered: Float[np.ndarray, "points dim"] | None
    num_train: int
    num_valid: int
    num_test: int
    provenance: Mapping[str, Any] = eqx.field(default_factory=dict)

    def __check_init__(self):
        check_pairs(self)

    @property
    def num_funcs(self) -> int:
        """The number of pairs in all parts."""
        return self.inputs.shape[0]

    @property
    def grid(self) -> tuple[int, ...]:
        """The number of output points along each axis."""
        return tuple(self.outputs.shape[1:-1])

    @property
    def places(self) -> Float[np.ndarray, "*grid dim"]:
        """The coordinates of every point of the outputs."""
        return output_points(self.axes, self.scattered)

    def rows(self, part: str) -> slice:
        """Return the rows of the part `train`, `valid` or `test`."""
        if part not in PARTS:
            raise InputError(f"`part` must be one of {', '.join(PARTS)}, got {part!r}.")
        counts = (self.num_train, self.num_valid, self.num_test)
        start = sum(counts[: PARTS.index(part)])
        return slice(start, start + counts[PARTS.index(part)])

    def load(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """Read the inputs and outputs of a part into memory."""
        rows = self.rows(part)
        return np.asarray(self.inputs[rows]), np.asarray(self.outputs[rows])

    def quadrature(self) -> Float[np.ndarray, "*grid"]:
        """Return the quadrature weights of the output points, with mean one."""
        return quadrature_weights(self.axes, self.scattered)

    def summary(self) -> dict[str, Any]:
        """Shapes, sizes of the parts, and mean and deviation of the training set."""
        found: dict[str, Any] = {
            "inputs": list(self.inputs.shape),
            "outputs": list(self.outputs.shape),
            "coordinates": " ".join(self.names),
            **{part: getattr(self, f"num_{part}") for part in PARTS},
        }
        for name in ("inputs", "outputs"):
            mean, std = _moments(getattr(self, name), self.num_train)
            found[f"mean of training {name}"] = mean
            found[f"std of training {name}"] = std
        return found | dict(self.provenance)


def _moments(array: Any, num_rows: int) -> tuple[float, float]:
    """Mean and standard deviation of the first rows, which need not fit in memory."""
    count, mean, variance_sum = 0, 0.0, 0.0
    for start in range(0, num_rows, _CHUNK):
        part = np.asarray(array[start : min(start + _CHUNK, num_rows)], float)
        gap, total = np.mean(part) - mean, count + part.size
        variance_sum += np.var(part) * part.size + gap**2 * count * part.size / total
        mean, count = mean + gap * part.size / total, total
    return float(mean), float(np.sqrt(variance_sum / count))


def output_points(axes: Axes, scattered: Scattered) -> Float[np.ndarray, "*grid dim"]:
    """Return the coordinates of every point of a grid, or of scattered points."""
    if axes is None:
        return np.asarray(scattered)
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def quadrature_weights(axes: Axes, scattered: Scattered) -> Float[np.ndarray, "*grid"]:
    """Return quadrature weights of mean one.

    They follow the trapezoidal rule along non-uniform axes, and are equal elsewhere.
    """
    if axes is None:
        return np.ones(len(np.asarray(scattered)))
    weights = [_axis_weights(axis) for axis in axes]
    return math.prod(np.ix_(*weights), start=np.ones(tuple(map(len, axes))))


def is_uniform(axis: Float[np.ndarray, " points"]) -> bool:
    """Whether points are equally spaced, up to the rounding of a file."""
    steps = np.diff(axis)
    return len(axis) < 3 or bool(np.ptp(steps) <= 1e-3 * np.mean(steps))


def check_pairs(pairs: Pairs) -> None:
    """Raise, naming the axis, unless arrays, coordinates and counts are consistent."""
    inputs, outputs = tuple(pairs.inputs.shape), tuple(pairs.outputs.shape)
    if len(inputs) < 2 or len(outputs) < 3:
        raise InputError(
            "`inputs` must be [funcs, ..., channels] and `outputs` [funcs, points..., "
            f"channels], got {inputs} and {outputs}."
        )
    check_real(inputs=pairs.inputs, outputs=pairs.outputs)
    if inputs[0] != outputs[0]:
        raise InputError(
            f"axis 0 of `inputs` has {inputs[0]} functions, axis 0 of `outputs` has "
            f"{outputs[0]}: each input needs one output."
        )
    if (pairs.axes is None) == (pairs.scattered is None):
        raise InputError("Give the output coordinates either as `axes` or as places.")
    _check_coordinates(pairs, outputs[1:-1])
    counts = {f"num_{part}": getattr(pairs, f"num_{part}") for part in PARTS}
    if min(counts.values()) < 0 or counts["num_train"] < 1:
        raise InputError(f"`num_train` must be at least 1, the others 0, got {counts}.")
    if sum(counts.values()) > inputs[0]:
        raise InputError(
            f"There are {inputs[0]} functions, too few for {counts}. Lower a count."
        )


def _check_coordinates(pairs: Pairs, grid: tuple[int, ...]) -> None:
    if pairs.axes is None:
        _check_finite("places", pairs.scattered)
        places = np.asarray(pairs.scattered).shape
        if grid != places[:1] or len(pairs.names) != places[1]:
            raise InputError(
                f"`places` has shape {places}, which must be [points, dim] with "
                f"{grid} points, as axis 1 of `outputs`, and a name for each "
                f"coordinate, got {pairs.names}."
            )
        return
    if len(pairs.names) != len(grid) or len(pairs.axes) != len(grid):
        raise InputError(
            f"`outputs` has {len(grid)} axes of points {grid}, between functions and "
            f"channels, but coordinates are given for {len(pairs.axes)}: {pairs.names}."
        )
    for k, (name, axis) in enumerate(zip(pairs.names, pairs.axes, strict=True)):
        if np.shape(axis) != (grid[k],):
            raise InputError(
                f"axis {k + 1} of `outputs` has {grid[k]} points, but `{name}` has "
                f"shape {np.shape(axis)}."
            )
        _check_finite(name, axis)
        if not np.all(np.diff(axis) > 0):
            raise InputError(f"the coordinate `{name}` must increase along its axis.")


def _check_finite(name: str, coordinates: Any) -> None:
    is_finite = np.isfinite(as_floats(name, coordinates))
    if not np.all(is_finite):
        raise InputError(
            f"`{name}` must hold finite coordinates, got {np.sum(~is_finite)} that are "
            "not."
        )


def _axis_weights(axis: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
    if is_uniform(axis):
        return np.ones(len(axis))
    steps = np.diff(axis)
    weights = np.zeros(len(axis))
    weights[:-1] += steps / 2
    weights[1:] += steps / 2
    return weights / np.mean(weights)
