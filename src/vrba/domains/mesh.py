"""A mesh of triangles or tetrahedra."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..core import InputError
from ._base import AbstractDomain, check_names
from ._facets import Surface, choose, in_simplices, measures
from ._patch import AbstractFace, AbstractPatch, Bounding, Fixed, Placed, Units

_KINDS = {2: "triangle", 3: "tetra"}


class Mesh(AbstractDomain):
    """`Mesh(points, cells, ("x", "y"))`: for each cell which rows of `points` are its
    corners, three in the plane, four in space."""

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
        """Cells of the right kind, with a volume, and a boundary without seams."""
        dim = len(self.coordinates)
        check_names("Mesh", self.coordinates)
        if dim not in _KINDS:
            raise InputError(f"`Mesh` has 2 or 3 coordinates, got {self.coordinates}.")
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
            raise InputError(f"`cells` must hold rows of {count} points, and not none.")
        sizes = measures(self._corners())
        if not np.all(sizes > 1e-14 * np.max(sizes)):
            row = int(np.argmin(sizes > 1e-14 * np.max(sizes)))
            raise InputError(f"`cells`: row {row} has no volume.")
        if np.max(_facets(self.cells)[2]) > 2:
            raise InputError("`cells`: more than two of them share a side.")

    @staticmethod
    def read(path: str | os.PathLike[str], coordinates: Sequence[str]) -> "Mesh":
        """Reads any format that `meshio` knows, such as `.msh` or `.vtu`."""
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
                f"`{path}` holds {', '.join(found.cells_dict)}; with the coordinates "
                f"{', '.join(coordinates)} there must be {kind or 'no such mesh'}."
            )
        if np.any(found.points[:, dim:] != found.points[:1, dim:]):
            raise InputError(f"`{path}` does not lie in a plane z = constant.")
        cells = found.cells_dict[kind]
        return Mesh(found.points[:, :dim], cells, tuple(coordinates))

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names given."""
        return self.names

    def bounds(self, coordinate: str) -> tuple[float, float]:
        """Of the corners of all cells."""
        values = self.points[np.unique(self.cells), self.position(coordinate)]
        return float(np.min(values)), float(np.max(values))

    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """How near a side of the boundary."""
        return self.surface().depth(points)

    def inside(self, fixed: Fixed) -> AbstractPatch:
        """From cell to cell; where coordinates are fixed, by rejection."""
        return Bounding(self, fixed) if fixed else MeshInside(self._corners())

    def faces(self) -> list[AbstractFace]:
        """The sides that belong to one cell."""
        return [self.surface()]

    def surface(self) -> Surface:
        """The boundary, turned outwards."""
        sides, opposite, counts = _facets(self.cells)
        facets, behind = self.points[sides[counts == 1]], opposite[counts == 1]
        inwards = self.points[behind] - facets[:, 0]
        edges = facets[:, 1:] - facets[:, :1]
        stacked = np.concatenate([inwards[:, None], edges], axis=1)
        is_turned = np.linalg.det(stacked) > 0  # the normal times the way inwards
        facets[is_turned] = facets[is_turned][:, ::-1]
        return Surface(facets)

    def _corners(self) -> Float[np.ndarray, "cells corners dim"]:
        return self.points[self.cells]


@dataclass(frozen=True)
class MeshInside(AbstractPatch):
    """All cells, one after the other."""

    corners: Float[np.ndarray, "cells corners dim"]

    @property
    def measure(self) -> float:
        """The sum over all cells."""
        return float(np.sum(measures(self.corners)))

    @property
    def num_units(self) -> int:
        """As many as there are coordinates."""
        return self.corners.shape[-1]

    @property
    def num_members(self) -> int | None:
        """Endlessly many."""
        return None

    def place(self, units: Units) -> Placed:
        """Cells in proportion to their volume, then a point of the cell."""
        which, units = choose(measures(self.corners), units)
        points = in_simplices(self.corners[which], units)
        return Placed(points, np.zeros_like(points), np.ones(len(points), bool))


def _facets(
    cells: Int[np.ndarray, "cells corners"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every side once, the corner opposite to it in a cell, and in how many cells."""
    count = cells.shape[1]
    sides = [np.delete(cells, k, axis=1) for k in range(count)]
    opposite = np.concatenate([cells[:, k] for k in range(count)])
    sides = np.sort(np.concatenate(sides), axis=1)
    unique, first, counts = np.unique(
        sides, axis=0, return_index=True, return_counts=True
    )
    return unique, opposite[first], counts
