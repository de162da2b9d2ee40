"""What the diagnostics say of a record: the one place where they are asked."""

from collections.abc import Mapping, Sequence
from typing import Any

try:
    from ..diagnose import (  # pyright: ignore[reportMissingImports]
        find_stages,
        find_warnings,
    )
except ImportError:  # the room is not there yet
    find_stages = find_warnings = lambda *_: []

Entries = Sequence[Mapping[str, Any]]


def stages_of(record: Entries) -> list[Any]:
    """The stages of learning, with `name`, `first_step` and `last_step`."""
    return list(find_stages(list(record)))


def warnings_of(record: Entries, dtype: str) -> list[Any]:
    """What looks wrong, with `name`, `step`, `text` and `advice`."""
    return list(find_warnings(list(record), dtype))
