"""Dirichlet, Neumann and Robin boundary conditions."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from ...core import InputError
from ...domains import ON_BOUNDARY, AbstractDomain
from ...fields import Field
from ..arguments import check_argument_names
from ._base import (
    AbstractCondition,
    Fields,
    Number,
    Penalty,
    Point,
    Sampled,
    Value,
    check_inside,
    evaluate_value,
)


class AbstractBoundaryCondition(AbstractCondition):
    """A condition on a part of the boundary.

    If `on` is a coordinate, the part is the face where it equals `at`, or all faces
    across it if `at` is not given; `at` may also be a plane through the inside. If `on`
    is a domain, the part lies on its boundary. `where`, a function of all coordinates
    as NumPy arrays, selects points of the part. `needs_direction` excludes planes
    through the inside. `needs_normals` requires outward normals elsewhere.
    """

    needs_direction: eqx.AbstractClassVar[bool]
    needs_normals: eqx.AbstractClassVar[bool]
    value: eqx.AbstractVar[Any]
    on: eqx.AbstractVar[str | AbstractDomain]
    at: eqx.AbstractVar[Number | None]
    where: eqx.AbstractVar[Callable[..., Any] | None]

    @override
    def label(self) -> str:
        """For instance `dirichlet x`, `robin x=1 of v` or `neumann disk`."""
        is_shape = isinstance(self.on, AbstractDomain)
        place = type(self.on).__name__.lower() if is_shape else str(self.on)
        place = place if self.at is None else f"{place}={self.at:g}"
        name = f"{type(self).__name__.lower()} {place}"
        return name if self.field is None else f"{name} of {self.field}"

    @override
    def check(self, domain: AbstractDomain) -> None:
        if isinstance(self.on, AbstractDomain):
            _check_shape(self.on, self.at, domain, self.label())
        else:
            check_inside(domain, self.on, self.at, self.label())
            self._check_face(self.on, domain)
        if self.where is not None:
            check_argument_names(self.where, domain.coordinates, "where", self.label())
        try:
            _, normals = self.sample(domain, 1, seed=0)
        except InputError as error:
            raise InputError(f"The condition `{self.label()}`: {error}") from error
        if self.needs_normals and not self._is_interior(domain) and not np.any(normals):
            raise InputError(
                f"The condition `{self.label()}` needs outward normals, but its domain "
                "has none. Give the domain its `normals`."
            )

    @override
    def num_available(self, domain: AbstractDomain) -> int | None:
        at = self.at
        if isinstance(self.on, str) and at is not None and self._is_interior(domain):
            return domain.num_on_face(self.on, at, self._selection(domain))
        return domain.num_on_boundary(self.on, self._selection(domain))

    @override
    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        at, selection = self.at, self._selection(domain)
        if isinstance(self.on, str) and at is not None and self._is_interior(domain):
            points = domain.sample_face(
                num_points, self.on, at, seed=seed, where=selection
            )
            return points, np.zeros_like(points)
        return domain.boundary(num_points, seed=seed, on=self.on, where=selection)

    def normal_derivative(
        self, field: Field, point: Point, normal: Float[Array, " dim"]
    ) -> Any:
        """Return `du/dn`.

        Only the coordinates of `on` enter; the normal has no part in the others.
        """
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
        if self.needs_direction and self._is_interior(domain):
            ends = " or ".join(f"{plane:g}" for plane in planes)
            known = (
                f"{on} = {ends}" if ends else f"and the domain has none across `{on}`"
            )
            raise InputError(
                f"The condition `{self.label()}` needs a face, {known}, got "
                f"{self.at:g}."
            )

    def _is_interior(self, domain: AbstractDomain) -> bool:
        """Whether the part is a plane through the inside, not a face."""
        if not isinstance(self.on, str) or self.at is None:
            return False
        at, tolerance = self.at, self._tolerance(domain)
        return not any(abs(plane - at) <= tolerance for plane in domain.planes(self.on))

    def _tolerance(self, domain: AbstractDomain) -> float:
        """Return the distance from a plane within which a point is on it."""
        lower, upper = domain.bounds(str(self.on))
        return ON_BOUNDARY * (upper - lower)

    def _selection(self, domain: AbstractDomain) -> Callable[..., np.ndarray]:
        """Return a function that marks the boundary points of this condition."""

        def is_selected(points: np.ndarray) -> np.ndarray:
            found = np.ones(len(points), bool)
            if isinstance(self.on, str) and self.at is not None:
                distance = points[:, domain.position(self.on)] - self.at
                found &= np.abs(distance) <= self._tolerance(domain)
            if self.where is not None:
                found &= _evaluate_where(self.where, points, self.label())
            return found

        return is_selected


class Dirichlet(AbstractBoundaryCondition):
    """`u = value` on a part of the boundary.

    The part is the face where the coordinate `on` equals `at`, or all faces across `on`
    without `at`. With a shape as `on`, the part lies on the boundary of the shape.
    `value` is a number or a function of all coordinates.
    """

    needs_direction: ClassVar[bool] = False
    needs_normals: ClassVar[bool] = False

    value: Value
    on: str | AbstractDomain
    at: Number | None = None
    where: Callable[..., Any] | None = eqx.field(default=None, kw_only=True)
    field: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    @override
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " dim"]
    ) -> Float[Array, ""]:
        found = self.select_field(fields).value
        return found - evaluate_value(self.value, point, self.label(), found)


class Neumann(AbstractBoundaryCondition):
    """`du/dn = value` on a part of the boundary, with the outward normal `n`.

    `on`, `at` and `where` select the part as for `Dirichlet`. `value` is a number or a
    function of all coordinates.
    """

    needs_direction: ClassVar[bool] = True
    needs_normals: ClassVar[bool] = True

    value: Value
    on: str | AbstractDomain
    at: Number | None = None
    where: Callable[..., Any] | None = eqx.field(default=None, kw_only=True)
    field: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    @override
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " dim"]
    ) -> Float[Array, ""]:
        slope = self.normal_derivative(self.select_field(fields), point, numbers)
        return slope - evaluate_value(self.value, point, self.label(), slope)


class Robin(AbstractBoundaryCondition):
    """`factor u + slope du/dn = value` on a part of the boundary.

    `on`, `at` and `where` select the part as for `Dirichlet`; the normal `n` points
    outward. `value`, `factor` and `slope` are numbers or functions of all coordinates.
    """

    needs_direction: ClassVar[bool] = True
    needs_normals: ClassVar[bool] = True

    value: Value
    on: str | AbstractDomain
    at: Number | None = None
    factor: Value = 1.0
    slope: Value = 1.0
    where: Callable[..., Any] | None = eqx.field(default=None, kw_only=True)
    field: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    @override
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " dim"]
    ) -> Float[Array, ""]:
        field = self.select_field(fields)
        u = field.value
        get = lambda value: evaluate_value(value, point, self.label(), u)
        outward = self.normal_derivative(field, point, numbers)
        return get(self.factor) * u + get(self.slope) * outward - get(self.value)


def _evaluate_where(
    where: Callable[..., Any], points: np.ndarray, label: str
) -> np.ndarray:
    """Return the Boolean values of `where` at the points."""
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
            f"The condition `{label}` is on a shape, which has no face at `at` = "
            f"{at:g}: select points by `where` instead."
        )
    missing = [name for name in on.coordinates if name not in domain.coordinates]
    if missing:
        raise InputError(
            f"The condition `{label}` is on a shape with a coordinate `{missing[0]}`, "
            f"but those of the domain are {', '.join(domain.coordinates)}."
        )
