"""What commands that train share: who tells of a run, and what to type again."""

import shlex
from pathlib import Path

from ..report import Panel, TensorBoard
from ..train import AbstractCallback, Lines, Several


def retold(words: tuple[str, ...]) -> str | None:
    """The command without what only concerns where its result went."""
    kept, rest = [], iter(words)
    for word in rest:
        if word == "--out":
            next(rest, None)
        elif word not in ("--json", "--debug") and not word.startswith("--out="):
            kept.append(word)
    return shlex.join(["vrba", *kept]) if kept else None


def teller(
    panel: Panel | None, run: Path, *, has_tensorboard: bool
) -> AbstractCallback:
    """A panel on a terminal, lines elsewhere, and TensorBoard if it is asked for."""
    first = panel or Lines(tells_result=False)
    if not has_tensorboard:
        return first
    return Several(first, TensorBoard(run / "tensorboard"))
