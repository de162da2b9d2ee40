"""Names and fingerprints of functions and classes, equal in every process."""

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


def qualified_name(value: Any) -> str:
    """Return the module and name of a function, or those of an object's class."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, np.dtype):
        return str(value)
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return f"{getattr(value, '__module__', '')}.{name}"


def identifying_details(
    value: Any, describe_fn: Callable[[Any], Any]
) -> dict[str, Any]:
    """Return what distinguishes `value` from others of the same name.

    These are bound arguments, settings, or a fingerprint of the code if the function
    cannot be imported by its name.
    """
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
    return {"code": _digest(_function_content(function, describe_fn))}


def class_fingerprint(kind: type, describe_fn: Callable[[Any], Any]) -> dict[str, str]:
    """Return a fingerprint of the methods and values that a class defines."""
    content = {}
    for name in sorted(vars(kind)):
        if name.startswith(("__", "_abc_")):
            continue
        value = getattr(kind, name)
        value = value.fget if isinstance(value, property) else value
        if isinstance(value, types.FunctionType):
            content[name] = _function_content(value, describe_fn)
        else:
            content[name] = describe_fn(value)
    return _digest(content)


def _digest(content: Any) -> dict[str, str]:
    """Return a hash with the Python version, since bytecode differs by version."""
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": version, "digest": digest}


def _function_content(
    function: types.FunctionType, describe_fn: Callable[[Any], Any]
) -> list[Any]:
    """Return the bytecode, the defaults and the closure of a function."""
    defaults = (function.__defaults__, function.__kwdefaults__)
    cells = [_cell_content(cell) for cell in function.__closure__ or ()]
    code = _code_content(function.__code__)
    return [code, describe_fn(defaults), describe_fn(cells)]


def _code_content(code: types.CodeType) -> list[Any]:
    constants = [
        _code_content(one) if isinstance(one, types.CodeType) else _constant_text(one)
        for one in code.co_consts
    ]
    return [code.co_code.hex(), code.co_names, constants]


def _constant_text(constant: Any) -> str:
    """Return a text that is equal in every process; sets are sorted first."""
    is_set = isinstance(constant, frozenset)
    return str(sorted(map(repr, constant))) if is_set else repr(constant)


def _cell_content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # not assigned yet


def _is_importable(value: Any) -> bool:
    """Whether importing its qualified name gives this object."""
    name = getattr(value, "__module__", None) or "__main__"
    found = None if name == "__main__" else sys.modules.get(name)
    for part in getattr(value, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is value
