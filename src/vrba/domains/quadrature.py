"""Quadrature over a domain: points and weights whose sum is the mean of a function."""

from collections.abc import Collection
from itertools import combinations_with_replacement

import numpy as np
from jaxtyping import Float

from ..core import InputError
from ._base import AbstractDomain
from .box import Box
from .product import Product

Nodes = tuple[Float[np.ndarray, "nodes dim"], Float[np.ndarray, " nodes"]]

_MOST_ALONG = {1: 64, 2: 32}  # nodes along each side of a box, by dimension
_LEAST_ALONG = 5  # with fewer, low-discrepancy points are more accurate
_NUM_SAMPLES = 1 << 16  # for the means of polynomials,
_DEGREE = 6  # up to this degree


def make_quadrature(
    domain: AbstractDomain, coordinates: Collection[str], num_points: int
) -> Nodes:
    """Return about `num_points` nodes over some coordinates, and weights of sum one.

    They form a Gauss-Legendre rule on a box of up to about four dimensions, and the
    product of two rules on a product. On other shapes they are low-discrepancy points,
    always the same. Polynomials of degree six then have the means that they have over
    65,536 points. The columns are in the order of the domain.
    """
    names = [name for name in domain.coordinates if name in coordinates]
    if isinstance(domain, Product):
        return _on_product(domain, names, num_points)
    if isinstance(domain, Box):
        count = int(num_points ** (1 / len(names)) + 1e-9)
        count = min(count, _MOST_ALONG.get(len(names), count))
        if count >= _LEAST_ALONG:
            return _gauss_legendre([domain.bounds(name) for name in names], count)
    elif len(names) < len(domain.coordinates):
        fixed = [name for name in domain.coordinates if name not in names]
        raise InputError(
            f"The {type(domain).__name__} is not a product of {', '.join(fixed)} and "
            f"{', '.join(names)}, so a mean over {', '.join(names)} alone is not "
            "defined: combine two domains, as in `Box(t=(0, 1)) * Disk(1.0)`."
        )
    return _from_samples(domain, [domain.position(name) for name in names], num_points)


def _from_samples(domain: AbstractDomain, columns: list[int], num_points: int) -> Nodes:
    """Return low-discrepancy points whose weights give polynomials accurate means."""
    available = domain.num_available or _NUM_SAMPLES
    samples = domain.sample(min(_NUM_SAMPLES, available), seed=0)[:, columns]
    points = samples[:num_points]
    weights = np.full(len(points), 1 / len(points))
    if len(points) == len(samples):
        return points, weights
    lower, upper = np.min(samples, axis=0), np.max(samples, axis=0)
    scaled = (2 * samples - lower - upper) / (upper - lower)
    parts = [
        np.prod(scaled[:, list(powers)], axis=1)
        for degree in range(_DEGREE + 1)
        for powers in combinations_with_replacement(range(len(columns)), degree)
    ]
    values = np.stack(parts[: num_points // 4], axis=1)
    missing = np.mean(values, axis=0) - weights @ values[:num_points]
    return points, weights + np.linalg.lstsq(values[:num_points].T, missing)[0]


def _gauss_legendre(ends: list[tuple[float, float]], count: int) -> Nodes:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    axes = [lo + (hi - lo) * (nodes + 1) / 2 for lo, hi in ends]
    grids = np.meshgrid(*axes, indexing="ij")
    factors = np.meshgrid(*[weights / 2] * len(ends), indexing="ij")
    points = np.stack([np.ravel(grid) for grid in grids], axis=1)
    return points, np.ravel(np.prod(factors, axis=0))


def _on_product(domain: Product, names: list[str], num_points: int) -> Nodes:
    rules = []
    for part in (domain.first, domain.second):
        own = [name for name in part.coordinates if name in names]
        if own:
            share = len(own) / len(names)
            rules.append(make_quadrature(part, own, round(num_points**share)))
    if len(rules) == 1:
        return rules[0]
    (one, first), (two, second) = rules
    points = np.repeat(one, len(two), axis=0), np.tile(two, (len(one), 1))
    return np.concatenate(points, axis=1), np.ravel(np.outer(first, second))
