"""`vrba list`: everything the package exports, by kind, in one line each."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Annotated, Any, NamedTuple

import equinox as eqx
from typing_extensions import override
from tyro.conf import Positional, arg

import vrba

from .. import adapt, domains, models, optim
from ..compare import (
    classes_in,
    known_makers,
    known_models,
    known_optimizers,
    known_policies,
    known_potentials,
    known_problems,
    known_recipes,
    pick,
)
from ..problems import conditions
from ._base import DONE, AbstractCommand
from .flags import Switch
from .output import as_json, print_result

_Known = Mapping[str, Callable[..., Any]]


class ListEntry(NamedTuple):
    """All names of a thing, whether a command takes them, and its description."""

    names: tuple[str, ...]
    is_typed: bool
    description: str


def catalogue() -> dict[str, list[ListEntry]]:
    """All exports by kind; what no command takes has its Python name."""
    kinds: dict[str, tuple[_Known, ModuleType, type | None]] = {
        "problems": (known_problems(), vrba.problems, None),
        "policies": (known_policies(), adapt, adapt.AbstractPolicy),
        "potentials": (known_potentials(), adapt, adapt.AbstractPotential),
        "optimizers": (known_optimizers(), optim, optim.AbstractOptimizer),
        "recipes": (known_recipes(), vrba.pinn, None),
        "models": (known_models(), models, models.AbstractArchitecture),
        "data": (known_makers(), vrba.data, None),
        "domains": ({}, domains, domains.AbstractDomain),
        "conditions": ({}, conditions, eqx.Module),
    }
    return {
        kind: _named(known) + ([] if base is None else _in_python(room, base, known))
        for kind, (known, room, base) in kinds.items()
    }


def _named(known: _Known) -> list[ListEntry]:
    """What commands take; several names of one thing share an entry."""
    names: dict[int, list[str]] = {}
    for name, make in known.items():
        names.setdefault(id(make), []).append(name)
    things = {id(make): make for make in known.values()}
    whole = lambda make: make.args[0] if isinstance(make, partial) else make
    found = [(tuple(names[k]), whole(make)) for k, make in things.items()]
    return sorted(ListEntry(each, True, first_sentence(thing)) for each, thing in found)


def _in_python(room: ModuleType, base: type, known: _Known) -> list[ListEntry]:
    """What no command takes: it needs arguments, or there is no flag for it."""
    entries = []
    for kind in classes_in(room, base):
        is_at_top = getattr(vrba, kind.__name__, None) is kind
        path = f"{'vrba' if is_at_top else room.__name__}.{kind.__name__}"
        if kind not in known.values():
            entries.append(ListEntry((path,), False, first_sentence(kind)))
    return sorted(entries)


def first_sentence(thing: Any) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\S\.)(?<!\bal\.)\s", paragraph, maxsplit=1)[0]


@dataclasses.dataclass(frozen=True)
class List(AbstractCommand):
    """List problems, policies, potentials, optimizers and more.

    Commands take these names; a name that starts with `vrba.` is for Python only.
    """

    kind: Annotated[
        Positional[str | None],
        arg(
            metavar="[KIND]",
            help=f"{', '.join(catalogue())} (default: all)",
            help_behavior_hint="",
        ),
    ] = None
    json: Switch = False
    """Print one JSON object."""

    @override
    def run(self) -> int:
        kinds = catalogue()
        if self.kind is not None:
            named = {kind: (kind, entries) for kind, entries in kinds.items()}
            kinds = dict([pick("list of", self.kind, named)])
        print_result(_json(kinds) if self.json else _text(kinds))
        return DONE


def _json(kinds: dict[str, list[ListEntry]]) -> str:
    return as_json({k: [e._asdict() for e in entries] for k, entries in kinds.items()})


def _text(kinds: dict[str, list[ListEntry]]) -> str:
    """Names in a column, with a heading for each of several kinds."""
    parts = []
    for kind, entries in kinds.items():
        names = [", ".join(entry.names) for entry in entries]
        width = max(map(len, names))
        pairs = zip(names, entries, strict=True)
        lines = [f"{name:{width}}  {entry.description}" for name, entry in pairs]
        heading = [f"{kind}:"] if len(kinds) > 1 else []
        parts.append("\n".join([*heading, *lines]))
    return "\n\n".join(parts)
