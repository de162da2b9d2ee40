"""Boundary values on shapes: smooth functions that vanish on each piece."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..domains import AbstractDomain, Ball, Box, Disk, Union
from .conditions import Dirichlet, evaluate_value

Number = Float[Array, ""]

_NUM_POINTS = 256
_ON_BOUNDARY = 1e-9  # relative depth


class ShapePiece(eqx.Module):
    """`u = value` on the boundary of a ball or a box.

    `name` is that of the condition. `sign` makes the distance positive in the domain.
    """

    name: str
    condition: Dirichlet
    shape: Any
    sign: float

    @property
    def place(self) -> tuple[Any, ...]:
        """Where the value is given."""
        return (self.shape,)

    @property
    def lower_places(self) -> list[tuple[Any, ...]]:
        """None: the value is no derivative."""
        return []

    def distance(self, point: dict[str, Number]) -> Number:
        """Return a smooth function that vanishes on the piece, with slope about one."""
        return self.sign * smooth_depth(self.shape, point)

    def value(self, point: dict[str, Number]) -> Number:
        """Return the given value at a point."""
        like = next(iter(point.values()))
        return evaluate_value(self.condition.value, point, self.name, like)


def smooth_depth(shape: AbstractDomain, point: dict[str, Any]) -> Any:
    """Return a smooth function, zero on the boundary and positive inside.

    `(R^2 - r^2) / 2R` for a ball; for a box the scaled product of the distances from
    all faces.
    """
    if isinstance(shape, Ball | Disk):
        squares = [(point[name] - middle) ** 2 for name, middle in shape.centre]
        return (shape.radius**2 - sum(squares)) / (2 * shape.radius)
    ends = [(point[name], *shape.bounds(name)) for name in shape.coordinates]
    shares = [(x - lower) / (upper - lower) for x, lower, upper in ends]
    shortest = min(upper - lower for _, lower, upper in ends)
    return shortest / 4 * math.prod(4 * share * (1 - share) for share in shares)


def find_pieces(
    name: str, condition: Dirichlet, domain: AbstractDomain
) -> list[ShapePiece] | str:
    """Return the pieces of a condition on a shape, or why it has none."""
    found = []
    for shape in _parts(condition.on):
        if not isinstance(shape, Ball | Disk | Box):
            return "only balls and boxes have an exact form"
        if not _is_boundary(shape, domain):
            return "a part of its shape is not on the boundary of the domain"
        points = domain.sample(_NUM_POINTS, seed=0)
        point = dict(zip(domain.coordinates, points.T, strict=True))
        depth = np.asarray(smooth_depth(shape, point))
        if not (np.all(depth > 0) or np.all(depth < 0)):
            return "its shape has parts of the domain on both sides"
        found.append(ShapePiece(name, condition, shape, float(np.sign(depth[0]))))
    return found


def blend(pieces: tuple[ShapePiece, ...], point: dict[str, Number]) -> Number:
    """Return `sum(g_i / phi_i) / sum(1 / phi_i)`, which has the value of each piece."""
    products = _products(pieces, point)
    each = zip(products, pieces, strict=True)
    parts = [product * one.value(point) for product, one in each]
    return jnp.sum(jnp.stack(parts)) / jnp.sum(jnp.stack(products))


def joint_distance(pieces: tuple[ShapePiece, ...], point: dict[str, Number]) -> Number:
    """Return `1 / sum(1 / phi_i)`, which vanishes on all pieces (Rvachev, 1982)."""
    products = _products(pieces, point)
    return pieces[0].distance(point) * products[0] / jnp.sum(jnp.stack(products))


def largest_distance(pieces: tuple[ShapePiece, ...], domain: AbstractDomain) -> float:
    """Return the largest joint distance at points of a domain."""
    points = domain.sample(_NUM_POINTS, seed=0)

    def at(row):
        point = dict(zip(domain.coordinates, row, strict=True))
        return joint_distance(pieces, point)

    return float(jnp.max(jax.vmap(at)(jnp.asarray(points, float))))


def boundary_points(shape: AbstractDomain, domain: AbstractDomain) -> np.ndarray:
    """Return points of a domain whose coordinates in a shape are on its boundary."""
    points = domain.sample(_NUM_POINTS, seed=0)
    on_shape, _ = shape.boundary(_NUM_POINTS, seed=0)
    for column, name in zip(on_shape.T, shape.coordinates, strict=True):
        points[:, domain.position(name)] = column
    return points


def _parts(shape: Any) -> list[Any]:
    if isinstance(shape, Union):
        return [*_parts(shape.first), *_parts(shape.second)]
    return [shape]


def _is_boundary(shape: AbstractDomain, domain: AbstractDomain) -> bool:
    """Whether the whole boundary of a shape is on that of the domain."""
    depth = domain.depth(boundary_points(shape, domain))
    return bool(np.all(np.abs(depth) < _ON_BOUNDARY))


def _products(pieces: tuple[ShapePiece, ...], point: dict[str, Number]) -> list[Number]:
    """Return for each piece the product of the distances from all others."""
    distances = [one.distance(point) for one in pieces]
    one = jnp.ones_like(distances[0])
    return [
        math.prod((d for j, d in enumerate(distances) if j != k), start=one)
        for k in range(len(pieces))
    ]
