"""Settings as JSON values, and objects rebuilt from them without stored code."""

import dataclasses
import hashlib
import inspect
import json
import re
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .errors import InputError
from .fingerprints import identifying_details, qualified_name


def kebab_case(name: str) -> str:
    """Convert a class name to its command-line form: `AllenCahn` to `allen-cahn`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z][a-z])|_", "-", name).lower()


def describe(value: Any) -> Any:
    """Convert settings to JSON values; `rebuild` is the inverse for modules.

    A module becomes `{"class": name, setting: ...}`. A function becomes `{"function":
    name, ...}` and an array `{"array": fingerprint}`: these can be compared, but not
    rebuilt. Numbers, strings, lists and dictionaries stay as they are.
    """
    return _describe(value, ())


def _describe(value: Any, outer: tuple[Any, ...]) -> Any:
    """Describe `value`, which is part of the `outer` values; stop at cycles."""
    inner = lambda part: _describe(part, (*outer, value))
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return _describe_array(value, inner)
    if isinstance(value, tuple | list):
        return [inner(part) for part in value]
    if isinstance(value, dict):
        return {str(key): inner(part) for key, part in value.items()}
    if isinstance(value, eqx.Module):
        names = [field.name for field in dataclasses.fields(value)]
        settings = {name: inner(getattr(value, name)) for name in names}
        return {"class": type(value).__name__, **settings}
    description = {"function": qualified_name(value)}
    if any(value is one for one in outer):
        return description
    return description | identifying_details(value, inner)


def _describe_array(value: Any, describe_fn: Callable[[Any], Any]) -> Any:
    """Describe a scalar by its value, an array by its fingerprint."""
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.asarray(value)
    scalars = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
    if array.ndim == 0 and array.dtype.kind in scalars:
        return describe_fn(scalars[array.dtype.kind](array))
    if array.dtype.kind == "O":
        return {"array": [describe_fn(part) for part in array.ravel().tolist()]}
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {"array": f"{array.dtype}{array.shape} {digest}"}


def is_same_description(before: Any, now: Any) -> bool:
    """Whether `now` agrees with everything that `before` contains.

    An older description may lack settings of an object; these are not compared. Code
    fingerprints of different Python versions are not compared either.
    """
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(is_same_description, before, now))
    if not isinstance(before, dict) or not isinstance(now, dict):
        return before == now or json.dumps(before) == json.dumps(now)  # NaN == NaN
    if "python" in before and before["python"] != now.get("python"):
        return True
    is_object = not before.keys().isdisjoint({"class", "function"})
    if not is_object and before.keys() != now.keys():
        return False
    return all(
        name in now and is_same_description(part, now[name])
        for name, part in before.items()
    )


def rebuild(description: Any, known: dict[str, type]) -> Any:
    """Build the objects that `describe` described; `known` maps names to classes.

    Each object is made by its constructor, so converters and checks run. Settings that
    an older file lacks take their defaults.
    """
    if isinstance(description, list):
        return tuple(rebuild(part, known) for part in description)
    if not isinstance(description, dict):
        return description
    for kind in {"function", "array"} & description.keys():
        raise InputError(
            f"The {kind} {description[kind]} cannot be rebuilt from a file. Pass the "
            "recipe or the problem that contains it."
        )
    settings = {key: rebuild(part, known) for key, part in description.items()}
    if "class" not in settings:
        return settings
    name = settings.pop("class")
    if name not in known:
        raise InputError(
            f"The file names the class `{name}`, which this version of vrba does not "
            "have. Read the file with the version that wrote it."
        )
    return _construct(known[name], settings)


def _construct(kind: type, settings: dict[str, Any]) -> Any:
    """Call the constructor so that the fields become `settings`.

    A parameter takes the field of its name. `*name` takes the field of its name and
    then every field without a parameter: `Sequence(*stages)` has `stages` and `last`.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    missing = [n for n, f in fields.items() if n not in settings and _is_required(f)]
    if missing or not settings.keys() <= fields.keys():
        raise InputError(
            f"`{kind.__name__}` has the settings {sorted(fields)}, the file gives "
            f"{sorted(settings)}. Read the file with the version of vrba that wrote it."
        )
    positional: list[Any] = []
    named: dict[str, Any] = {}
    parameters = inspect.signature(kind).parameters
    for name, parameter in parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            others = [part for n, part in settings.items() if n not in parameters]
            positional = [*settings.get(name, ()), *others]
        elif name in settings:
            named[name] = settings[name]
    made = kind(*positional, **named)
    kept = {name: getattr(made, name) for name in settings}
    if not is_same_description(describe(settings), describe(kept)):
        raise InputError(
            f"`{kind.__name__}` cannot be rebuilt from the settings {settings}: its "
            f"constructor changed them to {kept}. Pass it with the recipe or problem."
        )
    return made


def _is_required(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing
