"""A problem as functions of a network: fields at a point and residuals."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..domains import AbstractDomain
from ..fields import (
    Field,
    Index,
    Jet,
    coordinate_jets,
    downward_closure,
    propagate,
)
from ._base import Problem
from ._checks import check_conditions, check_listed, check_problem
from ._returned import (
    as_list_fn,
    check_ansatz,
    check_outputs,
    check_residuals,
)
from .conditions import (
    SIDES,
    AbstractCondition,
    AbstractInterfaceCondition,
    Ansatz,
    Average,
    FourierFeatures,
    Mean,
    Periodic,
    Singular,
)
from .corners import corner_functions
from .exact import ExactConditions
from .exact_search import find_exact_conditions, without_initials
from .exact_smoothness import why_rough, why_singular
from .sides import Side, Sides, find_sides, jets_of_both_sides, loss_terms
from .unknowns import Values, split_unknowns

EQUATIONS = "equations"
Embedded = Callable[..., Float[Array, " inputs"]]


class Formulation(eqx.Module):
    """A checked problem. The network is called on `embedding(*point)`.

    `singular` holds the listed singular functions. Without any, and without an ansatz,
    it holds those of the re-entrant corners of a polygon. With `exact`, the conditions
    that it fulfils are left out, and it is the ansatz. `scales` multiply the outputs of
    the network, one for each field.
    """

    problem: Problem
    conditions: dict[str, AbstractCondition]
    periods: dict[str, int]
    fourier_features: dict[str, int]
    ansatz: Ansatz | None
    singular: tuple[Singular, ...]
    exact: ExactConditions | None
    scales: tuple[float, ...]
    sides: Sides

    def __init__(
        self,
        problem: Problem,
        exact: ExactConditions | None = None,
        scales: tuple[float, ...] | None = None,
    ):
        check_problem(problem)
        listed = problem.conditions()
        check_listed(listed, problem.domain)
        self.problem = problem
        complete = lambda one: (
            one.complete(listed, problem.domain) if isinstance(one, Mean) else one
        )
        terms = loss_terms([complete(one) for one in listed], problem.fields)
        self.conditions = _name_conditions(terms)
        self.periods = {c.on: c.modes for c in listed if isinstance(c, Periodic)}
        self.fourier_features = {
            c.on: c.modes for c in listed if isinstance(c, FourierFeatures)
        }
        self.ansatz = next((c for c in listed if isinstance(c, Ansatz)), None)
        check_conditions(self.conditions, problem)
        self.sides = find_sides(self.conditions, problem.domain, problem.fields)
        self.singular = tuple(c for c in listed if isinstance(c, Singular))
        if self.ansatz is not None:
            check_ansatz(self.ansatz, problem)
        self.scales = scales or (1.0,) * len(problem.fields)
        self.exact = exact
        if exact is not None and exact.names:
            self.ansatz = Ansatz(exact)
            for name in exact.names:
                del self.conditions[name]
        if not self.singular and self.ansatz is None:
            self.singular = corner_functions(problem.domain)

    def with_exact_conditions(self, *, has_initial: bool = True) -> "Formulation":
        """Return the problem with an ansatz for the conditions that have an exact form.

        A problem with an ansatz of its own remains as it is. So do the conditions if
        the residual of the known part is not finite, or concentrated in a few points.
        Without `has_initial`, initial conditions remain too.
        """
        if self.ansatz is not None or self.exact is not None:
            return self
        fields, periodic = self.problem.fields, tuple(self.periods)
        listed = self.conditions if has_initial else without_initials(self.conditions)
        found = find_exact_conditions(self.domain, fields, periodic, listed)
        formed = Formulation(self.problem, found, self.scales)
        residual = formed.terms()[EQUATIONS]
        rough = lambda: why_rough(found, self.domain, residual.orders, periodic)
        if why := why_singular(residual) or rough():
            formed = Formulation(self.problem, found.without(why), self.scales)
        return formed

    def with_scales(self, scales: tuple[float, ...]) -> "Formulation":
        """Return the problem with factors for the outputs of the network."""
        return Formulation(self.problem, self.exact, scales)

    @property
    def num_outputs(self) -> int:
        """The number of outputs of the network: fields, times parts of the domain."""
        return self.sides.num_outputs

    @property
    def domain(self) -> AbstractDomain:
        """The domain of the problem."""
        return self.problem.domain

    def terms(self) -> "dict[str, Residual]":
        """Return the residual of the equations and of each condition, by name."""
        found = {EQUATIONS: Residual(self, None)}
        return found | {name: Residual(self, name) for name in self.conditions}

    def jets(
        self,
        embedding: Embedded,
        network: Any,
        point: Array,
        indices: frozenset[Index],
        side: Side | None = None,
    ) -> dict[str, Jet]:
        """Return the jet of every field at one point, with the requested indices.

        `side` is that of an interface where the point lies.
        """
        names, coordinates = self.problem.fields, self.domain.coordinates
        wanted = downward_closure(indices)
        network, _ = split_unknowns(network, self.problem.unknowns)
        jets = coordinate_jets(point, len(coordinates))
        inputs = propagate(embedding, jets, wanted)
        outputs = propagate(network, [inputs], wanted)
        count = self.num_outputs
        check_outputs(outputs, names, count)
        each = [{i: part[k] for i, part in outputs.items()} for k in range(count)]
        each = self.sides.select(each, point, side)
        if any(scale != 1 for scale in self.scales):
            pairs = zip(each, self.scales, strict=True)
            each = [{i: s * part for i, part in jet.items()} for jet, s in pairs]
        if self.ansatz is not None:
            fn = as_list_fn(self.ansatz.fn, names)
            each = propagate(fn, [*jets, *each], wanted)
        return dict(zip(names, each, strict=True))


class Residual(eqx.Module):
    """The residual of the equations or of one condition at a point.

    `name` is that of the condition, `None` for the equations. An `expression`, written
    like `Problem.equations`, replaces the equations. A `factor` multiplies the
    derivatives of the highest order, or the named `coefficient` of the problem. The
    fields of a condition with an `average` are means.
    """

    formulation: Formulation
    name: str | None
    expression: Callable[..., dict[str, Any]] | None
    average: Average | None
    indices: frozenset[Index]
    labels: tuple[str, ...]
    factor: Array | None
    coefficient: str | None

    def __init__(
        self,
        formulation: Formulation,
        name: str | None,
        expression: Callable[..., dict[str, Any]] | None = None,
    ):
        self.formulation, self.name = formulation, name
        self.expression = expression
        condition = formulation.conditions.get(name) if name is not None else None
        is_mean = isinstance(condition, Mean)
        self.average = condition.average(formulation.domain) if is_mean else None
        self.factor = self.coefficient = None
        self.indices, self.labels = _trace_derivatives(self)

    def __call__(
        self, embedding: Embedded, network: Any, row: tuple[Array, Array]
    ) -> Float[Array, " eqs"]:
        """Return one number per equation; `row` is a point and its `numbers`."""
        jets = self._jets(embedding, network, *row)
        return self._of_jets(jets, network, row)

    def parts(
        self, embedding: Embedded, network: Any, row: tuple[Array, Array]
    ) -> dict[str, Any]:
        """Return the residuals and what they are made of.

        To first order, a derivative changes the residual by its value times a slope:
        `u * u.x` by `u.x` times `u`. The rest is the residual of fields that are zero.
        """
        jets = self._jets(embedding, network, *row)
        values = jnp.stack([part for jet in jets.values() for part in jet.values()])

        def fn(values):  # a dictionary as argument would be sorted
            each = iter(values)
            found = {n: {i: next(each) for i in jet} for n, jet in jets.items()}
            return self._of_jets(found, network, row)

        slopes = iter(jnp.moveaxis(jax.jacfwd(fn)(values), 1, 0))
        return {
            "residual": fn(values),
            "slopes": {n: {i: next(slopes) for i in jet} for n, jet in jets.items()},
            "values": jets,
            "rest": fn(jnp.zeros_like(values)),
        }

    def _of_jets(
        self, jets: dict[str, Jet], network: Any, row: tuple[Array, Array]
    ) -> Float[Array, " eqs"]:
        point, numbers = row
        dtype = point.dtype
        lookups = {n: self._lookup(jet, dtype) for n, jet in jets.items()}
        _, unknowns = split_unknowns(network, self.formulation.problem.unknowns)
        found = self.evaluate(lookups, point, numbers, unknowns)
        return jnp.stack([part.astype(dtype) for part in found.values()])

    def _jets(
        self, embedding: Embedded, network: Any, point: Array, numbers: Array
    ) -> dict[str, Jet]:
        """Return the jets of the fields, of their means, or of both sides."""
        find = partial(self.formulation.jets, embedding, network, indices=self.indices)
        if self.average is not None:
            return self.average(find, point)
        if (condition := self._interface_condition) is None:
            return find(point)
        interface = self.formulation.sides.interfaces[self.name or EQUATIONS]
        return jets_of_both_sides(find, condition, interface, point, numbers)

    @property
    def _interface_condition(self) -> AbstractInterfaceCondition | None:
        found = self.formulation.conditions.get(self.name or EQUATIONS)
        return found if isinstance(found, AbstractInterfaceCondition) else None

    @property
    def field_names(self) -> tuple[str, ...]:
        """The fields that `evaluate` needs; on an interface, those of both sides."""
        names = self.formulation.problem.fields
        if self._interface_condition is None:
            return names
        return tuple(name + suffix for suffix in SIDES for name in names)

    def evaluate(
        self,
        lookups: dict[str, Callable[[Index], Any]],
        point: Array,
        numbers: Array,
        unknowns: Values,
    ) -> dict[str, Array]:
        """Return the residuals by name; `lookups` give derivatives of the fields."""
        problem = self._problem()
        names = problem.domain.coordinates
        fields = {n: Field(n, names, lookup) for n, lookup in lookups.items()}
        values = [point[k] for k in range(len(names))]
        if self.name is None:
            fn = problem.equations if self.expression is None else self.expression
            found = fn(*fields.values(), *values, *unknowns.values())
            return check_residuals(found)
        condition = self.formulation.conditions[self.name]
        place = dict(zip(names, values, strict=True))
        return {self.name: condition.residual(fields, place, numbers)}

    @property
    def order(self) -> int:
        """The highest order of a derivative."""
        return max(sum(index) for index in self.indices)

    @property
    def orders(self) -> dict[str, int]:
        """The highest order of a derivative by each coordinate."""
        names = self.formulation.domain.coordinates
        each = zip(*self.indices, strict=True)
        return dict(zip(names, map(max, each), strict=True))

    def with_factor(self, factor: Array, coefficient: str | None = None) -> "Residual":
        """Return the residual with a changed coefficient or highest derivatives."""
        is_none = lambda one: one is None
        found = eqx.tree_at(lambda one: one.factor, self, factor, is_leaf=is_none)
        if coefficient == self.coefficient:
            return found
        where = lambda one: one.coefficient
        return eqx.tree_at(where, found, coefficient, is_leaf=is_none)

    def _lookup(self, jet: Jet, dtype: Any) -> Callable[[Index], Array]:
        """Return the derivatives of one field by index."""
        zero = jnp.zeros((), dtype)
        if self.factor is None or self.coefficient is not None:
            return lambda index: jet.get(index, zero)
        order, factor = self.order, self.factor
        is_changed = lambda index: sum(index) == order and index in jet
        return lambda index: (
            factor * jet[index] if is_changed(index) else jet.get(index, zero)
        )

    def _problem(self) -> Problem:
        """Return the problem, with its coefficient changed."""
        problem, name = self.formulation.problem, self.coefficient
        if name is None:
            return problem
        value = getattr(problem, name) * self.factor
        return eqx.tree_at(lambda one: getattr(one, name), problem, value)

    def sample(self, num_points: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return points, and for each point the `numbers` of the condition."""
        domain = self.formulation.domain
        if self.name is None:
            return domain.sample(num_points, seed=seed), np.zeros((num_points, 0))
        condition = self.formulation.conditions[self.name]
        return condition.sample(domain, num_points, seed=seed)

    @property
    def num_available(self) -> int | None:
        """The number of different points, `None` if it is unlimited."""
        domain = self.formulation.domain
        if self.name is None:
            return domain.num_available
        return self.formulation.conditions[self.name].num_available(domain)


def _trace_derivatives(residual: Residual) -> tuple[frozenset[Index], tuple[str, ...]]:
    """Return the derivatives that a residual uses, and the names of its parts."""
    coordinates = residual.formulation.domain.coordinates
    used = {(0,) * len(coordinates)}
    labels: list[str] = []
    dtype = jnp.zeros(()).dtype

    def run(point, numbers):
        def lookup(index):
            used.add(index)
            return jnp.ones((), dtype)

        problem = residual.formulation.problem
        lookups = dict.fromkeys(residual.field_names, lookup)
        unknowns = {n: jnp.ones((), dtype) for n in problem.unknowns}
        found = residual.evaluate(lookups, point, numbers, unknowns)
        labels.extend(found)
        return found

    rows = residual.sample(1, seed=0)
    jax.eval_shape(run, *(jax.ShapeDtypeStruct(r.shape[1:], dtype) for r in rows))
    return frozenset(used), tuple(labels)


def _name_conditions(
    conditions: list[AbstractCondition],
) -> dict[str, AbstractCondition]:
    """Map unique names to conditions; repeated names get a number."""
    found: dict[str, AbstractCondition] = {}
    for condition in conditions:
        label = condition.penalty.name or condition.label()
        name, count = label, 1
        while name in found or name == EQUATIONS:
            count += 1
            name = f"{label} {count}"
        found[name] = condition
    return found
