"""What a run folder says of the program that made it."""

import inspect
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

from .. import adapt, models, optim, problems
from . import balance, batches, misfits, operator_recipe, recipe


def known_classes() -> dict[str, type]:
    """The classes that a run folder may name."""
    rooms = (adapt, models, optim, problems)
    here = (balance, batches, misfits, operator_recipe, recipe)
    return {
        name: value
        for room in (*rooms, *here)
        for name, value in vars(room).items()
        if inspect.isclass(value) and value.__module__.startswith("vrba.")
    }


def program() -> dict[str, Any]:
    """Versions, device and commit of the running program."""
    return {
        "vrba": version("vrba"),
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
        **read_commit(Path(__file__).parents[1]),
    }


def read_commit(package: Path) -> dict[str, Any]:
    """The commit of the package, and `has_changes` if its files differ from it. What is
    installed may lie in the repository of somebody else, who does not track it."""
    if not _git(package, "ls-files", "__init__.py"):
        return {"commit": None}
    commit = _git(package, "rev-parse", "--verify", "HEAD")
    changes = _git(package, "status", "--porcelain", "--", ".")
    return {"commit": commit} | ({"has_changes": True} if changes else {})


def _git(folder: Path, *words: str) -> str | None:
    """What git says of the repository that the folder is in, without waiting for who
    else is at work there; nothing if it fails or is not installed."""
    command = ["git", "--no-optional-locks", "-C", str(folder), *words]
    own = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, check=False, env=own
        )
    except OSError:
        return None
    return found.stdout.strip() if found.returncode == 0 else None
