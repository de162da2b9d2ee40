"""A general boundary condition, which may couple fields."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ...core import InputError
from ...domains import AbstractDomain
from ..arguments import check_argument_names
from ._base import Fields, Number, Penalty, Point
from .boundary import AbstractBoundaryCondition


class Constraint(AbstractBoundaryCondition):
    """`value(u, v, ..., x, y, ..., normal) = 0` on a part of the boundary.

    `value` takes all fields with their derivatives, all coordinates, and the outward
    normal with one number for each coordinate (zeros on a plane through the inside).
    `on`, `at` and `where` select the part as for `Dirichlet`. For instance
    `Constraint(lambda u, v, x, y, normal: u * normal[0] + v * normal[1], on=wall)`:
    there is no flow through the wall.
    """

    needs_direction: ClassVar[bool] = False
    needs_normals: ClassVar[bool] = True
    is_of_one_field: ClassVar[bool] = False
    field: ClassVar[None] = None

    value: Callable[..., Any]
    on: str | AbstractDomain
    at: Number | None = None
    where: Callable[..., Any] | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    @override
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " dim"]
    ) -> Float[Array, ""]:
        dtype = next(iter(fields.values())).value.dtype
        names = (*fields, *point, "normal")
        check_argument_names(self.value, names, "value", self.label())
        normal = numbers.astype(dtype)
        found = jnp.asarray(self.value(*fields.values(), *point.values(), normal))
        if found.shape != () or not jnp.issubdtype(found.dtype, jnp.floating):
            raise InputError(
                f"`value` of the condition `{self.label()}` must be one real number, "
                f"got {found.dtype} of shape {found.shape}."
            )
        return found
