"""The interface of a domain."""

import abc
from typing import TYPE_CHECKING, Union

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float

from ..core import InputError
from ._patch import AbstractFace, AbstractPatch, Fixed
from ._spread import Keep, count_members, kept_measures, spread

if TYPE_CHECKING:
    from .difference import Difference
    from .intersection import Intersection
    from .product import Product
    from .union import Union as Joined

On = Union[str, "AbstractDomain", None]
Bounded = tuple[Float[np.ndarray, "points dim"], Float[np.ndarray, "points dim"]]

_ROUNDING = 1e-12
_MEASURED = 14  # doublings of points
_RESERVED = ("d", "value")


class AbstractDomain(eqx.Module):
    """A set of points with named coordinates. Points are drawn on the host.

    A shape says how deep points lie in it, and of which faces its boundary is made; the
    rest follows. `|`, `&` and `-` combine shapes, `*` adds coordinates.
    """

    @property
    @abc.abstractmethod
    def coordinates(self) -> tuple[str, ...]:
        """The names, in the order in which equations take them."""

    @abc.abstractmethod
    def bounds(self, coordinate: str) -> tuple[float, float]:
        """The smallest and the largest value of a coordinate."""

    @abc.abstractmethod
    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """How far inside points lie, relative to the size of the shape: zero on the
        boundary, negative outside."""

    @abc.abstractmethod
    def inside(self, fixed: Fixed) -> AbstractPatch:
        """How points inside are made, where some coordinates have a fixed value."""

    @abc.abstractmethod
    def faces(self) -> list[AbstractFace]:
        """The pieces of the boundary."""

    @property
    def extent(self) -> float:
        """How far it reaches, in the coordinate where it reaches least."""
        ends = [self.bounds(name) for name in self.coordinates]
        return min(upper - lower for lower, upper in ends)

    def contains(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Bool[np.ndarray, " points"]:
        """Which points are inside or on the boundary."""
        return self.depth(points) >= -_ROUNDING

    def sample(
        self, num_points: int, *, seed: int
    ) -> Float[np.ndarray, "{num_points} dim"]:
        """Evenly spread points inside, in random order."""
        _check_available(num_points, self.num_available)
        name = f"inside the {type(self).__name__}"
        return spread([self.inside({})], num_points, seed=seed, name=name)[0]

    def sample_face(
        self,
        num_points: int,
        coordinate: str,
        value: float | int,
        *,
        seed: int,
        where: Keep | None = None,
    ) -> Float[np.ndarray, "{num_points} dim"]:
        """Evenly spread points where a coordinate has the given value."""
        self.position(coordinate)
        patch = self.inside({coordinate: float(value)})
        name = f"in the {type(self).__name__} at {coordinate} = {value:g}"
        return spread([patch], num_points, seed=seed, keep=where, name=name)[0]

    def boundary(
        self, num_points: int, *, seed: int, on: On = None, where: Keep | None = None
    ) -> Bounded:
        """Evenly spread points of the boundary, in random order, with outward normals.

        `on` chooses a part of it: the faces across a coordinate, or what lies on the
        boundary of another domain. `where` says which rows of points are wanted.
        """
        faces, keep = self._part(on, where)
        name = f"on the {self._part_name(on)}"
        _check_available(num_points, count_members(faces, keep))
        return spread(faces, num_points, seed=seed, keep=keep, name=name)

    def normal(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, "points dim"]:
        """Outward unit normals of points on the boundary; on an edge, of one side."""
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
        """Outward unit normals of points on the boundary; NaN for other points."""
        normals = np.full(points.shape, np.nan)
        for face in self.faces():
            is_open = np.isnan(normals[:, 0])
            normals[is_open] = face.normals_at(points[is_open])
        return normals

    def planes(self, coordinate: str) -> list[float]:
        """The values of a coordinate at which the boundary has a face across it."""
        self.position(coordinate)
        faces = [f for f in self.faces() if f.plane and f.plane[0] == coordinate]
        kept = kept_measures(faces, None)
        pairs = [(f.plane, m) for f, m in zip(faces, kept, strict=True)]
        return sorted({plane[1] for plane, m in pairs if plane and m > 0})

    @property
    def num_available(self) -> int | None:
        """How many points there are inside, if not endlessly many."""
        return count_members([self.inside({})])

    def num_on_face(
        self, coordinate: str, value: float | int, where: Keep | None = None
    ) -> int | None:
        """How many points there are where a coordinate has the given value, if not
        endlessly many."""
        return count_members([self.inside({coordinate: float(value)})], where)

    def num_on_boundary(self, on: On = None, where: Keep | None = None) -> int | None:
        """How many points a part of the boundary has, if not endlessly many."""
        return count_members(*self._part(on, where))

    def measure(self) -> float:
        """The length, area or volume; for combined shapes from a share of points."""
        return sum(kept_measures([self.inside({})], None, _MEASURED))

    def boundary_measure(self, on: On = None) -> float:
        """The number of ends, length or area of the boundary or of a part of it."""
        return sum(kept_measures(*self._part(on, None), _MEASURED))

    def position(self, coordinate: str) -> int:
        """The place of a coordinate in the row of a point."""
        if coordinate not in self.coordinates:
            known = ", ".join(self.coordinates)
            raise InputError(
                f"`{coordinate}` is no coordinate of the domain, which has {known}."
            )
        return self.coordinates.index(coordinate)

    def __or__(self, other: "AbstractDomain") -> "Joined":
        from .union import Union as Joined

        return Joined(self, other)

    def __and__(self, other: "AbstractDomain") -> "Intersection":
        from .intersection import Intersection

        return Intersection(self, other)

    def __sub__(self, other: "AbstractDomain") -> "Difference":
        from .difference import Difference

        return Difference(self, other)

    def __mul__(self, other: "AbstractDomain") -> "Product":
        from .product import Product

        return Product(self, other)

    def _part(
        self, on: On, where: Keep | None
    ) -> tuple[list[AbstractFace], Keep | None]:
        """The faces of a part of the boundary, and which of their points are in it."""
        faces = self.faces()
        if isinstance(on, str):
            self.position(on)
            faces = [f for f in faces if f.plane is not None and f.plane[0] == on]
        if not faces:
            raise InputError(f"There is no {self._part_name(on)}.")
        if on is None or on is self or isinstance(on, str):
            return faces, where
        columns = [self.position(name) for name in on.coordinates]

        def keep(points):
            is_on = np.all(np.isfinite(on.normals_at(points[:, columns])), axis=1)
            return is_on if where is None else is_on & where(points)

        return faces, keep

    def _part_name(self, on: On) -> str:
        own = f"boundary of the {type(self).__name__}"
        if isinstance(on, str):
            return f"face across `{on}` of the {own}"
        if on is None or on is self:
            return own
        return f"{own} that lies on the boundary of the {type(on).__name__}"


def check_names(kind: str, names: tuple[str, ...]) -> None:
    """Refuses names of coordinates that fields could not tell apart."""
    for name in names:
        if name in _RESERVED or name.startswith("_"):
            raise InputError(
                f"`{kind}({name}=...)`: a coordinate cannot be called `{name}`, "
                "which fields use themselves."
            )
        if len(name) > 1 and set(name) <= set(names):
            raise InputError(
                f"`{kind}({name}=...)`: `{name}` is also a derivative by the other "
                f"coordinates, as in `u.{name}`; choose another name."
            )


def _check_available(num_points: int, available: int | None) -> None:
    if available is not None and num_points > available:
        raise InputError(f"`num_points` is {num_points}, there are {available} points.")
