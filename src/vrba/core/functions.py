"""What tells a function from others of its name, the same in every process."""

import dataclasses
import functools
import hashlib
import inspect
import json
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np


def name_of(value: Any) -> str:
    """Where it is defined, or where its class is; of a module its name."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, np.dtype):
        return str(value)
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return f"{getattr(value, '__module__', '')}.{name}"


def details_of(value: Any, describe_fn: Callable[[Any], Any]) -> dict[str, Any]:
    """What its name does not say: arguments, settings, or a fingerprint of the code of
    a function that cannot be imported by its name."""
    if isinstance(value, complex):
        return {"value": str(value)}
    if isinstance(value, functools.partial):
        arguments = {"arguments": describe_fn(value.args)}
        arguments["keywords"] = describe_fn(value.keywords)
        return {"of": describe_fn(value.func), **arguments}
    if isinstance(value, types.MethodType):
        return {"of": describe_fn(value.__func__), "self": describe_fn(value.__self__)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {"settings": {name: describe_fn(getattr(value, name)) for name in names}}
    is_plain = lambda one: isinstance(one, types.FunctionType)
    function = inspect.unwrap(value, stop=is_plain) if callable(value) else value
    if not is_plain(function) or _is_importable(value):
        return {}
    return {"code": _digest(_parts(function, describe_fn))}


def code_of_class(kind: type, describe_fn: Callable[[Any], Any]) -> dict[str, str]:
    """A fingerprint of the methods and values that a class defines."""
    found = {}
    for name in sorted(vars(kind)):
        if name.startswith(("__", "_abc_")):
            continue
        value = getattr(kind, name)
        value = value.fget if isinstance(value, property) else value
        if isinstance(value, types.FunctionType):
            found[name] = _parts(value, describe_fn)
        else:
            found[name] = describe_fn(value)
    return _digest(found)


def _digest(parts: Any) -> dict[str, str]:
    """With the version of Python: another compiles the same to something else."""
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": version, "digest": digest}


def _parts(
    function: types.FunctionType, describe_fn: Callable[[Any], Any]
) -> list[Any]:
    """What it does, its defaults, and what it closes over."""
    defaults = (function.__defaults__, function.__kwdefaults__)
    cells = [_content(cell) for cell in function.__closure__ or ()]
    return [_compiled(function.__code__), describe_fn(defaults), describe_fn(cells)]


def _compiled(code: types.CodeType) -> list[Any]:
    constants = [
        _compiled(one) if isinstance(one, types.CodeType) else _shown(one)
        for one in code.co_consts
    ]
    return [code.co_code.hex(), code.co_names, constants]


def _shown(constant: Any) -> str:
    """As text; the order within a set is another in each process."""
    is_set = isinstance(constant, frozenset)
    return str(sorted(map(repr, constant))) if is_set else repr(constant)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # not filled yet


def _is_importable(value: Any) -> bool:
    """Whether its name leads to it, in a file."""
    name = getattr(value, "__module__", None) or "__main__"
    found = None if name == "__main__" else sys.modules.get(name)
    for part in getattr(value, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is value
