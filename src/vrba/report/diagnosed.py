"""What the diagnostics say of a record: the one place where they are asked."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..diagnose import Finding, Stage, find_stages, find_warnings

Entries = Sequence[Mapping[str, Any]]


def stages_of(record: Entries) -> list[Stage]:
    """The stages of learning."""
    return list(find_stages(record))


def warnings_of(record: Entries) -> list[Finding]:
    """What looks wrong, and what to do about it."""
    return list(find_warnings(record))
