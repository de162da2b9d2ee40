"""The house rules that a linter cannot see.

Each rule is a small function that returns complaints; it is run on the project, which
must give none, and on something deliberately bad, which must give some.
"""

import ast
import importlib
import importlib.util
import inspect
import json
import re
import tomllib
from pathlib import Path

import equinox as eqx
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rooms import classes, concrete, is_abstract

import vrba
from benchmarks import ablation, results, sensitivity, shelf, study_page
from benchmarks.peers import page as peers_page
from benchmarks.peers.results import read_results

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
PAGES = [page for page in [*PAGES, *sorted(ROOT.glob("docs/*.md"))] if page.exists()]
MODULES = classes("vrba", eqx.Module)
VAGUE = {"utils", "util", "misc", "helpers", "helper", "common"}


def relative(path):
    return str(path.relative_to(ROOT))


def load_writer():
    path = ROOT / "docs" / "write_reference.py"
    spec = importlib.util.spec_from_file_location("write_reference", path)
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    return writer


WRITER = load_writer()


# Classes are abstract or final.


def class_complaints(cls, package):
    """What keeps `cls` from being abstract or final."""
    complaints = []
    is_named_abstract = cls.__name__.lstrip("_").startswith("Abstract")
    if is_named_abstract and not is_abstract(cls):
        complaints.append(f"{cls.__name__} is named abstract but can be built")
    if is_abstract(cls) and not is_named_abstract:
        complaints.append(f"{cls.__name__} cannot be built but is not named Abstract")
    for base in cls.__mro__[1:]:
        if base.__module__.split(".")[0] != package:
            continue
        if not is_abstract(base):
            complaints.append(f"{cls.__name__} extends the final {base.__name__}")
        for name in sorted(vars(cls).keys() & vars(base).keys()):
            if is_finished_method(vars(base)[name], name):
                complaints.append(f"{cls.__name__} overrides {base.__name__}.{name}")
    return complaints


def is_finished_method(value, name):
    """Whether a base has already said what this method does."""
    is_method = callable(value) or isinstance(value, property | classmethod)
    is_made_by_python = name.startswith("__") and name != "__call__"
    is_left_open = getattr(value, "__isabstractmethod__", False)
    return is_method and not is_made_by_python and not is_left_open


@pytest.mark.parametrize("cls", MODULES, ids=lambda cls: cls.__name__)
def test_class_is_abstract_or_final(cls):
    assert class_complaints(cls, "vrba") == []


@pytest.mark.parametrize(
    "cls", [c for c in MODULES if is_abstract(c)], ids=lambda cls: cls.__name__
)
def test_abstract_class_cannot_be_built(cls):
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


def test_rooms_are_found_by_looking():
    found = concrete("vrba.adapt", vrba.AbstractPotential)
    assert {vrba.Custom, vrba.Exponential} <= set(found)
    assert vrba.AbstractPotential not in found
    assert not {cls for cls in found if is_abstract(cls)}
    assert len(concrete("vrba", eqx.Module)) > len(found)


# Exports.


def is_for_users(cls):
    """A public class of a public module or of a room's interface."""
    file = cls.__module__.split(".")[-1]
    is_public_file = file == "_base" or not file.startswith("_")
    is_interface = cls.__name__.startswith("Abstract")
    return not cls.__name__.startswith("_") and (is_public_file or is_interface)


def missing_exports(room, defined):
    """Classes for users that the room does not hand out under their own name."""
    names = WRITER.exports(room)
    wanted = [cls.__name__ for cls in defined if is_for_users(cls)]
    return [name for name in wanted if name not in names]


@pytest.mark.parametrize(
    "room", [vrba.adapt, vrba.optim, vrba.core], ids=lambda r: r.__name__
)
def test_room_exports_every_class_for_users(room):
    missing = missing_exports(room, classes(room.__name__))
    assert missing == [], f"add {missing} to {room.__file__}"


def test_export_rule_catches_a_forgotten_class():
    assert missing_exports(vrba.core, [vrba.Cosh]) == ["Cosh"]


def test_package_reexports_adapt():
    top = WRITER.exports(vrba)
    missing = [name for name in WRITER.exports(vrba.adapt) if name not in top]
    assert missing == [], f"add {missing} to {vrba.__file__}"
    for name in top:
        assert hasattr(vrba, name)


# Source files.


def source_complaints(text, name="file.py"):
    """What the text of a source file breaks."""
    complaints = [f"{name} is named after nothing"] * (Path(name).stem in VAGUE)
    num_lines = len(text.splitlines())
    complaints += [f"{name} has {num_lines} lines"] * (num_lines > 400)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            complaints += [f"{node.name} has {length} lines"] * (length > 60)
        elif isinstance(node, ast.Assert):
            complaints.append(f"assert in line {node.lineno}")
        elif isinstance(node, ast.ExceptHandler) and node.type is None:
            complaints.append(f"bare except in line {node.lineno}")
    return complaints


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_source_file_keeps_the_rules(path):
    assert source_complaints(path.read_text(), path.name) == []


@pytest.mark.parametrize(
    ("text", "name", "complaint"),
    [
        ("x = 1\n", "utils.py", "named after nothing"),
        ("x = 1\n" * 401, "file.py", "401 lines"),
        ("def long():\n" + "    x = 1\n" * 60, "file.py", "long has 61 lines"),
        ("assert True\n", "file.py", "assert in line 1"),
        ("try:\n    x = 1\nexcept:\n    x = 2\n", "file.py", "bare except in line 3"),
    ],
)
def test_source_rule_catches_each_breach(text, name, complaint):
    assert [found for found in source_complaints(text, name) if complaint in found]
    assert source_complaints("x = 1\n" * 400) == []


# Documents.


def undocumented(names, page):
    """Exports without a heading, or for a module without a mention."""
    headings = set(re.findall(r"^### `([\w.]+)`$", page, flags=re.MULTILINE))
    words = set(re.findall(r"\w+", page))
    is_module = lambda name: inspect.ismodule(getattr(vrba, name, None))
    return [n for n in names if n not in (words if is_module(n) else headings)]


def test_reference_covers_every_export():
    page = (ROOT / "docs" / "reference.md").read_text()
    assert undocumented(WRITER.exports(vrba), page) == [], "run `make docs`"
    parts = [f"optim.{name}" for name in WRITER.exports(vrba.optim)]
    assert undocumented(parts, page) == [], "run `make docs`"
    assert undocumented(["Cosh", "Nonesuch"], page) == ["Nonesuch"]


def test_reference_is_up_to_date():
    page = (ROOT / "docs" / "reference.md").read_text()
    assert page == WRITER.reference(), "docs/reference.md is old: run `make docs`"
    assert " at 0x" not in page


def broken_links(text, folder):
    """Relative links and images whose file does not exist."""
    targets = re.findall(r"\]\(([^)\s]+)[^)]*\)", text)
    targets += re.findall(r"(?:src|href)=\"([^\"]+)\"", text)
    files = [t.split("#")[0] for t in targets if not re.match(r"[a-z]+:", t)]
    return [name for name in files if name and not (folder / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page):
    assert broken_links(page.read_text(), page.parent) == []


def test_link_rule_catches_a_dead_link():
    text = "[a](README.md) [b](gone.md#x) [c](https://example.org) [d](#here)"
    assert broken_links(text, ROOT) == ["gone.md"]


def make_targets(text):
    """The targets that are called by `make x` in code, inline or fenced."""
    code = re.findall(r"```.*?```|`[^`\n]+`", text, flags=re.DOTALL)
    return {
        name for part in code for name in re.findall(r"(?<!data )\bmake ([a-z]+)", part)
    }


def test_pages_of_results_are_up_to_date():
    """They are written from what is kept in `results`, not by hand."""
    found = {results.PAGE: results.page(), results.README: results.readme()}
    for path, text in found.items():
        assert path.read_text() == text, "run `python -m benchmarks.results`"
    text = shelf.page(shelf.read_results())
    assert shelf.PAGE.read_text() == text, "run `python -m benchmarks.shelf --table`"
    text = peers_page.page(read_results())
    assert peers_page.PAGE.read_text() == text, "run `python -m benchmarks.peers`"
    studies = (ablation.STUDY, sensitivity.STUDY)
    for study in [one for one in studies if one.file.exists()]:
        text = study_page.page(study, json.loads(study.file.read_text()))
        again = f"run `python -m benchmarks.{study.name} --table`"
        assert study.page.read_text() == text, again


def missing_tests(text):
    """Tests that are named as `test_file.py::test_name` and do not exist."""
    named = re.findall(r"(test_\w+\.py)::(test_\w+)", text)
    files = {f: next((ROOT / "tests").rglob(f), Path(f)) for f, _ in named}
    found = {file: p.read_text() if p.exists() else "" for file, p in files.items()}
    return [
        f"{file}::{name}" for file, name in named if f"def {name}(" not in found[file]
    ]


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_named_tests_exist(page):
    assert missing_tests(page.read_text()) == []


def test_test_rule_catches_a_missing_test():
    here = "test_house_rules.py::test_test_rule_catches_a_missing_test"
    assert missing_tests(f"`{here}`") == []
    gone = ["test_house_rules.py::test_no_such", "test_gone.py::test_it"]
    assert missing_tests(f"`{gone[0]}`, `{gone[1]}`") == gone


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_make_commands_exist(page):
    makefile = (ROOT / "Makefile").read_text()
    known = set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE))
    assert "test" in known
    assert make_targets(page.read_text()) - known == set()


def test_make_commands_are_found():
    text = "We make way.\n```\ncd x\nmake demo\n```\nThen `make test` and `make X=1`."
    assert make_targets(text) == {"demo", "test"}


# Installation.


def pin_complaints(constraints, requirements):
    """Lines that pin nothing, and requirements left free or pinned out of range."""
    lines = constraints.splitlines()
    pin = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!+]+)")
    matches = [pin.fullmatch(line) for line in lines]
    pairs = zip(lines, matches, strict=True)
    complaints = [f"not a pin: {line}" for line, match in pairs if not match]
    pins = {canonicalize_name(m[1]): m[2] for m in matches if m}
    for need in map(Requirement, requirements):
        version = pins.get(canonicalize_name(need.name))
        if version is None:
            complaints.append(f"not pinned: {need.name}")
        elif not need.specifier.contains(version):
            complaints.append(f"out of range: {need} with {version}")
    return complaints


def test_constraints_pin_every_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    requirements = project["dependencies"] + [
        name for extra in extras for name in extra
    ]
    assert pin_complaints((ROOT / "constraints.txt").read_text(), requirements) == []


def test_pin_rule_catches_each_breach():
    needs = ["jax>=0.7,<0.8", "rich", "scipy[all]>=1"]
    complaints = pin_complaints("jax==0.9\nnumpy>=2\nscipy==1.1\n", needs)
    assert [c.split(":")[0] for c in complaints] == [
        "not a pin",
        "out of range",
        "not pinned",
    ]


def test_automatic_check_runs_the_tests():
    script = (ROOT / ".ci" / "run").read_text()
    assert re.search(r"^make test$", script, flags=re.MULTILINE)
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


ROOMS = ("adapt", "data", "diagnose", "domains", "models", "optim", "presets")
ROOMS = (*ROOMS, "problems", "report", "train")
DOTTED = re.compile(rf"\b((?:vrba|{'|'.join(ROOMS)})(?:\.[A-Za-z_]\w*)+)\b(?!\.\w)")
FILES = re.compile(r"\.(py|md|toml|h5|png|nc|npz|json|html)$")


def unheard_names(text):
    """Dotted names in the code of a page that the package does not have."""
    code = re.findall(r"```python\n.*?```|`[^`\n]+`", text, re.DOTALL)
    found = {name for part in code for name in DOTTED.findall(part)}
    return sorted(n for n in found if not FILES.search(n) and not is_known(n))


def is_known(name):
    value = vrba
    for part in name.removeprefix("vrba.").split("."):
        if part in getattr(value, "__dataclass_fields__", {}):
            return True
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_pages_name_what_there_is(page):
    assert unheard_names(page.read_text()) == []


def test_a_name_that_does_not_exist_is_found():
    text = (
        "`vrba.solve(x)`, `train.operator_arms`, `optim.Newton()` and `vrba.core.nope`"
    )
    assert unheard_names(text) == ["optim.Newton", "vrba.core.nope"]
