"""The interface of a domain."""

import abc
from typing import TYPE_CHECKING, Union

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float

from ..core import InputError
from ._regions import AbstractFace, AbstractRegion, FixedValues
from ._sampling import KeepFn, count_available, estimate_measures, sample_regions

if TYPE_CHECKING:
    from .combinations import Difference, Intersection
    from .combinations import Union as Joined
    from .product import Product

BoundaryPart = Union[str, "AbstractDomain", None]
PointsAndNormals = tuple[
    Float[np.ndarray, "points dim"], Float[np.ndarray, "points dim"]
]

_ROUNDING = 1e-12
_LOG2_MEASURE = 14  # points of an estimated measure
_RESERVED = ("d", "value")  # attributes of fields


class AbstractDomain(eqx.Module):
    """A set of points with named coordinates. NumPy samples them, not JAX.

    A shape implements five methods: `coordinates`, `bounds`, `depth`, `interior` and
    `faces`. `|`, `&` and `-` combine shapes, `*` adds coordinates.
    """

    @property
    @abc.abstractmethod
    def coordinates(self) -> tuple[str, ...]:
        """The names, in the order of the arguments of equations."""

    @abc.abstractmethod
    def bounds(self, coordinate: str) -> tuple[float, float]:
        """Return the smallest and the largest value of a coordinate."""

    @abc.abstractmethod
    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """Return how far inside points are, relative to the size of the shape.

        The depth is zero on the boundary and negative outside.
        """

    @abc.abstractmethod
    def interior(self, fixed: FixedValues) -> AbstractRegion:
        """Return the region of points inside with fixed values of some coordinates."""

    @abc.abstractmethod
    def faces(self) -> list[AbstractFace]:
        """Return the pieces of the boundary."""

    @property
    def extent(self) -> float:
        """The length of the shortest interval of a coordinate."""
        ends = [self.bounds(name) for name in self.coordinates]
        return min(upper - lower for lower, upper in ends)

    def contains(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Bool[np.ndarray, " points"]:
        """Return which points are inside or on the boundary."""
        return self.depth(points) >= -_ROUNDING

    def sample(
        self, num_points: int, *, seed: int
    ) -> Float[np.ndarray, "{num_points} dim"]:
        """Sample points inside uniformly, by a low-discrepancy sequence."""
        _check_num_points(num_points, self.num_available)
        name = f"inside the {type(self).__name__}"
        regions = [self.interior({})]
        return sample_regions(regions, num_points, seed=seed, name=name)[0]

    def sample_face(
        self,
        num_points: int,
        coordinate: str,
        value: float | int,
        *,
        seed: int,
        where: KeepFn | None = None,
    ) -> Float[np.ndarray, "{num_points} dim"]:
        """Sample points uniformly where a coordinate has the given value."""
        self.position(coordinate)
        regions = [self.interior({coordinate: float(value)})]
        name = f"in the {type(self).__name__} at {coordinate} = {value:g}"
        found = sample_regions(regions, num_points, seed=seed, keep_fn=where, name=name)
        return found[0]

    def boundary(
        self,
        num_points: int,
        *,
        seed: int,
        on: BoundaryPart = None,
        where: KeepFn | None = None,
    ) -> PointsAndNormals:
        """Sample points of the boundary uniformly, with outward normals.

        `on` selects a part of the boundary: the faces across a coordinate, or the
        points on the boundary of another domain. `where` returns which rows of points
        to keep.
        """
        faces, keep_fn = self._part(on, where)
        name = f"on the {self._part_name(on)}"
        _check_num_points(num_points, count_available(faces, keep_fn))
        return sample_regions(faces, num_points, seed=seed, keep_fn=keep_fn, name=name)

    def normal(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, "points dim"]:
        """Return outward unit normals on the boundary; on an edge, that of one face."""
        normals = self.normals_at(points)
        is_off = ~np.any(np.nan_to_num(normals), axis=1)
        if np.any(is_off):
            row = int(np.argmax(is_off))
            raise InputError(
                f"Row {row}, point {points[row].tolist()}, is not on the boundary of "
                f"the {type(self).__name__}, or has no normal there."
            )
        return normals

    def normals_at(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, "points dim"]:
        """Return outward unit normals on the boundary; NaN for other points."""
        normals = np.full(points.shape, np.nan)
        for face in self.faces():
            is_open = np.isnan(normals[:, 0])
            normals[is_open] = face.normals_at(points[is_open])
        return normals

    def planes(self, coordinate: str) -> list[float]:
        """Return the values of a coordinate at the faces across it."""
        self.position(coordinate)
        faces = [f for f in self.faces() if f.plane and f.plane[0] == coordinate]
        measures = estimate_measures(faces, None)
        pairs = [(f.plane, m) for f, m in zip(faces, measures, strict=True)]
        return sorted({plane[1] for plane, m in pairs if plane and m > 0})

    @property
    def num_available(self) -> int | None:
        """The number of points inside if it is finite, else None."""
        return count_available([self.interior({})])

    def num_on_face(
        self, coordinate: str, value: float | int, where: KeepFn | None = None
    ) -> int | None:
        """Count the points where a coordinate has the given value; None if infinite."""
        return count_available([self.interior({coordinate: float(value)})], where)

    def num_on_boundary(
        self, on: BoundaryPart = None, where: KeepFn | None = None
    ) -> int | None:
        """Count the points of a part of the boundary; None if infinite."""
        return count_available(*self._part(on, where))

    def measure(self) -> float:
        """Return the length, area or volume, estimated by sampling if not known."""
        return sum(estimate_measures([self.interior({})], None, _LOG2_MEASURE))

    def boundary_measure(self, on: BoundaryPart = None) -> float:
        """Return the number of ends, length or area of the boundary or of a part."""
        return sum(estimate_measures(*self._part(on, None), _LOG2_MEASURE))

    def position(self, coordinate: str) -> int:
        """Return the column of a coordinate in arrays of points."""
        if coordinate not in self.coordinates:
            known = ", ".join(self.coordinates)
            raise InputError(
                f"`{coordinate}` is no coordinate of the domain, which has {known}."
            )
        return self.coordinates.index(coordinate)

    def __or__(self, other: "AbstractDomain") -> "Joined":
        from .combinations import Union as Joined

        return Joined(self, other)

    def __and__(self, other: "AbstractDomain") -> "Intersection":
        from .combinations import Intersection

        return Intersection(self, other)

    def __sub__(self, other: "AbstractDomain") -> "Difference":
        from .combinations import Difference

        return Difference(self, other)

    def __mul__(self, other: "AbstractDomain") -> "Product":
        from .product import Product

        return Product(self, other)

    def _part(
        self, on: BoundaryPart, where: KeepFn | None
    ) -> tuple[list[AbstractFace], KeepFn | None]:
        """Return the faces of a part of the boundary, and a filter of their points."""
        faces = self.faces()
        if isinstance(on, str):
            self.position(on)
            faces = [f for f in faces if f.plane is not None and f.plane[0] == on]
        if not faces:
            raise InputError(f"There is no {self._part_name(on)}: change `on`.")
        if on is None or on is self or isinstance(on, str):
            return faces, where
        columns = [self.position(name) for name in on.coordinates]

        def keep_fn(points):
            is_on = np.all(np.isfinite(on.normals_at(points[:, columns])), axis=1)
            return is_on if where is None else is_on & where(points)

        return faces, keep_fn

    def _part_name(self, on: BoundaryPart) -> str:
        own = f"boundary of the {type(self).__name__}"
        if isinstance(on, str):
            return f"face across `{on}` of the {own}"
        if on is None or on is self:
            return own
        return f"{own} that lies on the boundary of the {type(on).__name__}"


def check_names(kind: str, names: tuple[str, ...]) -> None:
    """Raise if names of coordinates conflict with each other or with fields."""
    for name in names:
        if name in _RESERVED or name.startswith("_"):
            raise InputError(
                f"`{kind}({name}=...)`: a coordinate cannot be called `{name}`, an "
                "attribute of fields; choose another name."
            )
        if len(name) > 1 and set(name) <= set(names):
            raise InputError(
                f"`{kind}({name}=...)`: `{name}` is also a derivative by the other "
                f"coordinates, as in `u.{name}`; choose another name."
            )


def _check_num_points(num_points: int, available: int | None) -> None:
    if available is not None and num_points > available:
        raise InputError(
            f"`num_points` must be at most {available}, the number of points, got "
            f"{num_points}."
        )
