"""Derivatives of a function up to some order: products and compositions."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

Index = tuple[int, ...]
"""The order of the derivative by each coordinate: `u_txx` of (t, x) is `(1, 2)`."""

Jet = dict[Index, Any]
"""Derivatives by index; a missing one is zero."""


def downward_closure(indices: Iterable[Index]) -> frozenset[Index]:
    """Add all lower derivatives, which the rules for products and compositions need."""
    lower = [itertools.product(*(range(n + 1) for n in index)) for index in indices]
    return frozenset(itertools.chain.from_iterable(lower))


def coordinate_jets(point: Array, num_coordinates: int) -> list[Jet]:
    """Return the jet of each coordinate: its value, and its first derivative, one."""
    zero = (0,) * num_coordinates
    units = [zero[:k] + (1,) + zero[k + 1 :] for k in range(num_coordinates)]
    one = jnp.ones((), point.dtype)
    return [{zero: point[k], units[k]: one} for k in range(num_coordinates)]


def value_of(jet: Jet) -> Any:
    """Return the value without derivatives."""
    return jet[origin(jet)]


def origin(jet: Jet) -> Index:
    """Return the index of the value."""
    return (0,) * len(next(iter(jet)))


def is_constant(jet: Jet) -> bool:
    """Whether all derivatives are zero."""
    return len(jet) == 1


def multiply(
    product_fn: Callable[[Any, Any], Any],
    left: Jet,
    right: Jet,
    indices: frozenset[Index],
) -> Jet:
    """Apply Leibniz' rule to a bilinear `product_fn`."""
    found: Jet = {}
    for index in indices:
        terms = []
        for part, count in _splits(index):
            rest = tuple(a - b for a, b in zip(index, part, strict=True))
            if part in left and rest in right:
                product = product_fn(left[part], right[rest])
                terms.append(product if count == 1 else count * product)
        if terms:
            found[index] = sum(terms[1:], start=terms[0])
    return found


def compose(outer: list[Any], inner: Jet, indices: frozenset[Index]) -> Jet:
    """Apply Faa di Bruno's rule to `f(inner)`.

    `outer` holds `f, f', f'', ...` at the value of `inner`.
    """
    found: Jet = {}
    for index in indices:
        terms = []
        for count, order, parts in _partitions(index):
            if all(part in inner for part in parts):
                factors = [outer[order], *(inner[part] for part in parts)]
                product = functools.reduce(lambda a, b: a * b, factors)
                terms.append(product if count == 1 else count * product)
        if terms:
            found[index] = sum(terms[1:], start=terms[0])
    return found


def repeated_derivatives(fn: Callable[[Any], Any], value: Any, order: int) -> list[Any]:
    """Return an elementwise `fn` and its derivatives up to `order`, all at `value`."""
    found = []
    for _ in range(order + 1):
        found.append(fn(value))
        fn = _differentiate(fn)
    return found


def _differentiate(fn):
    return lambda value: jax.jvp(fn, (value,), (jnp.ones_like(value),))[1]


@functools.cache
def _splits(index: Index) -> list[tuple[Index, int]]:
    """Return the first part of each split of an index in two, and its multiplicity."""
    parts = itertools.product(*(range(n + 1) for n in index))
    return [(part, math.prod(map(math.comb, index, part))) for part in parts]


@functools.cache
def _partitions(index: Index) -> list[tuple[int, int, tuple[Index, ...]]]:
    """Return the groupings of the single derivatives of an index.

    Each entry holds its multiplicity, the number of groups and their indices.
    """
    coordinates = [k for k, count in enumerate(index) for _ in range(count)]
    groupings = Counter(
        tuple(sorted(_index_of(group, coordinates, len(index)) for group in groups))
        for groups in _set_partitions(list(range(len(coordinates))))
    )
    return [(count, len(parts), parts) for parts, count in groupings.items()]


def _index_of(group: list[int], coordinates: list[int], size: int) -> Index:
    counts = Counter(coordinates[position] for position in group)
    return tuple(counts[k] for k in range(size))


def _set_partitions(items: list[int]) -> Iterable[list[list[int]]]:
    if not items:
        yield []
        return
    first, *rest = items
    for groups in _set_partitions(rest):
        yield [[first], *groups]
        for k, group in enumerate(groups):
            yield [*groups[:k], [first, *group], *groups[k + 1 :]]
