"""`vrba list`: what there is to choose from."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..compare import pick
from ._base import DONE, AbstractCommand
from .catalogue import Entry, catalogue
from .flags import Switch
from .outcome import as_json


@dataclasses.dataclass(frozen=True)
class List(AbstractCommand):
    """Show what there is: problems, policies, potentials, optimizers and more.

    A name is what a command takes; one that begins with `vrba.` is for Python.
    """

    kind: Annotated[
        Positional[str | None],
        arg(
            metavar="[KIND]",
            help=f"{', '.join(catalogue())}; all of them if not given",
            help_behavior_hint="",
        ),
    ] = None
    json: Switch = False
    """Print one JSON object."""

    @property
    def shows_traceback(self) -> bool:
        """There is nothing to look into."""
        return False

    def file(self) -> Path | None:
        """None is asked for."""
        return None

    def run(self) -> int:
        """Prints one line for each."""
        kinds = catalogue()
        if self.kind is not None:
            named = {kind: (kind, entries) for kind, entries in kinds.items()}
            kinds = dict([pick("list of", self.kind, named)])
        sys.stdout.write(_json(kinds) if self.json else _text(kinds))
        return DONE


def _json(kinds: dict[str, list[Entry]]) -> str:
    plain = {kind: [e._asdict() for e in entries] for kind, entries in kinds.items()}
    return as_json(plain) + "\n"


def _text(kinds: dict[str, list[Entry]]) -> str:
    """Names in a column; a heading for each kind where there are several."""
    parts = []
    for kind, entries in kinds.items():
        names = [", ".join(entry.names) for entry in entries]
        width = max(map(len, names))
        pairs = zip(names, entries, strict=True)
        lines = [f"{name:{width}}  {entry.about}" for name, entry in pairs]
        heading = [f"{kind}:"] if len(kinds) > 1 else []
        parts.append("\n".join([*heading, *lines]) + "\n")
    return "\n".join(parts)
