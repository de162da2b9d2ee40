"""House rules of the code that a linter cannot see.

Each rule is a function that returns complaints. It runs over the project, which must
give none, and over a deliberate breach, which must give some.
"""

import abc
import ast
import inspect
import re
from pathlib import Path

import equinox as eqx
import pytest
from typing_extensions import override

import vrba
from tests.rooms import classes, concrete, exports, is_abstract, modules

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "vrba"
SOURCES = sorted(PACKAGE.rglob("*.py"))
OTHERS = [
    path
    for folder in ("tests", "benchmarks", "examples", "docs")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
MODULES = classes("vrba", eqx.Module)
VAGUE = {"utils", "util", "misc", "helpers", "helper", "common"}
FOR_USERS = {"Problem"}  # users subclass it: it is abstract without the name


def test_the_rules_see_the_project():
    assert {"adapt", "runs", "pinn", "operators", "compare", "cli"} <= set(ROOMS)
    assert len(SOURCES) > 100 and len(OTHERS) > 50 and len(MODULES) > 100


# Classes are abstract or final.


def class_complaints(cls, package):
    """What keeps `cls` from being abstract or final."""
    complaints = []
    name = cls.__name__.lstrip("_")
    is_named_abstract = name.startswith("Abstract") or name in FOR_USERS
    if is_named_abstract and not is_abstract(cls):
        complaints.append(f"{cls.__name__} is named abstract but can be built")
    if is_abstract(cls) and not is_named_abstract:
        complaints.append(f"{cls.__name__} cannot be built but is not named Abstract")
    for base in cls.__mro__[1:]:
        if base.__module__.split(".")[0] != package:
            continue
        if not is_abstract(base):
            complaints.append(f"{cls.__name__} extends the final {base.__name__}")
        for member in sorted(vars(cls).keys() & vars(base).keys()):
            if is_finished_method(vars(base)[member], member):
                complaints.append(f"{cls.__name__} overrides {base.__name__}.{member}")
    return complaints


def is_finished_method(value, name):
    """Whether a base class implements this method."""
    is_method = callable(value) or isinstance(value, property | classmethod)
    is_made_by_python = name.startswith("__") and name != "__call__"
    is_left_open = getattr(value, "__isabstractmethod__", False)
    return is_method and not is_made_by_python and not is_left_open


def test_classes_are_abstract_or_final():
    assert [one for cls in MODULES for one in class_complaints(cls, "vrba")] == []


def test_abstract_classes_cannot_be_built():
    for cls in [c for c in MODULES if is_abstract(c)]:
        with pytest.raises(TypeError, match="abstract"):
            cls()


def test_class_rule_catches_each_breach():
    class AbstractField(eqx.Module):
        size: eqx.AbstractVar[int]

        def double(self):
            return 2 * self.size

    class AbstractByNameOnly(eqx.Module):
        size: int = 1

    class Forgotten(AbstractField):
        pass

    class Final(AbstractField):
        size: int = 1

    class Child(Final):
        pass

    class Overrider(AbstractField):
        size: int = 1

        def double(self):
            return 3 * self.size

    def complain(cls):
        return class_complaints(cls, __name__.split(".")[0])

    assert complain(AbstractField) == [] and complain(Final) == []
    assert "can be built" in complain(AbstractByNameOnly)[0]
    assert "not named Abstract" in complain(Forgotten)[0]
    assert "extends the final Final" in complain(Child)[0]
    assert "overrides AbstractField.double" in complain(Overrider)[0]


# Exports.


def is_for_users(cls):
    """A public class of a public module or of a room's interface."""
    file = cls.__module__.split(".")[-1]
    is_public_file = file == "_base" or not file.startswith("_")
    is_interface = cls.__name__.startswith("Abstract")
    return not cls.__name__.startswith("_") and (is_public_file or is_interface)


def missing_exports(names, defined):
    """Classes for users that a room does not export."""
    wanted = [cls.__name__ for cls in defined if is_for_users(cls)]
    return [name for name in wanted if name not in names]


def test_rooms_export_every_class_for_users():
    for room in ("adapt", "core", "optim"):
        missing = missing_exports(exports(f"vrba.{room}"), classes(f"vrba.{room}"))
        assert missing == [], f"export {missing} from vrba.{room}"


def test_export_rule_catches_a_forgotten_class():
    assert missing_exports(["InputError"], [vrba.adapt.Cosh]) == ["Cosh"]


def test_the_top_of_the_package_is_small_and_complete():
    assert 40 <= len(vrba.__all__) - len(ROOMS) <= 52
    for name in vrba.__all__:
        assert getattr(vrba, name) is not None
    assert set(vrba.__all__) <= set(dir(vrba))


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(AttributeError, match="Did you mean `vrba.Weighting`?"):
        vrba.Weigthing  # noqa: B018
    with pytest.raises(AttributeError, match="Did you mean `vrba.adapt.Power`?"):
        vrba.Power  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute `xyzzy`.$"):
        vrba.xyzzy  # noqa: B018


def test_rooms_are_found_by_looking():
    found = concrete("vrba.adapt", vrba.adapt.AbstractPotential)
    assert {vrba.adapt.Custom, vrba.Exponential} <= set(found)
    assert vrba.adapt.AbstractPotential not in found
    assert len(concrete("vrba", eqx.Module)) > len(found)


# Overrides are marked, so that they inherit their docstrings.


def unmarked_overrides(cls):
    """Methods that implement an abstract method without `@override`."""
    found = []
    for name, value in vars(cls).items():
        is_abstract_there = any(
            getattr(vars(base).get(name), "__isabstractmethod__", False)
            for base in cls.__mro__[1:]
        )
        if is_abstract_there and not is_marked(value):
            found.append(f"{cls.__module__}.{cls.__name__}.{name}")
    return found


def is_marked(value):
    value = value.fget if isinstance(value, property) else value
    value = getattr(value, "__func__", getattr(value, "method", value))
    if not inspect.isfunction(value):
        return True  # a value or a field implements a property
    while not getattr(value, "__override__", False):
        if not hasattr(value, "__wrapped__"):
            return False
        value = value.__wrapped__
    return True


def test_overrides_are_marked():
    assert [one for cls in classes("vrba") for one in unmarked_overrides(cls)] == []


def test_override_rule_catches_a_missing_mark():
    class AbstractShape(eqx.Module):
        @abc.abstractmethod
        def size(self): ...

        @property
        @abc.abstractmethod
        def name(self): ...

    class Marked(AbstractShape):
        @override
        def size(self):
            return 1

        @property
        @override
        def name(self):
            return ""

    class Unmarked(AbstractShape):
        def size(self):
            return 1

        @property
        def name(self):
            return ""

    assert unmarked_overrides(Marked) == []
    assert [one.split(".")[-1] for one in unmarked_overrides(Unmarked)] == [
        "size",
        "name",
    ]


# Source files.


def source_complaints(text, name="file.py"):
    """Rules that the text of a source file breaks."""
    complaints = [f"{name} is named after nothing"] * (Path(name).stem in VAGUE)
    num_lines = len(text.splitlines())
    complaints += [f"{name} has {num_lines} lines"] * (num_lines > 400)
    tree = ast.parse(text)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    is_alike = Path(name).stem in functions
    complaints += [f"{name} is named like its function"] * is_alike
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            complaints += [f"{node.name} has {length} lines"] * (length > 60)
        elif isinstance(node, ast.Assert):
            complaints.append(f"assert in line {node.lineno}")
        elif isinstance(node, ast.ExceptHandler) and node.type is None:
            complaints.append(f"bare except in line {node.lineno}")
    return complaints


def test_source_files_keep_the_rules():
    complaints = {
        str(path.relative_to(PACKAGE)): found
        for path in SOURCES
        if (found := source_complaints(path.read_text(), path.name))
    }
    assert complaints == {}


def test_the_house_is_small():
    sizes = [len(path.read_text().splitlines()) for path in SOURCES]
    assert len(SOURCES) <= 300
    assert sorted(sizes)[len(sizes) // 2] <= 130 and max(sizes) <= 400


def test_source_rule_catches_each_breach():
    for text, name, complaint in (
        ("x = 1\n", "utils.py", "named after nothing"),
        ("x = 1\n" * 401, "file.py", "401 lines"),
        ("def long():\n" + "    x = 1\n" * 60, "file.py", "long has 61 lines"),
        ("def solve(): pass\n", "solve.py", "named like its function"),
        ("assert True\n", "file.py", "assert in line 1"),
        ("try:\n    x = 1\nexcept:\n    x = 2\n", "file.py", "bare except in line 3"),
    ):
        assert [one for one in source_complaints(text, name) if complaint in one]
    assert source_complaints("x = 1\n" * 400) == []


# No import across rooms deeper than the room.


def deep_imports(text, room=None, depth=0):
    """Imports of a module inside another room. `depth` is the number of packages
    around the file, `room` the room that it belongs to."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            if node.level > 0 and depth == 0:
                continue  # relative within tests or benchmarks
            inside = node.level and node.level < depth
            names = (node.module or "").split(".") if not inside else []
            if node.level == 0:
                names = names[1:] if names[0] == "vrba" else []
            if len(names) > 1 and names[0] != room and names[0] in ROOMS:
                found.append(".".join(names))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                is_deep = parts[0] == "vrba" and len(parts) > 2 and parts[1] != room
                if is_deep and parts[1] in ROOMS:
                    found.append(alias.name)
    return found


def test_imports_stop_at_the_room():
    complaints = {}
    for path in SOURCES:
        parts = path.relative_to(PACKAGE).parts
        room = parts[0] if len(parts) > 1 else None
        if room is not None and (
            found := deep_imports(path.read_text(), room, len(parts))
        ):
            complaints[str(path.relative_to(ROOT))] = found
    for path in OTHERS:
        # `vrba.cli` exports next to nothing, so that its help is fast
        room = "cli" if ROOT / "tests" in path.parents else None
        if found := deep_imports(path.read_text(), room):
            complaints[str(path.relative_to(ROOT))] = found
    assert complaints == {}


def test_import_rule_catches_each_breach():
    assert deep_imports("from ..optim.terms import X", "pinn", 2) == ["optim.terms"]
    assert deep_imports("from ...core.trees import X", "adapt", 3) == ["core.trees"]
    assert deep_imports("from vrba.optim.terms import X") == ["optim.terms"]
    assert deep_imports("import vrba.optim.terms") == ["vrba.optim.terms"]
    for good in ("from ..optim import X", "from .terms import X"):
        assert deep_imports(good, "pinn", 2) == []
    assert deep_imports("from vrba.optim import X\nimport vrba.optim") == []


# Words: some phrases must be decoded by a reader.

ODD = re.compile(
    r"\b(retelling|retold|told of|weighed|evenly drawn|even points|what comes of|"
    r"who tells|it is so that|of its own accord|exhibits?|misfits?|looked at was|"
    r"as asked|refuses)\b",
    re.IGNORECASE,
)


def odd_phrases(text):
    """Phrases that the house style replaces by plain terms."""
    return sorted({match.group().lower() for match in ODD.finditer(text)})


def test_sources_use_plain_words():
    found = {
        str(path.relative_to(PACKAGE)): odd
        for path in SOURCES
        if (odd := odd_phrases(path.read_text()))
    }
    assert found == {}


def test_word_rule_catches_an_odd_phrase():
    assert odd_phrases("Points are weighed by it, as asked.") == ["as asked", "weighed"]


def test_every_module_can_be_imported():
    assert len(modules("vrba")) > len(ROOMS)
