"""How a page tells which program has made a run."""

from collections.abc import Mapping
from typing import Any


def commit_of(program: Mapping[str, Any]) -> str:
    """Its commit, short, and whether files of the package had been changed since."""
    if not program["commit"]:
        return "no commit"
    return program["commit"][:10] + " with changes" * bool(program.get("has_changes"))
