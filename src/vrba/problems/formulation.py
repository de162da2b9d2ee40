"""A problem as functions of a network: fields at a point, and residuals to train on."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core import InputError
from ..domains import AbstractDomain
from ..fields import (
    Field,
    Index,
    Jet,
    coordinate_jets,
    downward_closure,
    propagate,
    value_of,
)
from ._base import Problem
from .arguments import check_order
from .conditions import AbstractCondition, Ansatz, FourierFeatures, Periodic
from .unknown import Unknown, Values, opened

EQUATIONS = "equations"
TAKEN = ("fields", "coordinates", "residuals", "file", "allow_pickle")  # in files
Embedded = Callable[..., Float[Array, " inputs"]]


class Formulation(eqx.Module):
    """A checked problem. The network is called on `embedding(*point)`."""

    problem: Problem
    conditions: dict[str, AbstractCondition]
    periods: dict[str, int]
    waves: dict[str, int]
    ansatz: Ansatz | None

    def __init__(self, problem: Problem):
        _check_problem(problem)
        given = problem.conditions()
        known = AbstractCondition | Periodic | FourierFeatures | Ansatz
        if not isinstance(given, list | tuple):
            raise InputError(
                f"`conditions` must return a list, got {type(given).__name__}."
            )
        for condition in given:
            if not isinstance(condition, known):
                raise InputError(
                    f"`conditions` must hold conditions such as `Initial` or "
                    f"`Dirichlet`, got {condition!r}."
                )
        if all(isinstance(condition, FourierFeatures) for condition in given):
            raise InputError(
                "`conditions` is empty: without an initial or boundary condition the "
                "solution is not determined."
            )
        _check_once(given)
        self.problem = problem
        self.conditions = _named([c for c in given if isinstance(c, AbstractCondition)])
        self.periods = {c.on: c.modes for c in given if isinstance(c, Periodic)}
        self.waves = {c.on: c.modes for c in given if isinstance(c, FourierFeatures)}
        self.ansatz = next((c for c in given if isinstance(c, Ansatz)), None)
        _check_conditions(self)

    @property
    def domain(self) -> AbstractDomain:
        """The domain of the problem."""
        return self.problem.domain

    def terms(self) -> "dict[str, Residual]":
        """The residual of the equations and of each condition, checked."""
        found = {EQUATIONS: Residual(self, None)}
        return found | {name: Residual(self, name) for name in self.conditions}

    def jets(
        self, embedding: Embedded, network: Any, point: Array, indices: frozenset[Index]
    ) -> dict[str, Jet]:
        """The derivatives of every field at one point."""
        names, coordinates = self.problem.fields, self.domain.coordinates
        wanted = downward_closure(indices)
        network, _ = opened(network, self.problem.unknowns)
        jets = coordinate_jets(point, len(coordinates))
        inputs = propagate(embedding, jets, wanted)
        outputs = propagate(network, [inputs], wanted)
        _check_outputs(outputs, names)
        each = [{i: part[k] for i, part in outputs.items()} for k in range(len(names))]
        if self.ansatz is not None:
            fn = _listed(self.ansatz.fn, names)
            each = propagate(fn, [*jets, *each], wanted)
        return dict(zip(names, each, strict=True))


class Residual(eqx.Module):
    """The residual of the equations (`name` none) or of a condition, at one point; or
    an `expression` that is written as equations are."""

    formulation: Formulation
    name: str | None
    expression: Callable[..., dict[str, Any]] | None
    indices: frozenset[Index]
    labels: tuple[str, ...]

    def __init__(
        self,
        formulation: Formulation,
        name: str | None,
        expression: Callable[..., dict[str, Any]] | None = None,
    ):
        self.formulation, self.name = formulation, name
        self.expression = expression
        self.indices, self.labels = _asked(self)

    def __call__(
        self, embedding: Embedded, network: Any, row: tuple[Array, Array]
    ) -> Float[Array, " eqs"]:
        """One number for each equation; `row` is a point and a condition's numbers."""
        point, numbers = row
        dtype = point.dtype
        jets = self.formulation.jets(embedding, network, point, self.indices)
        zero = jnp.zeros((), dtype)
        lookup = lambda jet: lambda index: jet.get(index, zero)
        lookups = {n: lookup(j) for n, j in jets.items()}
        _, unknowns = opened(network, self.formulation.problem.unknowns)
        found = self.evaluate(lookups, point, numbers, unknowns)
        return jnp.stack([part.astype(dtype) for part in found.values()])

    def evaluate(
        self,
        lookups: dict[str, Callable[[Index], Any]],
        point: Array,
        numbers: Array,
        unknowns: Values,
    ) -> dict[str, Array]:
        """The residual by name, given how to look up derivatives of each field."""
        problem = self.formulation.problem
        names = problem.domain.coordinates
        fields = {n: Field(n, names, lookup) for n, lookup in lookups.items()}
        values = [point[k] for k in range(len(names))]
        if self.name is None:
            fn = problem.equations if self.expression is None else self.expression
            found = fn(*fields.values(), *values, *unknowns.values())
            return _checked_equations(found)
        condition = self.formulation.conditions[self.name]
        place = dict(zip(names, values, strict=True))
        return {self.name: condition.residual(fields, place, numbers)}

    def sample(self, num_points: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Points where it should vanish, and the condition's numbers at each."""
        domain = self.formulation.domain
        if self.name is None:
            return domain.sample(num_points, seed=seed), np.zeros((num_points, 0))
        condition = self.formulation.conditions[self.name]
        return condition.sample(domain, num_points, seed=seed)

    @property
    def num_available(self) -> int | None:
        """How many points there are to choose from, if not endlessly many."""
        domain = self.formulation.domain
        if self.name is None:
            return domain.num_available
        return self.formulation.conditions[self.name].num_available(domain)


def _asked(residual: Residual) -> tuple[frozenset[Index], tuple[str, ...]]:
    """Which derivatives a residual asks for, and the names of its parts."""
    coordinates = residual.formulation.domain.coordinates
    asked = {(0,) * len(coordinates)}
    labels: list[str] = []
    dtype = jnp.zeros(()).dtype

    def run(point, numbers):
        def lookup(index):
            asked.add(index)
            return jnp.ones((), dtype)

        problem = residual.formulation.problem
        lookups = dict.fromkeys(problem.fields, lookup)
        unknowns = {n: jnp.ones((), dtype) for n in problem.unknowns}
        found = residual.evaluate(lookups, point, numbers, unknowns)
        labels.extend(found)
        return found

    rows = residual.sample(1, seed=0)
    jax.eval_shape(run, *(jax.ShapeDtypeStruct(r.shape[1:], dtype) for r in rows))
    return frozenset(asked), tuple(labels)


def _checked_equations(found: Any) -> dict[str, Array]:
    """The residuals as numbers, or an error that names the equation."""
    if not isinstance(found, dict) or not found:
        kind = "an empty one" if isinstance(found, dict) else type(found).__name__
        raise InputError(
            "`equations` must return a dictionary of residuals by name, such as "
            f'{{"momentum": ...}}, got {kind}.'
        )
    checked = {}
    for name, value in found.items():
        value = jnp.asarray(value)
        if value.shape != ():
            raise InputError(
                f"The equation `{name}` must be one number at a point, got shape "
                f"{value.shape}."
            )
        if not jnp.issubdtype(value.dtype, jnp.floating):
            raise InputError(
                f"The equation `{name}` must be a real number, got {value.dtype}."
            )
        checked[name] = value
    return checked


def _check_problem(problem: Problem) -> None:
    """The problem is of the right kind, and its names fit together."""
    if not isinstance(problem, Problem):
        raise InputError(f"`problem` must be an `Problem`, got {problem!r}.")
    kind = type(problem).__name__
    domain, fields = getattr(problem, "domain", None), problem.fields
    if not isinstance(domain, AbstractDomain):
        raise InputError(
            f"`{kind}.domain` must be a domain such as `Box`, got {domain!r}."
        )
    is_listed = isinstance(fields, tuple | list) and len(fields) > 0
    if not is_listed or not all(isinstance(name, str) for name in fields):
        raise InputError(
            f'`{kind}.fields` must be names such as ("u", "v"), got {fields!r}.'
        )
    if len(set(fields)) < len(fields):
        raise InputError(f"`{kind}.fields` names a field twice: {fields!r}.")
    _check_names(kind, fields, domain.coordinates)
    _check_unknowns(problem)
    expected = [*fields, *domain.coordinates, *problem.unknowns]
    given = list(inspect.signature(problem.equations).parameters)
    if given != expected and not any(
        p.kind is inspect.Parameter.VAR_POSITIONAL
        for p in inspect.signature(problem.equations).parameters.values()
    ):
        more = ", then the unknowns," if problem.unknowns else ""
        raise InputError(
            f"`{kind}.equations` takes ({', '.join(given)}), but the fields and "
            f"coordinates{more} of the problem are ({', '.join(expected)}), in this "
            "order."
        )


def _check_names(
    kind: str, fields: Sequence[str], coordinates: tuple[str, ...]
) -> None:
    """Names that Python knows as such, which mean one thing in equations and files."""
    for name in (*fields, *coordinates):
        if not name.isidentifier() or name in TAKEN:
            raise InputError(
                f"`{kind}`: a field or coordinate cannot be called {name!r}; choose "
                'another name, such as "u".'
            )
    for name in fields:
        if name in coordinates:
            raise InputError(
                f"`{kind}.fields`: `{name}` is also a coordinate; choose another name."
            )


def _check_unknowns(problem: Problem) -> None:
    """Unknowns are of the right kind, with names of their own."""
    kind, unknowns = type(problem).__name__, problem.unknowns
    is_dict = isinstance(unknowns, dict)
    if not is_dict or not all(isinstance(one, Unknown) for one in unknowns.values()):
        raise InputError(
            f'`{kind}.unknowns` must be a dictionary such as {{"viscosity": '
            f"Unknown(0.1)}}, got {unknowns!r}."
        )
    for name in unknowns:
        if name in (*problem.fields, *problem.domain.coordinates):
            raise InputError(
                f"`{kind}.unknowns`: `{name}` is also a field or a coordinate; choose "
                "another name."
            )


def _check_conditions(formulation: Formulation) -> None:
    problem, domain = formulation.problem, formulation.domain
    for name, condition in formulation.conditions.items():
        condition.check(domain)
        is_open = condition.of is None and condition.is_of_one_field
        if is_open and len(problem.fields) > 1:
            raise InputError(
                f"The condition `{name}` must say which field it is of, one of "
                f"{', '.join(problem.fields)}: write `of=...`."
            )
        if condition.of is not None and condition.of not in problem.fields:
            raise InputError(
                f"The condition `{name}` is of `{condition.of}`, but the fields are "
                f"{', '.join(problem.fields)}."
            )
    seen = {"Periodic": formulation.periods, "FourierFeatures": formulation.waves}
    for kind, given in seen.items():
        for coordinate in given:
            if coordinate not in domain.coordinates:
                raise InputError(
                    f"`{kind}({coordinate!r})`: the coordinates of the domain are "
                    f"{', '.join(domain.coordinates)}."
                )
    if formulation.ansatz is not None:
        expected = *domain.coordinates, *problem.fields
        check_order(formulation.ansatz.fn, expected, "`Ansatz`")
        number = jax.ShapeDtypeStruct((), jnp.zeros(()).dtype)
        fn = _listed(formulation.ansatz.fn, problem.fields)
        jax.eval_shape(fn, *[number] * len(expected))


def _check_once(given: Sequence[Any]) -> None:
    """An ansatz, or what the network sees of a coordinate, is given once."""
    if sum(isinstance(condition, Ansatz) for condition in given) > 1:
        raise InputError("`conditions` holds more than one `Ansatz`: join them in one.")
    seen: dict[str, str] = {}
    for condition in given:
        if isinstance(condition, Periodic | FourierFeatures):
            name = f"{type(condition).__name__}({condition.on!r})"
            if seen.get(condition.on) == name:
                raise InputError(f"`conditions` holds `{name}` twice.")
            if condition.on in seen:
                raise InputError(
                    f"`conditions` holds `{seen[condition.on]}` and `{name}`: "
                    "`Periodic` has `modes` of its own."
                )
            seen[condition.on] = name


def _check_outputs(outputs: Jet, names: tuple[str, ...]) -> None:
    """The network gives one number for each field."""
    shape = value_of(outputs).shape
    if shape != (len(names),):
        raise InputError(
            f"The network must return one number for each of {', '.join(names)}, shape "
            f"({len(names)},), got shape {shape}."
        )


def _named(conditions: list[AbstractCondition]) -> dict[str, AbstractCondition]:
    """Conditions by name; a name met again gets a number."""
    found: dict[str, AbstractCondition] = {}
    for condition in conditions:
        label = condition.penalty.name or condition.label()
        name, count = label, 1
        while name in found or name == EQUATIONS:
            count += 1
            name = f"{label} {count}"
        found[name] = condition
    return found


def _listed(fn: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., list[Any]]:
    """The ansatz as a function that returns a list with one value for each field."""

    def listed(*arguments):
        try:
            found = fn(*arguments)
        except TypeError as error:
            if "positional argument" not in str(error):
                raise
            raise InputError(
                f"`Ansatz` is called with {len(arguments)} arguments, the coordinates "
                f"and an output of the network for each field: {error}."
            ) from error
        found = list(found) if isinstance(found, tuple | list) else [found]
        shapes = [jnp.shape(value) for value in found]
        if len(found) != len(names) or any(shapes):
            raise InputError(
                f"`Ansatz` must return one number for each of {', '.join(names)}, got "
                f"shapes {shapes}."
            )
        if any(jnp.iscomplexobj(value) for value in found):
            raise InputError(
                f"`Ansatz` must return a real number for each of {', '.join(names)}, "
                "got complex ones."
            )
        return [jnp.asarray(value).astype(arguments[0].dtype) for value in found]

    return listed
