"""From the problem argument to a problem: a name, or a file, with parameters."""

import ast
import dataclasses
import importlib.util
import inspect
import re
import sys
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..compare import known_problems, missing_parts, pick
from ..core import InputError, kebab_case
from ..problems import Problem
from ._base import UsageError

_WORDS = {"true": True, "false": False, "none": None}
_PLAIN = {"float", "int", "bool", "str", "NoneType"}
_FILE = re.compile(r"(.+\.py)(?::(\w+))?")


def file_of(target: str | None) -> Path | None:
    """The file of `FILE.py` or `FILE.py:ClassName`, else nothing."""
    match = _FILE.fullmatch(target or "")
    return Path(match[1]) if match else None


def name_of(target: str) -> str:
    """A name for the run folder."""
    file = file_of(target)
    return kebab_case(target) if file is None else file.stem


def load_problem(target: str, settings: Sequence[str]) -> Problem:
    """The problem, with parameters such as `viscosity=0.001`."""
    match = _FILE.fullmatch(target)
    if match is None:
        hint = " For your own problem give its file, such as my_pde.py; to train an "
        hint += "operator on data use `vrba train`."
        kind = pick("problem", target, known_problems(), hint)
    else:
        kind = _class_in(Path(match[1]), match[2] or "")
    return kind(**parse_settings(kind, settings))


def _class_in(file: Path, wanted: str) -> type[Problem]:
    """The only problem that the file defines, or the one with the wanted name."""
    found = {
        name: value
        for name, value in vars(_imported(file)).items()
        if inspect.isclass(value)
        and issubclass(value, Problem)
        and value.__module__ == _module_name(file)
    }
    if wanted:
        found = {wanted: pick(f"problem in {file.name}", wanted, found)}
    missing = {name: missing_parts(kind) for name, kind in found.items()}
    complete = [name for name in found if not missing[name]]
    if len(complete) == 1:
        return found[complete[0]]
    if complete:
        raise InputError(
            f"the file defines {len(complete)} problems, {', '.join(complete)}: choose "
            f"one, as in {file}:{complete[0]}."
        )
    for name, parts in missing.items():
        lacking = " and ".join(f"`{part}`" for part in parts)
        raise InputError(f"the problem `{name}` lacks {lacking}.")
    raise InputError("the file defines no problem: write a subclass of `vrba.Problem`.")


def _module_name(file: Path) -> str:
    return f"file_{file.stem}"


def _imported(file: Path) -> Any:
    """The module of the file, which may import modules of its folder."""
    if not file.is_file():
        raise InputError(f"there is no such file in {Path.cwd()}.")
    path, name = file.resolve(), _module_name(file)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError("Python cannot read this file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # `inspect` looks for the source of a class there
    sys.path.append(str(path.parent))  # last, so that no file hides a package
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def parse_settings(kind: type, settings: Sequence[str]) -> dict[str, Any]:
    """`name=value` pairs as arguments of a class."""
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    found = {}
    for pair in settings:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"`--param {pair}` must be a name and a value, as in a=1.")
        field = pick(f"parameter of {kind.__name__}", name, fields)
        found[field.name] = _value(field, text)
    for field in fields.values():
        defaults = (field.default, field.default_factory)
        if field.name not in found and defaults == (dataclasses.MISSING,) * 2:
            raise UsageError(
                f"`{kind.__name__}` needs a value of `{field.name}`: give "
                f"`--param {field.name}=...`."
            )
    return found


def _value(field: dataclasses.Field, text: str) -> Any:
    """The value in the annotated type; if that is not a plain type, any literal."""
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        value = _WORDS.get(text.strip().casefold(), text)
    wanted, given = _type_names(field.type), type(value).__name__
    if given in wanted or not set(wanted) <= _PLAIN:
        return value
    if given == "int" and "float" in wanted:
        return float(value)
    if "str" in wanted:
        return text
    kind = " or ".join(name.replace("NoneType", "None") for name in wanted)
    raise UsageError(f"`--param {field.name}={text}` must be of type {kind}.")


def _type_names(annotation: Any) -> list[str]:
    """The names of the types in an annotation, which may be a string."""
    if isinstance(annotation, str):
        names = [part.strip() for part in annotation.split("|")]
        return ["NoneType" if name == "None" else name for name in names]
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    parts = typing.get_args(annotation) if is_union else (annotation,)
    return [getattr(part, "__name__", str(part)) for part in parts]
