"""What conditions on a boundary share: their name, their place and their points."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ...core import InputError
from ...domains import ON_BOUNDARY, AbstractDomain
from ...fields import Field
from ..arguments import check_arguments
from ._base import AbstractCondition, Number, Point, Sampled, check_inside


class AbstractBoundaryCondition(AbstractCondition):
    """A condition on a part of the boundary.

    `on` is a coordinate: all faces across it, or the one where it is `at`, which may
    also be a cut through the inside. Or `on` is a domain: what lies on its boundary.
    `where`, a function of all coordinates as NumPy arrays, says which points are meant.
    One that `needs_direction` cannot be on a cut; one that `needs_normals` needs them
    where there is an outside.
    """

    needs_direction: eqx.AbstractClassVar[bool]
    needs_normals: eqx.AbstractClassVar[bool]
    value: eqx.AbstractVar[Any]
    on: eqx.AbstractVar[str | AbstractDomain]
    at: eqx.AbstractVar[Number | None]
    where: eqx.AbstractVar[Callable[..., Any] | None]

    def label(self) -> str:
        """For instance `dirichlet x`, `robin x=1 of v` or `neumann disk`."""
        is_shape = isinstance(self.on, AbstractDomain)
        place = type(self.on).__name__.lower() if is_shape else str(self.on)
        place = place if self.at is None else f"{place}={self.at:g}"
        name = f"{type(self).__name__.lower()} {place}"
        return name if self.of is None else f"{name} of {self.of}"

    def check(self, domain: AbstractDomain) -> None:
        """The place must be in the domain or on its boundary, and not empty."""
        if isinstance(self.on, AbstractDomain):
            _check_shape(self.on, self.at, domain, self.label())
        else:
            check_inside(domain, self.on, self.at, self.label())
            self._check_face(self.on, domain)
        if self.where is not None:
            check_arguments(self.where, domain.coordinates, "where", self.label())
        try:
            _, normals = self.sample(domain, 1, seed=0)
        except InputError as error:
            raise InputError(f"The condition `{self.label()}`: {error}") from error
        if self.needs_normals and not self._is_cut(domain) and not np.any(normals):
            raise InputError(
                f"The condition `{self.label()}` needs outward normals, which its "
                "domain was not given."
            )

    def num_available(self, domain: AbstractDomain) -> int | None:
        """As many as that part of the boundary has."""
        if isinstance(self.on, str) and self.at is not None and self._is_cut(domain):
            return domain.num_on_face(self.on, self.at, self._keep(domain))
        return domain.num_on_boundary(self.on, self._keep(domain))

    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        """Points with outward normals, which are zero inside."""
        keep = self._keep(domain)
        if isinstance(self.on, str) and self.at is not None and self._is_cut(domain):
            points = domain.sample_face(
                num_points, self.on, self.at, seed=seed, where=keep
            )
            return points, np.zeros_like(points)
        return domain.boundary(num_points, seed=seed, on=self.on, where=keep)

    def along_normal(
        self, field: Field, point: Point, normal: Float[Array, " dim"]
    ) -> Any:
        """The derivative along the normal, `du/dn`; only by the coordinates that the
        place has, as the normal has no part in the others."""
        names = (self.on,) if isinstance(self.on, str) else self.on.coordinates
        normal, order = normal.astype(field.value.dtype), list(point)
        parts = [normal[order.index(name)] * field.d(name) for name in names]
        return sum(parts[1:], start=parts[0])

    def _check_face(self, on: str, domain: AbstractDomain) -> None:
        planes = domain.planes(on)
        if self.at is None and not planes:
            raise InputError(
                f"The condition `{self.label()}` is on `{on}`, but the domain has no "
                f"face across it: give `at`, or `on` as a shape such as `Disk(1.0)`."
            )
        if self.needs_direction and self._is_cut(domain):
            ends = " or ".join(f"{plane:g}" for plane in planes)
            known = (
                f"{on} = {ends}" if ends else f"and the domain has none across `{on}`"
            )
            raise InputError(
                f"The condition `{self.label()}` needs a face, {known}, got "
                f"{self.at:g}."
            )

    def _is_cut(self, domain: AbstractDomain) -> bool:
        """Whether it is on no face but a cut through the inside."""
        if not isinstance(self.on, str) or self.at is None:
            return False
        at, room = self.at, self._room(domain)
        return not any(abs(plane - at) <= room for plane in domain.planes(self.on))

    def _room(self, domain: AbstractDomain) -> float:
        """How near a plane counts as on it."""
        lower, upper = domain.bounds(str(self.on))
        return ON_BOUNDARY * (upper - lower)

    def _keep(self, domain: AbstractDomain) -> Callable[..., np.ndarray]:
        """Which of the points of a part of the boundary are meant."""

        def keep(points: np.ndarray) -> np.ndarray:
            is_meant = np.ones(len(points), bool)
            if isinstance(self.on, str) and self.at is not None:
                distance = points[:, domain.position(self.on)] - self.at
                is_meant &= np.abs(distance) <= self._room(domain)
            if self.where is not None:
                is_meant &= _fits(self.where, points, self.label())
            return is_meant

        return keep


def _fits(where: Callable[..., Any], points: np.ndarray, label: str) -> np.ndarray:
    """Where a condition's predicate is true."""
    found = np.asarray(where(*points.T))
    if found.dtype != bool or found.shape not in ((), (len(points),)):
        raise InputError(
            f"`where` of the condition `{label}` must be true or false for each of "
            f"{len(points)} points, got {found.dtype} of shape {found.shape}. Join "
            "comparisons with `&` and `|`."
        )
    return np.broadcast_to(found, len(points))


def _check_shape(
    on: AbstractDomain, at: Number | None, domain: AbstractDomain, label: str
) -> None:
    if at is not None:
        raise InputError(
            f"The condition `{label}` is on a shape, where `at` = {at:g} says nothing: "
            "restrict it by `where`."
        )
    missing = [name for name in on.coordinates if name not in domain.coordinates]
    if missing:
        raise InputError(
            f"The condition `{label}` is on a shape with a coordinate `{missing[0]}`, "
            f"but those of the domain are {', '.join(domain.coordinates)}."
        )
