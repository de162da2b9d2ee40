"""Everything there is, by kind, with the first sentence of what it says of itself."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import equinox as eqx

import vrba

from .. import adapt, domains, models, optim
from ..compare import (
    classes_in,
    known_optimizers,
    known_policies,
    known_potentials,
    known_problems,
    known_recipes,
)
from ..problems import conditions
from .data import known_makers
from .operator_recipe import known_models


class Entry(NamedTuple):
    """All its names, whether a command takes them, and what it is."""

    names: tuple[str, ...]
    is_typed: bool
    about: str


def catalogue() -> dict[str, list[Entry]]:
    """All that the rooms export, by kind; what no command takes as in Python."""
    return {
        "problems": _typed(known_problems()),
        "policies": _typed(known_policies())
        + _others(adapt, adapt.AbstractPolicy, known_policies()),
        "potentials": _typed(known_potentials())
        + _others(adapt, adapt.AbstractPotential, known_potentials()),
        "optimizers": _typed(known_optimizers())
        + _others(optim, optim.AbstractOptimizer, known_optimizers()),
        "recipes": _typed(known_recipes()),
        "models": _typed(known_models())
        + _others(models, models.AbstractArchitecture, {}),
        "data": _typed(known_makers()),
        "domains": _others(domains, domains.AbstractDomain, {}),
        "conditions": _others(conditions, eqx.Module, {}),
    }


def first_sentence(thing: Any) -> str:
    """What its docstring says first, on one line."""
    paragraph = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\S\.)(?<!\bal\.)\s", paragraph, maxsplit=1)[0]


def _typed(known: Mapping[str, Callable[..., Any]]) -> list[Entry]:
    """What can be typed; several names of one thing share a line."""
    names: dict[int, list[str]] = {}
    things: dict[int, Any] = {}
    for name, make in known.items():
        names.setdefault(id(make), []).append(name)
        things[id(make)] = make.args[0] if isinstance(make, partial) else make
    entries = [
        Entry(tuple(names[key]), True, first_sentence(thing))
        for key, thing in things.items()
    ]
    return sorted(entries)


def _others(
    room: ModuleType, base: type, known: Mapping[str, Callable[..., Any]]
) -> list[Entry]:
    """What cannot: it needs arguments, or no flag is there for it."""
    kinds = [kind for kind in classes_in(room, base) if kind not in known.values()]
    return sorted(_in_python(room, kind) for kind in kinds)


def _in_python(room: ModuleType, kind: type) -> Entry:
    name = kind.__name__
    is_at_top = getattr(vrba, name, None) is kind
    path = f"vrba.{name}" if is_at_top else f"{room.__name__}.{name}"
    return Entry((path,), False, first_sentence(kind))
