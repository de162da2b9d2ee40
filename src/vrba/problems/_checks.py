"""Checks of a problem before training."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ..core import InputError
from ..domains import AbstractDomain
from ._base import Problem
from .conditions import (
    AbstractCondition,
    AbstractInterfaceCondition,
    Ansatz,
    FourierFeatures,
    Interface,
    Periodic,
    Singular,
)
from .unknowns import Unknown

RESERVED = ("fields", "coordinates", "residuals", "file", "allow_pickle")  # in files


def check_problem(problem: Problem) -> None:
    """Raise unless `problem` is a `Problem` with valid, consistent names."""
    if not isinstance(problem, Problem):
        raise InputError(
            f"`problem` must be a `Problem` such as `Burgers()`, got {problem!r}."
        )
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
    """Raise unless names are identifiers, distinct, and not used in run folders."""
    for name in (*fields, *coordinates):
        if not name.isidentifier() or name in RESERVED:
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
    """Raise unless unknowns are `Unknown`s with names of their own."""
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


def check_listed(listed: Any, domain: AbstractDomain) -> None:
    """Raise unless `Problem.conditions` returned a valid list."""
    if not isinstance(listed, list | tuple):
        raise InputError(
            f"`conditions` must return a list, got {type(listed).__name__}."
        )
    inside = FourierFeatures | Singular | Interface | AbstractInterfaceCondition
    known = AbstractCondition | Periodic | Ansatz | inside
    for condition in listed:
        if not isinstance(condition, known):
            raise InputError(
                f"`conditions` must hold conditions such as `Initial` or "
                f"`Dirichlet`, got {condition!r}."
            )
    if all(isinstance(condition, inside) for condition in listed):
        raise InputError(
            "`conditions` has no initial or boundary condition, so the solution is not "
            'unique. Add a condition such as `Dirichlet(0.0, on="x")`.'
        )
    if sum(isinstance(condition, Ansatz) for condition in listed) > 1:
        raise InputError("`conditions` holds more than one `Ansatz`: join them in one.")
    inputs = [c for c in listed if isinstance(c, Periodic | FourierFeatures)]
    _check_inputs(inputs, domain)
    for condition in listed:
        if isinstance(condition, Singular):
            _check_singular(condition, domain.coordinates)


def _check_singular(singular: Singular, coordinates: tuple[str, ...]) -> None:
    """Raise unless a singular function is one of two coordinates of the domain."""
    names = coordinates if singular.on is None else singular.on
    is_known = set(names) <= set(coordinates)
    if len(names) != 2 or len(set(names)) != 2 or not is_known:
        raise InputError(
            f"`Singular(on={singular.on!r})` must be a function of two coordinates; "
            f"those of the domain are {', '.join(coordinates)}. Name two of them by "
            "`on`."
        )


def _check_inputs(
    inputs: Sequence[Periodic | FourierFeatures], domain: AbstractDomain
) -> None:
    """Raise if two conditions set the network's inputs for one coordinate."""
    seen: dict[str, str] = {}
    for condition in inputs:
        name = f"{type(condition).__name__}({condition.on!r})"
        if condition.on not in domain.coordinates:
            raise InputError(
                f"`{name}`: the coordinates of the domain are "
                f"{', '.join(domain.coordinates)}."
            )
        if seen.get(condition.on) == name:
            raise InputError(f"`conditions` holds `{name}` twice: remove one.")
        if condition.on in seen:
            raise InputError(
                f"`conditions` holds `{seen[condition.on]}` and `{name}`. Use "
                "`Periodic` alone: it has its own `modes`."
            )
        seen[condition.on] = name


def check_conditions(
    conditions: Mapping[str, AbstractCondition], problem: Problem
) -> None:
    """Raise unless the conditions, by name, fit the domain and fields of a problem."""
    fields = ", ".join(problem.fields)
    for name, condition in conditions.items():
        condition.check(problem.domain)
        needs_field = condition.field is None and condition.is_of_one_field
        if needs_field and len(problem.fields) > 1:
            raise InputError(
                f"The condition `{name}` must name its field, one of {fields}: write "
                f"`field={problem.fields[0]!r}`."
            )
        if condition.field is not None and condition.field not in problem.fields:
            raise InputError(
                f"The condition `{name}` has `field={condition.field!r}`, but the "
                f"fields are {fields}."
            )
