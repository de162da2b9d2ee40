"""Slabs of time: a problem on a part of its interval, in one program for all parts."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..models import (
    Polished,
    SlabEmbedding,
    march,
)
from ..problems import (
    EQUATIONS,
    Formulation,
    Initial,
    evaluate_value,
)
from .evaluator import Evaluator
from .polish import Polish
from .polisher import polished_evaluator
from .preparation import Preparation
from .recipe import Recipe, embedding_of
from .slab_checks import initials_of
from .traces import NUM_ROWS, traces_of

Start = Callable[[str, np.ndarray], np.ndarray]  # term and points to given values


class Interval(NamedTuple):
    """A slab: its first and its last time."""

    start: float
    end: float

    @property
    def length(self) -> float:
        """The time between both."""
        return self.end - self.start


@dataclasses.dataclass(frozen=True)
class Slabs:
    """A problem with initial values, ready to be solved on intervals of time.

    `whole` evaluates the solution on the whole interval: no initial condition is exact.
    `formulation` is that of a slab: its initial values come with the points.
    `time_order` is the order of the highest derivative in time.
    """

    whole: Evaluator
    formulation: Formulation
    initials: dict[str, Initial]
    time_order: int

    @staticmethod
    def of(evaluator: Evaluator) -> "Slabs":
        """The slabs of a problem; check `why_not_marched` first."""
        known, prepared = evaluator.formulation, evaluator.preparation
        whole = Formulation(known.problem, None, known.scales)
        initials = initials_of(whole)
        if known.exact is not None:
            names = [name for name in known.exact.names if name not in initials]
            whole = _with_exact(whole, names)
        made = Evaluator(
            whole,
            _without_ways_out(evaluator.recipe),
            evaluator.seed,
            block_size=evaluator.block_size,
            preparation=Preparation(weights=prepared.weights),
        )
        order = _time_order(made, next(iter(initials.values())).on)
        return Slabs(made, _with_given_initials(whole), initials, order)

    @property
    def coordinate(self) -> str:
        """The name of the time."""
        return next(iter(self.initials.values())).on

    @property
    def position(self) -> int:
        """The place of the time among the coordinates."""
        return self.formulation.domain.position(self.coordinate)

    @property
    def interval(self) -> Interval:
        """The whole interval of time."""
        return Interval(*self.formulation.domain.bounds(self.coordinate))

    def evaluator(
        self, interval: Interval, factors: dict[str, float] | None = None
    ) -> Evaluator:
        """An evaluator on a slab.

        The equations are multiplied by the power of the slab's length that makes them
        a change of the fields, rates in initial conditions likewise. `factors` multiply
        the terms further.
        """
        number = lambda value: jnp.asarray(value, self.whole.dtype)
        embedding = SlabEmbedding(
            embedding_of(self.formulation), self.position, *map(number, interval)
        )
        orders = {name: one.order for name, one in self.initials.items()}
        names = (EQUATIONS, *self.formulation.conditions)
        orders[EQUATIONS] = self.time_order
        scales = {name: interval.length ** orders.get(name, 0) for name in names}
        found = {n: number(s * (factors or {}).get(n, 1.0)) for n, s in scales.items()}
        return Evaluator(
            self.formulation,
            self.whole.recipe,
            self.whole.seed,
            skeleton=self.whole.skeleton,
            embedding=embedding,
            block_size=self.whole.block_size,
            factors=found,
            preparation=Preparation(),
        )

    def sampler(self, interval: Interval, start: Start) -> Callable[..., Any]:
        """A function like `Evaluator.sample`, with times in the slab."""

        def sample(name: str, num_points: int, *, seed: int) -> Any:
            points, numbers = self.evaluator_rows(name, num_points, seed)
            lower, upper = self.interval
            share = (points[:, self.position] - lower) / (upper - lower)
            points[:, self.position] = interval.start + share * interval.length
            if name in self.initials:
                numbers = start(name, points)
            return points, numbers

        return sample

    def evaluator_rows(self, name: str, num_points: int, seed: int) -> Any:
        """Points of a term on the whole interval, as arrays that may be changed."""
        terms = self.whole.terms
        points, numbers = terms[name].residual.sample(num_points, seed=seed)
        return np.array(points), np.array(numbers)

    def first_values(self) -> Start:
        """The values of the problem's own initial conditions."""

        def values(name: str, points: np.ndarray) -> np.ndarray:
            one, names = self.initials[name], self.formulation.domain.coordinates
            like = jnp.zeros((), self.whole.dtype)

            def at(row):
                place = dict(zip(names, row, strict=True))
                return evaluate_value(one.value, place, name, like, without=one.on)

            found = jax.vmap(at)(jnp.asarray(points, self.whole.dtype))
            return np.asarray(found)[:, None]

        return values

    def values_of(
        self, interval: Interval, network: Any, polish: Polish | None
    ) -> Start:
        """The fields and rates of a slab's network, at any of its points."""
        rates_fn = self.rates_of(interval, network, polish)
        return lambda name, points: rates_fn(points)[name][:, None]

    def rates_of(
        self, interval: Interval, network: Any, polish: Polish | None
    ) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        """The values that initial conditions restrict, of a slab's network."""
        evaluator, params = self.bind(interval, network, polish)
        fields = self.formulation.problem.fields
        asked = tuple(
            (name, one.field or fields[0], one.order)
            for name, one in self.initials.items()
        )
        expression = InitialRates(fields, self.coordinate, asked)

        def rates(points: np.ndarray) -> dict[str, np.ndarray]:
            rows = jnp.asarray(points, evaluator.dtype)
            found = evaluator.evaluate(params, expression, rows)
            return {name: np.asarray(value) for name, value in found.items()}

        return rates

    def bind(
        self, interval: Interval, network: Any, polish: Polish | None
    ) -> tuple[Evaluator, Any]:
        """An evaluator of a network on a slab, and all of its parameters."""
        evaluator = self.evaluator(interval)
        params, skeleton = eqx.partition(network, eqx.is_inexact_array)
        if polish is None or not isinstance(network, Polished):
            return evaluator, params
        return polished_evaluator(polish, evaluator, skeleton), params

    def join(
        self, intervals: list[Interval], networks: list[Any], polish: Polish | None
    ) -> tuple[Evaluator, Any]:
        """An evaluator of the whole solution, and all of its parameters."""
        lower, upper = self.interval
        times = [intervals[0].start, *(one.end for one in intervals)]
        edges = 2 * (np.asarray(times) - lower) / (upper - lower) - 1
        embedding = embedding_of(self.formulation)
        place = sum(embedding.counts[: self.position])
        network = march(networks, jnp.asarray(edges, self.whole.dtype), place)
        params, skeleton = eqx.partition(network, eqx.is_inexact_array)
        if polish is not None:
            return polished_evaluator(polish, self.whole, skeleton), params
        found = Evaluator(
            self.whole.formulation,
            self.whole.recipe,
            self.whole.seed,
            skeleton=skeleton,
            block_size=self.whole.block_size,
            preparation=self.whole.preparation,
        )
        return found, params


class InitialRates(eqx.Module):
    """The values and rates of fields that the next slab starts from.

    `asked` holds the name of a term, the field and the order of the derivative.
    """

    fields: tuple[str, ...] = eqx.field(static=True)
    coordinate: str = eqx.field(static=True)
    asked: tuple[tuple[str, str, int], ...] = eqx.field(static=True)

    def __call__(self, *arguments: Any) -> dict[str, Any]:
        """Return them by the name of the term."""
        fields = dict(zip(self.fields, arguments, strict=False))
        return {
            name: fields[field].d(*[self.coordinate] * order)
            for name, field, order in self.asked
        }


def balance_factors(
    evaluator: Evaluator, params: Any, pools: dict[str, Any]
) -> dict[str, float]:
    """A factor for each condition that makes its rows as large as those of the
    equations.

    The size is the root of the mean of `|dr/dtheta|^2`. A condition with a
    weight of its own keeps it.
    """
    rows = jax.tree.map(lambda part: part[:NUM_ROWS], pools)
    traces = traces_of(evaluator, evaluator.terms, params, rows)
    main, factors = traces.pop(EQUATIONS), {}
    for name, condition in evaluator.formulation.conditions.items():
        ratio = math.sqrt(main / max(traces[name], np.finfo(float).tiny))
        is_usable = condition.penalty.weight is None and 0 < ratio < math.inf
        factors[name] = ratio if is_usable else 1.0
    return factors


def _with_exact(formulation: Formulation, names: list[str]) -> Formulation:
    """The problem with an ansatz for those of the named conditions that have one."""
    named = {name: formulation.conditions[name] for name in names}
    return eqx.tree_at(
        lambda one: one.conditions, formulation, named
    ).with_exact_conditions()


def _with_given_initials(formulation: Formulation) -> Formulation:
    """The problem with initial values that come with each point."""
    conditions = {
        name: one.without_values() if isinstance(one, Initial) else one
        for name, one in formulation.conditions.items()
    }
    return eqx.tree_at(lambda f: f.conditions, formulation, conditions)


def _time_order(evaluator: Evaluator, time: str) -> int:
    place = evaluator.formulation.domain.position(time)
    return max(i[place] for i in evaluator.terms[EQUATIONS].residual.indices)


def _without_ways_out(recipe: Recipe) -> Recipe:
    """The recipe of a slab: one that is stuck is halved."""
    return dataclasses.replace(recipe, continuation=None, time_marching=None)
