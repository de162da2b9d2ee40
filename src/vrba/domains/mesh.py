"""A mesh of triangles or tetrahedra."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from typing_extensions import override

from ..core import InputError
from ._base import AbstractDomain, check_names
from ._regions import (
    AbstractFace,
    AbstractRegion,
    BoundingBoxRegion,
    CubePoints,
    FixedValues,
    MappedPoints,
)
from ._surface import Surface, choose_cells, map_to_simplices, simplex_measures

_KINDS = {2: "triangle", 3: "tetra"}


class Mesh(AbstractDomain):
    """`Mesh(points, cells, ("x", "y"))`: each row of `cells` holds the rows of `points`
    that are the corners of a cell, three in the plane, four in space."""

    points: np.ndarray
    cells: np.ndarray
    names: tuple[str, ...]

    def __init__(
        self,
        points: Sequence[Any] | np.ndarray,
        cells: Sequence[Any] | np.ndarray,
        coordinates: Sequence[str],
    ):
        self.points, self.cells = np.asarray(points, float), np.asarray(cells)
        self.names = tuple(coordinates)

    def __check_init__(self):
        dim = len(self.coordinates)
        check_names("Mesh", self.coordinates)
        if dim not in _KINDS:
            raise InputError(
                f"`Mesh` needs 2 or 3 coordinates, got {self.coordinates}."
            )
        if self.points.ndim != 2 or self.points.shape[1] != dim:
            raise InputError(
                f"`points` must have {dim} columns, one for each of "
                f"{', '.join(self.coordinates)}, got shape {self.points.shape}."
            )
        is_index = np.issubdtype(self.cells.dtype, np.integer)
        if not is_index or self.cells.ndim != 2 or self.cells.shape[1] != dim + 1:
            raise InputError(
                f"`cells` must be rows of {dim + 1} indices, got {self.cells.dtype} of "
                f"shape {self.cells.shape}."
            )
        count = len(self.points)
        if len(self.cells) == 0 or np.any((self.cells < 0) | (self.cells >= count)):
            raise InputError(
                f"`cells` must hold indices of the {count} rows of `points`, and must "
                "not be empty."
            )
        sizes = simplex_measures(self._corners())
        if not np.all(sizes > 1e-14 * np.max(sizes)):
            row = int(np.argmin(sizes > 1e-14 * np.max(sizes)))
            raise InputError(f"`cells`: row {row} has no volume: remove this cell.")
        if np.max(_sides(self.cells)[2]) > 2:
            raise InputError(
                "`cells`: more than two share a side; cells must not overlap."
            )

    @staticmethod
    def read(path: str | os.PathLike[str], coordinates: Sequence[str]) -> "Mesh":
        """Read any file format that `meshio` supports, such as `.msh` or `.vtu`."""
        try:
            import meshio  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise ImportError(
                "`Mesh.read` needs meshio: `pip install meshio`."
            ) from error
        found: Any = meshio.read(path)
        dim = len(coordinates)
        kind = _KINDS.get(dim, "")
        if kind not in found.cells_dict:
            raise InputError(
                f"`{path}` holds {', '.join(found.cells_dict)}, but the coordinates "
                f"{', '.join(coordinates)} need cells of the kind {kind or 'none'}."
            )
        if np.any(found.points[:, dim:] != found.points[:1, dim:]):
            raise InputError(
                f"`{path}` does not lie in a plane z = constant: give 3 coordinates."
            )
        cells = found.cells_dict[kind]
        return Mesh(found.points[:, :dim], cells, tuple(coordinates))

    @property
    @override
    def coordinates(self) -> tuple[str, ...]:
        return self.names

    @override
    def bounds(self, coordinate: str) -> tuple[float, float]:
        values = self.points[np.unique(self.cells), self.position(coordinate)]
        return float(np.min(values)), float(np.max(values))

    @override
    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        return self.surface().depth(points)

    @override
    def interior(self, fixed: FixedValues) -> AbstractRegion:
        """Use an exact map, or rejection if coordinates are fixed."""
        if fixed:
            return BoundingBoxRegion(self, fixed)
        return MeshInterior(self._corners())

    @override
    def faces(self) -> list[AbstractFace]:
        return [self.surface()]

    def surface(self) -> Surface:
        """Return the boundary, oriented outwards."""
        sides, opposite, counts = _sides(self.cells)
        facets, behind = self.points[sides[counts == 1]], opposite[counts == 1]
        inwards = self.points[behind] - facets[:, 0]
        edges = facets[:, 1:] - facets[:, :1]
        stacked = np.concatenate([inwards[:, None], edges], axis=1)
        is_inward = np.linalg.det(stacked) > 0  # the sign of normal times `inwards`
        facets[is_inward] = facets[is_inward][:, ::-1]
        return Surface(facets)

    def _corners(self) -> Float[np.ndarray, "cells corners dim"]:
        return self.points[self.cells]


@dataclass(frozen=True)
class MeshInterior(AbstractRegion):
    """The cells of a mesh."""

    corners: Float[np.ndarray, "cells corners dim"]

    @property
    @override
    def measure(self) -> float:
        return float(np.sum(simplex_measures(self.corners)))

    @property
    @override
    def cube_dim(self) -> int:
        return self.corners.shape[-1]

    @property
    @override
    def num_available(self) -> int | None:
        return None

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        """Choose cells in proportion to their volume, then a point of each."""
        which, cube_points = choose_cells(simplex_measures(self.corners), cube_points)
        points = map_to_simplices(self.corners[which], cube_points)
        return MappedPoints(points, np.zeros_like(points), np.ones(len(points), bool))


def _sides(
    cells: Int[np.ndarray, "cells corners"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each side once, the corner opposite to it, and its number of cells."""
    count = cells.shape[1]
    sides = [np.delete(cells, k, axis=1) for k in range(count)]
    opposite = np.concatenate([cells[:, k] for k in range(count)])
    sides = np.sort(np.concatenate(sides), axis=1)
    unique, first, counts = np.unique(
        sides, axis=0, return_index=True, return_counts=True
    )
    return unique, opposite[first], counts
