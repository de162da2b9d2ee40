"""What a run folder says of the program that made it."""

import inspect
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
    """Versions, device and commit, read from the running program."""
    return {
        "vrba": version("vrba"),
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
        "commit": _commit(),
    }


def _commit() -> str | None:
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "rev-parse", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return found.stdout.strip() or None
