"""Derivatives of a function up to some order, and how they compose."""

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
"""How often to differentiate by each coordinate: `u_txx` of (t, x) is `(1, 2)`."""

Jet = dict[Index, Any]
"""Derivatives by index; one that is not there is zero."""


def closure(indices: Iterable[Index]) -> frozenset[Index]:
    """`indices` and all that lie below them: what a product needs."""
    below = [itertools.product(*(range(n + 1) for n in index)) for index in indices]
    return frozenset(itertools.chain.from_iterable(below))


def coordinate_jets(point: Array, num_coordinates: int) -> list[Jet]:
    """Each coordinate as a function: itself, and its derivative one."""
    zero = (0,) * num_coordinates
    units = [zero[:k] + (1,) + zero[k + 1 :] for k in range(num_coordinates)]
    one = jnp.ones((), point.dtype)
    return [{zero: point[k], units[k]: one} for k in range(num_coordinates)]


def value_of(jet: Jet) -> Any:
    """The function itself."""
    return jet[origin(jet)]


def origin(jet: Jet) -> Index:
    """The index of the function itself."""
    return (0,) * len(next(iter(jet)))


def is_constant(jet: Jet) -> bool:
    """Whether no derivative is there."""
    return len(jet) == 1


def multiplied(
    times: Callable[[Any, Any], Any], this: Jet, that: Jet, indices: frozenset[Index]
) -> Jet:
    """Leibniz' rule for a bilinear `times`."""
    found: Jet = {}
    for index in indices:
        terms = []
        for part, count in _splits(index):
            rest = tuple(a - b for a, b in zip(index, part, strict=True))
            if part in this and rest in that:
                product = times(this[part], that[rest])
                terms.append(product if count == 1 else count * product)
        if terms:
            found[index] = sum(terms[1:], start=terms[0])
    return found


def composed(slopes: list[Any], inner: Jet, indices: frozenset[Index]) -> Jet:
    """Faa di Bruno's rule: `f(inner)` from `f, f', f'', ...` at the inner value."""
    found: Jet = {}
    for index in indices:
        terms = []
        for count, order, parts in _partitions(index):
            if all(part in inner for part in parts):
                factors = [slopes[order], *(inner[part] for part in parts)]
                product = functools.reduce(lambda a, b: a * b, factors)
                terms.append(product if count == 1 else count * product)
        if terms:
            found[index] = sum(terms[1:], start=terms[0])
    return found


def tower(fn: Callable[[Any], Any], value: Any, order: int) -> list[Any]:
    """`fn`, its derivative, and so on, of a function that acts on each number."""
    slopes = []
    for _ in range(order + 1):
        slopes.append(fn(value))
        fn = _slope(fn)
    return slopes


def _slope(fn):
    return lambda value: jax.jvp(fn, (value,), (jnp.ones_like(value),))[1]


@functools.cache
def _splits(index: Index) -> list[tuple[Index, int]]:
    """The lower part of each way to split an index in two, and how many ways."""
    parts = itertools.product(*(range(n + 1) for n in index))
    return [(part, math.prod(map(math.comb, index, part))) for part in parts]


@functools.cache
def _partitions(index: Index) -> list[tuple[int, int, tuple[Index, ...]]]:
    """The ways to group the differentiations of an index: how many alike, the number
    of groups, and the index of each group."""
    letters = [k for k, count in enumerate(index) for _ in range(count)]
    groupings = Counter(
        tuple(sorted(_index_of(group, letters, len(index)) for group in groups))
        for groups in _set_partitions(list(range(len(letters))))
    )
    return [(count, len(parts), parts) for parts, count in groupings.items()]


def _index_of(group: list[int], letters: list[int], size: int) -> Index:
    counts = Counter(letters[position] for position in group)
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
