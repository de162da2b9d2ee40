"""The parts into which interfaces divide a domain, each with its own outputs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..core import InputError
from ..domains import AbstractDomain
from ..fields import Jet
from .conditions import (
    SIDES,
    AbstractCondition,
    AbstractInterfaceCondition,
    Interface,
    InterfaceConstraint,
    LevelFn,
)

_NUM_POINTS = 4096  # where signs are compared
_NUM_ON_INTERFACE = 256
_SEED = 0

Conditions = Mapping[str, AbstractCondition]


class Side(NamedTuple):
    """A side of an interface, by its number."""

    interface: int
    is_positive: Bool[Array, ""]


class Sides(eqx.Module):
    """Which outputs of the network are the fields at a point.

    The signs of the levels divide the domain into parts. `patterns` holds the signs of
    each part, true for positive. The outputs of a part follow those of the part before.
    A point whose signs are not listed belongs to the part with most equal signs.
    `interfaces` maps the names of conditions to numbers of levels.
    """

    num_fields: int
    levels: tuple[LevelFn, ...] = ()
    patterns: tuple[tuple[bool, ...], ...] = ((),)
    interfaces: dict[str, int] = eqx.field(default_factory=dict)

    @property
    def num_outputs(self) -> int:
        """The number of outputs of the network."""
        return self.num_fields * len(self.patterns)

    def sentence(self) -> str:
        """Return how many parts there are; empty for one."""
        count = len(self.patterns)
        if count == 1:
            return ""
        return f"Interfaces: {count} parts of the domain, each with its own outputs."

    def select(
        self, outputs: list[Jet], point: Float[Array, " dim"], side: Side | None = None
    ) -> list[Jet]:
        """Return the jets of the fields at a point; `side` replaces one sign."""
        count = self.num_fields
        parts = [outputs[k : k + count] for k in range(0, len(outputs), count)]
        found = parts[0]
        if len(parts) == 1:
            return found
        number = self._part_at(point, side)
        for k, part in enumerate(parts[1:], 1):
            found = [
                {i: jnp.where(number == k, new[i], old[i]) for i in old}
                for old, new in zip(found, part, strict=True)
            ]
        return found

    def _part_at(self, point: Float[Array, " dim"], side: Side | None) -> Array:
        signs = [
            side.is_positive
            if side is not None and k == side.interface
            else level(point) >= 0
            for k, level in enumerate(self.levels)
        ]
        signs = jnp.stack(signs)
        same = [jnp.sum(signs == np.array(pattern)) for pattern in self.patterns]
        return jnp.argmax(jnp.stack(same))


def jets_of_both_sides(
    find_fn: Callable[..., dict[str, Jet]],
    condition: AbstractInterfaceCondition,
    interface: int,
    point: Float[Array, " dim"],
    numbers: Array,
) -> dict[str, Jet]:
    """Return the jets of each field beside an interface, with the side in its name."""

    def on_side(is_positive):
        place = condition.beside(point, numbers, is_positive)
        return find_fn(place, side=Side(interface, is_positive))

    both = jax.vmap(on_side)(jnp.array([False, True]))
    return {
        name + suffix: {index: part[k] for index, part in jet.items()}
        for k, suffix in enumerate(SIDES)
        for name, jet in both.items()
    }


def loss_terms(listed: Sequence[Any], fields: tuple[str, ...]) -> list[Any]:
    """Return the conditions that are terms of the loss; an interface has several."""
    found = []
    for one in listed:
        parts = one.conditions(fields) if isinstance(one, Interface) else [one]
        found += [part for part in parts if isinstance(part, AbstractCondition)]
    return found


def find_sides(
    conditions: Conditions, domain: AbstractDomain, fields: tuple[str, ...]
) -> Sides:
    """Return the parts that the interfaces among the conditions make."""
    found = {
        name: one
        for name, one in conditions.items()
        if isinstance(one, AbstractInterfaceCondition)
    }
    if not found:
        return Sides(len(fields))
    ordered: list[AbstractInterfaceCondition] = []
    interfaces = {}
    for name, one in found.items():
        known = [k for k, each in enumerate(ordered) if _is_same(each.level, one.level)]
        interfaces[name] = known[0] if known else len(ordered)
        ordered += [] if known else [one]
    levels = tuple(LevelFn(one.level, domain.coordinates) for one in ordered)
    _check_fields(ordered, found, fields)
    points = [jnp.asarray(domain.sample(_NUM_POINTS, seed=_SEED), float)]
    for k, one in enumerate(ordered):
        given = one.sample(domain, _NUM_ON_INTERFACE, seed=_SEED)
        rows = tuple(jnp.asarray(part, float) for part in given)
        beside = lambda is_positive, one=one, rows=rows: jax.vmap(
            lambda point, numbers: one.beside(point, numbers, is_positive)
        )(*rows)
        below, above = beside(False), beside(True)
        _check_distinct(levels, k, below, above)
        points += [below, above]
    signs = _evaluate(levels, jnp.concatenate(points)) >= 0
    patterns = sorted({tuple(map(bool, row)) for row in signs})
    return Sides(len(fields), levels, tuple(patterns), interfaces)


def _is_same(first: Any, second: Any) -> bool:
    """Whether two levels are the same function; methods of equal objects are."""
    return first is second or bool(first == second)


@eqx.filter_jit
def _evaluate_all(levels, points):
    return jax.vmap(lambda point: jnp.stack([fn(point) for fn in levels]))(points)


def _evaluate(levels: tuple[LevelFn, ...], points: Array) -> np.ndarray:
    return np.asarray(_evaluate_all(levels, points))


def _check_fields(
    interfaces: list[AbstractInterfaceCondition],
    conditions: Mapping[str, AbstractInterfaceCondition],
    fields: tuple[str, ...],
) -> None:
    """Raise if a field has no condition on an interface."""
    for one in interfaces:
        here = [each for each in conditions.values() if _is_same(each.level, one.level)]
        if any(isinstance(each, InterfaceConstraint) for each in here):
            continue
        known = {each.field or fields[0] for each in here}
        if missing := [name for name in fields if name not in known]:
            raise InputError(
                f"The field `{missing[0]}` has no condition on an interface, so its "
                "two sides are not joined: list "
                f"`Interface(level, coefficient, field={missing[0]!r})` with the same "
                "`level`."
            )


def _check_distinct(
    levels: tuple[LevelFn, ...], number: int, below: Array, above: Array
) -> None:
    """Raise if another level is zero on most of an interface."""
    changes = (_evaluate(levels, below) >= 0) != (_evaluate(levels, above) >= 0)
    shares = np.mean(changes, axis=0)
    shares[number] = 0
    if np.max(shares) > 0.5:
        raise InputError(
            "Two interfaces lie at the same place: give both the same function as "
            "`level`, not a copy of it."
        )
