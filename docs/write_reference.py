"""Write docs/reference.md from the exports and docstrings of the package: `make docs`.

Every public name of every room has an entry with its signature, its whole docstring
and its public methods. An override without a docstring has that of its interface.
"""

import ast
import importlib
import inspect
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin

import vrba

PAGE = Path(__file__).parent / "reference.md"
SOURCE = Path(str(vrba.__file__)).parent
HEAD = """# Reference

Every public name of every room, with its settings and their defaults. The usual names
are at the top of the package (`vrba.solve`); all others are used from their room
(`vrba.optim.Adam`). `vrba.paper` serves `vrba reproduce`
([reproducing the paper](reproducing.md)). Written by `make docs` from the source:
change the docstrings, not this page.
"""
FIRST = ("adapt", "optim", "models", "domains", "problems", "data", "diagnose", "runs")
FIRST += ("pinn", "operators", "report", "compare")
LAST = ("fields", "core")
KINDS = {"Policies": 0, "Presets": 1, "Methods": 1, "Published": 1, "Functions": 3}
KINDS |= {"Other classes": 4, "States and infos": 5, "Constants": 6}  # others are 2
RECORDS = ("State", "Info", "System", "Triangle", "Trial", "Progress")


def exports(package: ModuleType) -> list[str]:
    """The names of a package's `from .x import X as X` lines, or of its stub's."""
    stub = Path(str(package.__file__)).with_suffix(".pyi")
    text = stub.read_text() if stub.exists() else inspect.getsource(package)
    imports = [
        node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)
    ]
    return [alias.name for node in imports for alias in node.names if alias.asname]


def rooms() -> dict[str, ModuleType]:
    """Every documented room by its name, in the order of the page."""
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    found = folders - {"cli", "paper"}  # for the command line: no names for users
    middle = sorted(found.difference(FIRST, LAST))
    names = [name for name in (*FIRST, *middle, *LAST) if name in found]
    return {name: importlib.import_module(f"vrba.{name}") for name in names}


def documented(room: ModuleType) -> dict[str, dict[str, Any]]:
    """The exports of a room by kind and by the name that a reader calls."""
    found: dict[str, dict[str, Any]] = {}
    short = room.__name__.removeprefix("vrba.")
    for name in exports(room):
        value = getattr(room, name)
        if inspect.ismodule(value):
            prefix = name if getattr(vrba, name, None) is value else f"{short}.{name}"
            functions = {
                f"{prefix}.{key}": fn
                for key, fn in inspect.getmembers(value, inspect.isfunction)
                if fn.__module__ == value.__name__ and not key.startswith("_")
            }
            found.setdefault(name.capitalize(), {}).update(functions)
        else:
            title = name if getattr(vrba, name, None) is value else f"{short}.{name}"
            found.setdefault(kind_of(value), {})[title] = value
    lone = [k for k, v in found.items() if len(v) == 1 and k not in KINDS]
    for kind in lone:
        found.setdefault("Other classes", {}).update(found.pop(kind))
    order = sorted(found, key=lambda kind: (KINDS.get(kind, 2), kind))
    return {kind: dict(sorted(found[kind].items())) for kind in order}


def kind_of(value: Any) -> str:
    """The interface that a class implements, or what else an export is."""
    if not is_class(value):
        return "Functions" if is_function(value) else "Constants"
    bases = [base.__name__ for base in value.__mro__ if base.__module__[:4] == "vrba"]
    roots = [b.removeprefix("Abstract") for b in bases if is_interface(b)]
    if (roots or [value.__name__])[-1].endswith(RECORDS):
        return "States and infos"
    if not roots or roots[-1] == "Propagated":
        return "Other classes"
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plural(roots[-1]))
    return words.capitalize()


def is_class(value: Any) -> bool:
    """Whether an export is a class, and no alias of a type."""
    return isinstance(value, type) and get_origin(value) is None


def is_function(value: Any) -> bool:
    """Whether an export is a function, compiled or not."""
    return inspect.isfunction(inspect.unwrap(value))


def is_interface(name: str) -> bool:
    """Whether a class of this name is for others to subclass."""
    return name.startswith("Abstract") or name == "Problem"


def plural(word: str) -> str:
    """The plural of a class name."""
    stem, last = word[:-1], word[-1]
    if word.endswith("es"):
        return word
    return stem + {"y": "ies", "s": "ses", "h": "hes"}.get(last, last + "s")


def settings(node: ast.ClassDef) -> list[str]:
    """The arguments of a class that is built from its fields."""
    plain, keyword = [], []
    for field in (n for n in node.body if isinstance(n, ast.AnnAssign)):
        kind, default, is_keyword = ast.unparse(field.annotation), field.value, False
        if isinstance(default, ast.Call) and ast.unparse(default.func) == "eqx.field":
            options = {option.arg: option.value for option in default.keywords}
            default, is_keyword = options.get("default"), "kw_only" in options
        text = f"{ast.unparse(field.target)}: {kind}"
        text += f" = {ast.unparse(default)}" if default else ""
        if not kind.startswith("ClassVar"):
            (keyword if is_keyword else plain).append(text)
    return plain + ["*"] * bool(keyword) + keyword


def arguments(node: ast.FunctionDef, is_typed: bool) -> list[str]:
    """The arguments of a function as they are written."""
    args, equals = node.args, " = " if is_typed else "="

    def show(arg: ast.arg, default: ast.expr | None) -> str:
        text = ast.unparse(arg) if is_typed else arg.arg
        return text + (equals + ast.unparse(default) if default else "")

    without = [None] * (len(args.args) - len(args.defaults))
    plain = map(show, args.args, [*without, *args.defaults])
    plain = [text for text in plain if text not in ("self", "cls")]
    keyword = [*map(show, args.kwonlyargs, args.kw_defaults)]
    star = [f"*{show(args.vararg, None)}"] if args.vararg else ["*"] * bool(keyword)
    named = [f"**{show(args.kwarg, None)}"] if args.kwarg else []
    return plain + star + keyword + named


def call(name: str, args: list[str], returns: ast.expr | None = None) -> str:
    """A call on one line, or on one line for each argument."""
    end = f") -> {ast.unparse(returns)}" if returns else ")"
    text = f"{name}({', '.join(args)}{end}"
    if len(text) > 80:
        text = "\n".join([f"{name}(", *(f"    {arg}," for arg in args), end])
    return f"```python\n{text}\n```".replace("'", '"')


def docstring(value: Any) -> str:
    """The whole docstring, of a base if there is none here, and none of a dataclass."""
    own = inspect.getdoc(value) or ""
    return "" if own.startswith(f"{value.__name__}(") else own


def members(cls: type, node: ast.ClassDef) -> list[str]:
    """An item for each public method or value that the class defines."""
    found = []
    for value in (n.targets[0] for n in node.body if isinstance(n, ast.Assign)):
        name = ast.unparse(value)
        if not name.startswith("_") and not hasattr(cls.__mro__[1], name):
            found.append(f"- `{cls.__name__}.{name}`")
    for method in (n for n in node.body if isinstance(n, ast.FunctionDef)):
        if method.name.startswith("_") and method.name != "__call__":
            continue
        args = f"({', '.join(arguments(method, is_typed=False))})"
        is_property = "property" in map(ast.unparse, method.decorator_list)
        head = method.name + ("" if is_property else args)
        static = inspect.getattr_static(cls, method.name)
        about = inspect.getdoc(static) or inspect.getdoc(getattr(cls, method.name))
        if method.name == "__call__" and not ast.get_docstring(method):
            continue  # the docstring of the class says how to call it
        text = f"- `{head}`" + (f": {about}" if about else "")
        found.append(text.replace("\n", "\n  ").replace("\n  \n", "\n\n"))
    return found


def inherited(cls: type, node: ast.ClassDef) -> list[str]:
    """An item for each base of the package, with the methods it provides."""
    own = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
    found = []
    for base in cls.__mro__[1:]:
        if base.__module__.split(".")[0] == "vrba":
            methods = [n for n, v in vars(base).items() if is_public_method(n, v)]
            names = [f"`{n}`" for n in methods if n not in own]
            own |= set(methods)
            found += [f"- From `{base.__name__}`: {', '.join(names)}"] if names else []
    return found


def is_public_method(name: str, value: Any) -> bool:
    """Whether a class attribute is a public method or property."""
    kinds = (property, classmethod, staticmethod)
    return not name.startswith("_") and (
        inspect.isroutine(value) or isinstance(value, kinds)
    )


def constant(value: Any) -> str:
    """The value, or the keys of a dictionary."""
    if isinstance(value, dict):
        return f"A dictionary with the keys {', '.join(f'`{key}`' for key in value)}."
    return f"Its value is `{json.dumps(value) if isinstance(value, str) else value}`."


def entry(name: str, value: Any) -> str:
    """Heading, signature, docstring and members of one export."""
    parts = [f"### `{name}`"]
    if not is_class(value) and not is_function(value):
        return "\n\n".join([*parts, constant(value)]) + "\n"
    node = ast.parse(inspect.getsource(inspect.unwrap(value))).body[0]
    parts += filter(None, [docstring(value)])
    if isinstance(node, ast.FunctionDef):
        parts.insert(1, call(name, arguments(node, is_typed=True), node.returns))
    elif isinstance(node, ast.ClassDef):
        functions = [n for n in node.body if isinstance(n, ast.FunctionDef)]
        init = [arguments(n, True) for n in functions if n.name == "__init__"]
        has_fields = hasattr(value, "__dataclass_fields__") or hasattr(value, "_fields")
        if has_fields and not is_interface(value.__name__):
            parts.insert(1, call(name, init[0] if init else settings(node)))
        items = members(value, node) + inherited(value, node)
        parts += filter(None, ["\n".join(items)])
    return "\n\n".join(parts) + "\n"


def reference() -> str:
    """The whole page."""
    found = {name: documented(room) for name, room in rooms().items()}
    parts = [HEAD]
    for name, room in rooms().items():
        about = (inspect.getdoc(room) or "").splitlines()[0]
        parts.append(f"- [`vrba.{name}`](#vrba{name}): {about}")
    top = [n for n in exports(vrba) if n == "compare" or not (SOURCE / n).is_dir()]
    parts += [
        "",
        "**At the top of the package:** "
        + ", ".join(f"`{name}`" for name in top)
        + ".\n",
    ]
    for name, kinds in found.items():
        parts += [f"## `vrba.{name}`\n", f"{inspect.getdoc(rooms()[name])}\n"]
        for kind, values in kinds.items():
            names = ", ".join(f"`{title}`" for title in values)
            parts.append(f"- **{kind}**: {names}")
        parts.append("")
        for values in kinds.values():
            parts += [entry(title, value) for title, value in values.items()]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(reference())
