"""What made a run: the problem, the program, and the classes a folder may name."""

import hashlib
import inspect
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import jax

from .. import adapt, models, optim, problems
from ..core import InputError, class_fingerprint, describe, is_same_description
from ..problems import Problem


def known_classes(*others: ModuleType) -> dict[str, type]:
    """The classes that a run folder may name: those of four rooms, and of `others`."""
    return {
        name: value
        for room in (adapt, models, optim, problems, *others)
        for name, value in vars(room).items()
        if inspect.isclass(value) and value.__module__.startswith("vrba.")
    }


def describe_problem(problem: Problem) -> dict[str, Any]:
    """The class, its settings, and a fingerprint of the file that defines it.

    A class typed into a notebook or an interpreter has a fingerprint of its code.
    """
    kind, typed = type(problem), {}
    try:
        source = Path(inspect.getfile(kind)).read_bytes()
    except (OSError, TypeError):
        source, typed = b"", {"code": class_fingerprint(kind, describe)}
    return {
        "name": kind.__name__,
        "is_shipped": kind.__module__.startswith("vrba.problems"),
        "settings": describe(problem),
        "source": hashlib.sha256(source).hexdigest(),
        **typed,
    }


def check_same_problem(
    manifest: dict[str, Any],
    problem: Problem,
    path: Any,
    keys: tuple[str, ...] = ("name", "settings", "source", "code"),
) -> None:
    """Raise if a run folder describes another problem."""
    there, here = manifest["problem"], describe_problem(problem)
    for key in (key for key in keys if key in there):
        if is_same_description(there[key], here.get(key)):
            continue
        is_readable = key not in ("source", "code")
        texts = f": {there[key]} there, {here[key]} here" if is_readable else ""
        raise InputError(
            f"`{path}` is a run of `{there['name']}` with another {key}{texts}. Give "
            "the same problem, or allow the change (`allow_change=True`, or "
            "`--allow-change`)."
        )


def describe_program() -> dict[str, Any]:
    """Versions, device and commit of the running program."""
    return {
        "vrba": version("vrba"),
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
        **read_commit(Path(__file__).parents[1]),
    }


def read_commit(package: Path) -> dict[str, Any]:
    """The commit of the package, and `has_changes` if its files differ from it.

    `None` if no repository tracks the package: it may be installed inside another one.
    """
    if not _git(package, "ls-files", "__init__.py"):
        return {"commit": None}
    commit = _git(package, "rev-parse", "--verify", "HEAD")
    changes = _git(package, "status", "--porcelain", "--", ".")
    return {"commit": commit} | ({"has_changes": True} if changes else {})


def _git(folder: Path, *words: str) -> str | None:
    """The output of git for the folder's repository; `None` if git fails.

    It takes no locks, so that it never waits for another git process.
    """
    command = ["git", "--no-optional-locks", "-C", str(folder), *words]
    own = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, check=False, env=own
        )
    except OSError:
        return None
    return found.stdout.strip() if found.returncode == 0 else None
