"""Writes docs/reference.md from what the package exports: `make docs`."""

import ast
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import vrba
import vrba.report

PAGE = Path(__file__).parent / "reference.md"
HEAD = """# Reference

Every name that `vrba` exports, with its settings and their defaults. Written by
`make docs` from the source: change the docstrings, not this page.
"""


def exports(package: ModuleType) -> list[str]:
    """The names of a package's `from .x import X as X` lines."""
    tree = ast.parse(inspect.getsource(package))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return [alias.name for node in imports for alias in node.names if alias.asname]


def documented() -> dict[str, list[Any]]:
    """Exported classes and functions by kind: policies first, core last."""
    above = (vrba.problems, vrba.domains, vrba.models, vrba.train, vrba.fields)
    above += (vrba.train.published,)
    rooms = (vrba, *above, vrba.optim, vrba.diagnose, vrba.report, vrba.core)
    values = [getattr(room, name) for room in rooms for name in exports(room)]
    values = [v for v in values if getattr(v, "__module__", "").startswith("vrba.")]
    functions = filter(inspect.isfunction, vars(vrba.presets).values())
    values += [fn for fn in functions if kind_of(fn) == "Presets"]
    found: dict[str, list[Any]] = {}
    for value in dict.fromkeys(values):
        found.setdefault(kind_of(value), []).append(value)
    first = ("Problems", "Conditions", "Domains", "Architectures")
    first += ("OperatorArchitectures", "Kernels", "Models", "Train")
    rank = {kind: place - 20 for place, kind in enumerate(first)}
    rank |= {"Policies": -2, "Presets": -1, "Driver": 1, "Optimizers": 2}
    rank |= {"Fields": 4, "Report": 5, "Callbacks": 6, "Core": 7}

    def place(kind: str) -> tuple[int, str]:
        is_optim = room_of(found[kind][0]) == "optim"
        return rank.get(kind, 3 if is_optim else 0), kind

    kinds = sorted(found, key=place)
    return {kind: sorted(found[kind], key=lambda v: v.__name__) for kind in kinds}


def kind_of(value: Any) -> str:
    """The interface that a class fulfils, or else the module it lives in."""
    bases = [base.__name__ for base in getattr(value, "__mro__", ())]
    roots = [name[8:] for name in bases if name.startswith("Abstract")]
    if room_of(value) == "optim":
        return kind_in_optim(value, roots)
    if "Propagated" in roots:
        return room_of(value).capitalize()
    if roots:
        return plural(roots[-1])
    if value.__name__.endswith("State"):
        return "States"
    room, *_, file = public_module(value).split(".")[1:]
    return (file if room == "adapt" else room).capitalize()


def kind_in_optim(value: Any, roots: list[str]) -> str:
    """What the room of optimizers calls it: its interface, or the file it lives in."""
    records = ("State", "Info", "System", "Triangle", "Trial", "Progress")
    kind = roots[-1] if roots else value.__name__
    if kind.endswith(records):
        return "States and infos"
    if roots:
        return plural(kind)
    return "Updates" if value.__module__.endswith(".updates") else "Driver"


def plural(word: str) -> str:
    """Several of them."""
    stem, last = word[:-1], word[-1]
    return stem + {"y": "ies", "s": "ses", "h": "hes"}.get(last, last + "s")


def room_of(value: Any) -> str:
    """The room that a value lives in."""
    return value.__module__.split(".")[1]


def public_module(value: Any) -> str:
    """The module of `value` up to its first private part."""
    return value.__module__.split("._")[0]


def name_of(value: Any) -> str:
    """How a reader who imported `vrba` calls it."""
    if getattr(vrba, value.__name__, None) is value:
        return value.__name__
    is_adapt = room_of(value) == "adapt"
    home = kind_of(value).lower() if is_adapt else room_of(value)
    if getattr(vrba.train.published, value.__name__, None) is value:
        home = "train.published"
    return f"{home}.{value.__name__}"


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
    return plain + ["*"] * bool(keyword) + keyword


def call(name: str, args: list[str], returns: ast.expr | None = None) -> str:
    """A call on one line, or on one line for each argument."""
    end = f") -> {ast.unparse(returns)}" if returns else ")"
    text = f"{name}({', '.join(args)}{end}"
    if len(text) > 80:
        text = "\n".join([f"{name}(", *(f"    {arg}," for arg in args), end])
    return f"```python\n{text}\n```".replace("'", '"')


def members(cls: type, node: ast.ClassDef) -> list[str]:
    """One line for each public value or method that no base announces."""
    values = [n.targets[0] for n in node.body if isinstance(n, ast.Assign)]
    found = [f"- `{cls.__name__}.{ast.unparse(value)}`" for value in values]
    known = {
        n for b in cls.__mro__[1:] for n in (*vars(b), *inspect.get_annotations(b))
    }
    for method in (n for n in node.body if isinstance(n, ast.FunctionDef)):
        if not method.name.startswith("_") and method.name not in known:
            about = (ast.get_docstring(method) or "").splitlines()[0]
            args = f"({', '.join(arguments(method, is_typed=False))})"
            is_property = "property" in map(ast.unparse, method.decorator_list)
            found.append(f"- `{method.name}{'' if is_property else args}`: {about}")
    return found


def entry(value: Any) -> str:
    """Heading, signature, docstring and members of one export."""
    node, name = ast.parse(inspect.getsource(value)).body[0], name_of(value)
    parts = [f"### `{name}`", inspect.cleandoc(value.__doc__)]
    if isinstance(node, ast.FunctionDef):
        parts.insert(1, call(name, arguments(node, is_typed=True), node.returns))
    elif isinstance(node, ast.ClassDef):
        functions = [n for n in node.body if isinstance(n, ast.FunctionDef)]
        init = [arguments(n, True) for n in functions if n.name == "__init__"]
        if hasattr(value, "__dataclass_fields__") and "Abstract" not in name:
            parts.insert(1, call(name, init[0] if init else settings(node)))
        parts += filter(None, ["\n".join(members(value, node))])
    return "\n\n".join(parts) + "\n"


def reference() -> str:
    """The whole page."""
    names = [name for name in exports(vrba) if inspect.ismodule(getattr(vrba, name))]
    rooms = [f"- `vrba.{n}`: {inspect.getdoc(getattr(vrba, n))}\n" for n in names]
    parts = [HEAD, "".join(rooms)]
    for kind, values in documented().items():
        home = sys.modules[min(map(public_module, values), key=len)]
        is_home = home.__name__.endswith(kind.lower())
        about = [f"{inspect.getdoc(home)}\n"] if is_home else []
        parts += [f"## {kind}\n", *about, *map(entry, values)]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(reference())
