"""Finds what a room defines by looking, so that a new file is tested unasked."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType


def modules(room: str) -> list[ModuleType]:
    """The room itself and every module below it."""
    package = importlib.import_module(room)
    below = pkgutil.walk_packages(package.__path__, room + ".")
    return [package, *(importlib.import_module(info.name) for info in below)]


def classes(room: str, base: type = object) -> list[type]:
    """Every subclass of `base` that a module of `room` defines, sorted by name."""
    found = {
        value
        for module in modules(room)
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, base)
        and value.__module__ == module.__name__
    }
    return sorted(found, key=lambda cls: (cls.__name__, cls.__module__))


def is_abstract(cls: type) -> bool:
    """Whether a method, or a field marked by equinox, is still to be given."""
    marks = ("__abstractmethods__", "__abstractvars__", "__abstractclassvars__")
    return any(getattr(cls, mark, None) for mark in marks)


def concrete(room: str, base: type) -> list[type]:
    """Every subclass of `base` in `room` that can be built."""
    return [cls for cls in classes(room, base) if not is_abstract(cls)]


def exports(room: str) -> list[str]:
    """The names that a room exports by `from .x import X as X`, also in a stub."""
    package = importlib.import_module(room)
    file = Path(inspect.getfile(package))
    stub = file.with_suffix(".pyi")
    text = (stub if stub.exists() else file).read_text()
    return re.findall(r"(?m)^from \.[\w.]* import (\w+) as \1$", text)
