"""The mean of a field, which fixes what equations leave undetermined."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from ...core import InputError
from ...domains import AbstractDomain, make_quadrature
from ._base import (
    AbstractCondition,
    Fields,
    Penalty,
    Point,
    Sampled,
    Value,
    check_inside,
    evaluate_value,
)
from .initial import Initial

_NUM_NODES = 2048  # of one mean
_NUM_NODES_EACH = 512  # of each of many means
_BLOCK = 32  # nodes that are evaluated together
_TIME = "t"


class Average(eqx.Module):
    """Nodes and weights: the mean of functions over some columns of a point."""

    columns: tuple[int, ...] = eqx.field(static=True)
    nodes: Float[np.ndarray, "blocks nodes free"]
    weights: Float[np.ndarray, "blocks nodes"]

    def __call__(self, fn: Callable[[Array], Any], point: Float[Array, " dim"]) -> Any:
        """Return the mean of each array of `fn(point)`, in blocks of nodes.

        Nothing of a block is kept for derivatives, so that memory stays small.
        """
        columns = np.array(self.columns)
        cast = lambda part: jnp.asarray(part, point.dtype)

        @jax.checkpoint
        def sum_block(block):
            nodes, weights = block
            found = jax.vmap(lambda node: fn(point.at[columns].set(node)))(nodes)
            return jax.tree.map(lambda values: weights @ values, found)

        sums = jax.lax.map(sum_block, (cast(self.nodes), cast(self.weights)))
        return jax.tree.map(lambda part: jnp.sum(part, axis=0), sums)


class Mean(AbstractCondition):
    """The mean of a field over the domain is `value`.

    It determines what the equations leave open, such as a pressure that is known only
    up to a constant: `Mean(0.0, field="p")`. `at_each` names coordinates at each value
    of which the mean is given; `value` is a number or a function of these. By default
    this is time, the coordinate of `Initial` conditions or else `t`, if the domain has
    others. `at_each=()` gives one mean over the whole domain.

    The mean is exact to rounding for smooth fields on boxes of up to three dimensions
    (Gauss-Legendre). On other shapes its quadrature has a relative error of about 1e-4,
    which only shifts the field by a constant.
    """

    default_num_points: ClassVar[int | None] = 32

    value: Value
    at_each: str | tuple[str, ...] | None = eqx.field(default=None, kw_only=True)
    field: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    @override
    def label(self) -> str:
        return "mean" if self.field is None else f"mean of {self.field}"

    @property
    def fixed(self) -> tuple[str, ...]:
        """The coordinates at each value of which the mean is given."""
        if isinstance(self.at_each, str):
            return (self.at_each,)
        return tuple(self.at_each or ())

    def complete(self, listed: Iterable[Any], domain: AbstractDomain) -> "Mean":
        """Return the condition with `at_each`, given all conditions of the problem."""
        if self.at_each is not None:
            return self
        times = {one.on for one in listed if isinstance(one, Initial)} or {_TIME}
        names = domain.coordinates
        found = tuple(name for name in names if name in times)
        return dataclasses.replace(self, at_each=() if found == names else found)

    def average(self, domain: AbstractDomain) -> Average:
        """Return the nodes of the mean, in blocks of equal size."""
        free = [name for name in domain.coordinates if name not in self.fixed]
        count = _NUM_NODES_EACH if self.fixed else _NUM_NODES
        nodes, weights = make_quadrature(domain, free, count)
        missing = -len(nodes) % _BLOCK if len(nodes) > _BLOCK else 0
        nodes = np.pad(nodes, ((0, missing), (0, 0)), mode="edge")
        weights = np.pad(weights, (0, missing))
        shape = (max(1, len(nodes) // _BLOCK), -1)
        columns = tuple(domain.position(name) for name in free)
        return Average(
            columns, nodes.reshape(*shape, len(free)), weights.reshape(shape)
        )

    @override
    def check(self, domain: AbstractDomain) -> None:
        for name in self.fixed:
            check_inside(domain, name, None, self.label())
        if set(self.fixed) == set(domain.coordinates):
            raise InputError(
                f"The condition `{self.label()}` has `at_each={self.at_each!r}`, all "
                "coordinates of the domain: leave out those to average over."
            )
        try:
            self.average(domain)
        except InputError as error:
            raise InputError(f"The condition `{self.label()}`: {error}") from error

    @override
    def num_available(self, domain: AbstractDomain) -> int | None:
        return None if self.fixed else 1

    @override
    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        """Return points of which only the coordinates in `at_each` matter."""
        points = domain.sample(num_points if self.fixed else 1, seed=seed)
        return points, np.zeros((len(points), 0))

    @override
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " numbers"]
    ) -> Float[Array, ""]:
        """Return the residual; `fields` are means over the domain."""
        found = self.select_field(fields).value
        place = {name: point[name] for name in self.fixed}
        return found - evaluate_value(self.value, place, self.label(), found)
