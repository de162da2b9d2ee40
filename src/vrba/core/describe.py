"""Settings as plain values for a JSON file, and back, without running its code."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .errors import InputError
from .functions import details_of, name_of


def kebab_case(name: str) -> str:
    """`AllenCahn` as it is typed: `allen-cahn`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z][a-z])|_", "-", name).lower()


def describe(value: Any) -> Any:
    """Modules as `{"class": name, setting: ...}`; numbers, strings, lists as they are.

    A function becomes `{"function": name}` with what else tells it from others, an
    array `{"array": fingerprint}`: enough to tell whether they are the same, not to
    make them.
    """
    return _described(value, ())


def _described(value: Any, within: tuple[Any, ...]) -> Any:
    """The same within values, of which a function may hold itself."""
    inner = lambda part: _described(part, (*within, value))
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return _array(value, inner)
    if isinstance(value, tuple | list):
        return [inner(part) for part in value]
    if isinstance(value, dict):
        return {str(key): inner(part) for key, part in value.items()}
    if isinstance(value, eqx.Module):
        fields = [field.name for field in dataclasses.fields(value)]
        found = {name: inner(getattr(value, name)) for name in fields}
        return {"class": type(value).__name__, **found}
    found = {"function": name_of(value)}
    if any(value is one for one in within):
        return found
    return found | details_of(value, inner)


def _array(value: Any, describe_fn: Callable[[Any], Any]) -> Any:
    """A number as such, several by their fingerprint, objects one by one."""
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.asarray(value)
    plain = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
    if array.ndim == 0 and array.dtype.kind in plain:
        return describe_fn(plain[array.dtype.kind](array))
    if array.dtype.kind == "O":
        return {"array": [describe_fn(part) for part in array.ravel().tolist()]}
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {"array": f"{array.dtype}{array.shape} {digest}"}


def is_same(before: Any, now: Any) -> bool:
    """Whether two descriptions tell the same, as far as the first tells it: what is
    said of an object may be older. Code that two versions of Python have compiled
    cannot be compared."""
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(is_same, before, now))
    if not isinstance(before, dict) or not isinstance(now, dict):
        return before == now or json.dumps(before) == json.dumps(now)  # NaN is itself
    if "python" in before and before["python"] != now.get("python"):
        return True
    is_object = not before.keys().isdisjoint({"class", "function"})
    if not is_object and before.keys() != now.keys():
        return False
    return all(
        name in now and is_same(part, now[name]) for name, part in before.items()
    )


def _defaults(fields: dict[str, Any]) -> dict[str, Any]:
    """The settings that need not be given: a file may be older than they are."""
    missing, found = dataclasses.MISSING, {}
    for name, field in fields.items():
        if field.default is not missing:
            found[name] = field.default
        elif field.default_factory is not missing:
            found[name] = field.default_factory()
    return found


def rebuild(description: Any, known: dict[str, type]) -> Any:
    """What `describe` described, from the classes that are `known` by name."""
    if isinstance(description, list):
        return tuple(rebuild(part, known) for part in description)
    if not isinstance(description, dict):
        return description
    for kind in {"function", "array"} & description.keys():
        raise InputError(
            f"The {kind} {description[kind]} cannot be read back from a file: give it "
            "again, with the recipe or the problem."
        )
    if "class" not in description:
        return {key: rebuild(part, known) for key, part in description.items()}
    settings = {key: rebuild(part, known) for key, part in description.items()}
    name = settings.pop("class")
    if name not in known:
        raise InputError(f"`{name}` is not known: the file is of another version.")
    made = object.__new__(known[name])
    fields = {field.name: field for field in dataclasses.fields(known[name])}
    whole = _defaults(fields) | settings
    if fields.keys() != whole.keys():
        raise InputError(
            f"`{name}` has the settings {sorted(fields)}, the file gives "
            f"{sorted(settings)}: it is of another version."
        )
    for key, part in whole.items():
        object.__setattr__(made, key, part)
    for base in type(made).__mro__:
        if "__check_init__" in vars(base):
            vars(base)["__check_init__"](made)
    return made
