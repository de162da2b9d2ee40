"""From what was typed to a problem: a name, or a file with settings."""

import ast
import dataclasses
import importlib.util
import inspect
import re
import sys
import types
import typing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..compare import known_problems, pick
from ..core import InputError, kebab_case
from ..problems import Problem
from ._base import UsageError

_WORDS = {"true": True, "false": False, "none": None}
_PLAIN = {"float", "int", "bool", "str", "NoneType"}
_FILE = re.compile(r"(.+\.py)(?::(\w+))?")


def file_of(target: str | None) -> Path | None:
    """The file that is meant, if it is one: `FILE.py` or `FILE.py:ClassName`."""
    match = _FILE.fullmatch(target or "")
    return Path(match[1]) if match else None


def name_of(target: str) -> str:
    """A name for the folder of the run."""
    file = file_of(target)
    return kebab_case(target) if file is None else file.stem


def free_folder(wanted: Path) -> Path:
    """The folder, or the first that is free with a number after it; made at once, so
    that nobody else takes it."""
    path, number = wanted, 1
    wanted.parent.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            path.mkdir()
            return path
        except FileExistsError:
            number += 1
            path = wanted.with_name(f"{wanted.name}-{number}")


@contextmanager
def folder_for(given: Path | None, wanted: Path) -> Iterator[Path]:
    """The folder that is given, or a free one, which is dropped if nothing comes into
    it."""
    if given is not None:
        yield given
        return
    path = free_folder(wanted)
    try:
        yield path
    finally:
        with suppress(OSError):  # it is not empty
            path.rmdir()


def load_problem(target: str, settings: Sequence[str]) -> Problem:
    """The problem, with settings such as `viscosity=0.001`."""
    match = _FILE.fullmatch(target)
    if match is None:
        hint = " For one of your own give its file, such as my_pde.py; to train an "
        hint += "operator on data there is `vrba train`."
        kind = pick("problem", target, known_problems(), hint)
    else:
        kind = _class_in(Path(match[1]), match[2] or "")
    return kind(**parse_settings(kind, settings))


def _class_in(file: Path, wanted: str) -> type[Problem]:
    """The one problem that the file defines, or the one that is asked for."""
    found = {
        name: value
        for name, value in vars(_imported(file)).items()
        if inspect.isclass(value)
        and issubclass(value, Problem)
        and value.__module__ == _module_name(file)
    }
    if wanted:
        found = {wanted: pick(f"problem in {file.name}", wanted, found)}
    lacks = {name: _missing(kind) for name, kind in found.items()}
    whole = [name for name in found if not lacks[name]]
    if len(whole) == 1:
        return found[whole[0]]
    if whole:
        raise InputError(
            f"there are {len(whole)} problems, {', '.join(whole)}: say which one, "
            f"{file}:{whole[0]}."
        )
    for name, missing in lacks.items():
        raise InputError(f"the problem `{name}` lacks {' and '.join(missing)}.")
    raise InputError(
        "there is no problem here: write a class that extends `vrba.Problem`."
    )


def _missing(kind: type) -> list[str]:
    """What a problem has yet to define."""
    marks = ("__abstractclassvars__", "__abstractmethods__", "__abstractvars__")
    names = [name for mark in marks for name in sorted(getattr(kind, mark, ()))]
    return [f"`{name}`" for name in names]


def _module_name(file: Path) -> str:
    return f"file_{file.stem}"


def _imported(file: Path) -> Any:
    """The file, run like a script: it may import its neighbours."""
    if not file.is_file():
        raise InputError(f"there is no such file in {Path.cwd()}.")
    path, name = file.resolve(), _module_name(file)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError("this is no file that Python can read.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where `inspect` looks for the source of a class
    sys.path.append(str(path.parent))  # last: no file hides a package of its name
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def parse_settings(kind: type, settings: Sequence[str]) -> dict[str, Any]:
    """`name=value` pairs as the arguments of a class."""
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    found = {}
    for pair in settings:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"`--param {pair}` must be a name and a value, as in a=1.")
        field = pick(f"setting of {kind.__name__}", name, fields)
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
    """What the annotation asks for; without a plain one a literal, or else the text."""
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        value = _WORDS.get(text.strip().casefold(), text)
    wanted, given = _kinds(field.type), type(value).__name__
    if given in wanted or not set(wanted) <= _PLAIN:
        return value
    if given == "int" and "float" in wanted:
        return float(value)
    if "str" in wanted:
        return text
    kind = " or ".join(name.replace("NoneType", "None") for name in wanted)
    raise UsageError(f"`--param {field.name}={text}` must be of type {kind}.")


def _kinds(annotation: Any) -> list[str]:
    """The names of the types in an annotation, which may be written as text."""
    if isinstance(annotation, str):
        names = [part.strip() for part in annotation.split("|")]
        return ["NoneType" if name == "None" else name for name in names]
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    parts = typing.get_args(annotation) if is_union else (annotation,)
    return [getattr(part, "__name__", str(part)) for part in parts]
