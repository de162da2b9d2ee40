"""House rules of the documents: names, links, commands and generated pages."""

import importlib
import importlib.util
import inspect
import json
import re
from pathlib import Path

import vrba
from benchmarks import (
    ablation,
    one_shot_page,
    polish_page,
    results_page,
    robust_page,
    sensitivity,
    shelf,
    study_page,
)
from benchmarks.peers import page as peers_page
from benchmarks.peers.results import read_results
from tests.rooms import exports

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
PAGES = [page for page in [*PAGES, *sorted(ROOT.glob("docs/*.md"))] if page.exists()]
ROOMS = sorted(path.parent.name for path in (ROOT / "src/vrba").glob("*/__init__.py"))


def complaints_of(rule, pages=PAGES):
    """What a rule says of each page that breaks it."""
    found = {page.name: rule(page) for page in pages}
    return {name: complaints for name, complaints in found.items() if complaints}


# The reference.


def load_writer():
    path = ROOT / "docs" / "write_reference.py"
    spec = importlib.util.spec_from_file_location("write_reference", path)
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    return writer


def test_reference_is_up_to_date():
    page = (ROOT / "docs" / "reference.md").read_text()
    assert page == load_writer().reference(), "docs/reference.md is old: `make docs`"
    assert " at 0x" not in page


def undocumented(names, page):
    """Exports without a heading."""
    headings = set(re.findall(r"^#+ `(?:\w+\.)*(\w+)", page, flags=re.MULTILINE))
    return [name for name in names if name not in headings]


def test_reference_covers_every_export():
    page = (ROOT / "docs" / "reference.md").read_text()
    for room in ("adapt", "optim", "models", "domains", "runs", "pinn", "operators"):
        values = importlib.import_module(f"vrba.{room}")
        names = exports(f"vrba.{room}")
        names = [n for n in names if not inspect.ismodule(getattr(values, n))]
        assert undocumented(names, page) == [], f"vrba.{room}: run `make docs`"
    assert undocumented(["Cosh", "Nonesuch"], page) == ["Nonesuch"]


# Links, tests and commands.


def broken_links(text, folder):
    """Relative links and images whose file does not exist."""
    prose = re.sub(r"```.*?```|`[^`\n]+`", "", text, flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)[^)]*\)", prose)
    targets += re.findall(r"(?:src|href)=\"([^\"]+)\"", text)
    files = [t.split("#")[0] for t in targets if not re.match(r"[a-z]+:", t)]
    return [name for name in files if name and not (folder / name).exists()]


def test_links_lead_somewhere():
    rule = lambda page: broken_links(page.read_text(), page.parent)
    assert complaints_of(rule) == {}
    text = "[a](README.md) [b](gone.md#x) [c](https://example.org) [d](#here)"
    assert broken_links(text, ROOT) == ["gone.md"]


def missing_tests(text):
    """Tests that are named as `test_file.py::test_name` and do not exist."""
    named = re.findall(r"(test_\w+\.py)::(test_\w+)", text)
    files = {path.name: path.read_text() for path in ROOT.glob("tests/**/test_*.py")}
    return [
        f"{file}::{name}"
        for file, name in named
        if f"def {name}(" not in files.get(file, "")
    ]


def test_named_tests_exist():
    assert complaints_of(lambda page: missing_tests(page.read_text())) == {}
    here = "test_house_docs.py::test_named_tests_exist"
    gone = ["test_house_docs.py::test_no_such", "test_gone.py::test_it"]
    assert missing_tests(f"`{here}` `{gone[0]}`, `{gone[1]}`") == gone


def make_targets(text):
    """The targets that are called by `make x` in code, inline or fenced."""
    code = re.findall(r"```.*?```|`[^`\n]+`", text, flags=re.DOTALL)
    pattern = r"(?<!data )\bmake ([a-z-]+)"
    return {name for part in code for name in re.findall(pattern, part)}


def test_make_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    known = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    assert {"demo", "test", "test-all", "bench", "docs"} <= known
    assert complaints_of(lambda page: make_targets(page.read_text()) - known) == {}
    text = "We make way.\n```\ncd x\nmake demo\n```\nThen `make test` and `make X=1`."
    assert make_targets(text) == {"demo", "test"}


def missing_steps(text):
    """Steps of a walk, `file: function, ...`, that do not exist."""
    steps = re.findall(r"(?m)^\d+\. `([\w/]+\.py): ([\w, ]+)`", text)
    found = []
    for file, names in steps:
        path = ROOT / "src" / "vrba" / file
        source = path.read_text() if path.exists() else ""
        for name in names.split(", "):
            if not re.search(rf"\b(def|class) {name}\b", source):
                found.append(f"{file}: {name}")
    return found


def test_walks_through_the_code_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert missing_steps(text) == []
    gone = "1. `adapt/_tilt.py: update, gone`\n2. `adapt/none.py: update`"
    assert missing_steps(gone) == ["adapt/_tilt.py: gone", "adapt/none.py: update"]
    walks = text.split("## Three walks")[1].split("\n## ")[0]
    parts = re.split(r"(?m)^`[^\n]*`, (\d+) files:$", walks)[1:]
    counts = [int(count) for count in parts[::2]]
    assert counts == [len(re.findall(r"(?m)^\d+\. ", one)) for one in parts[1::2]]
    assert len(counts) == 3 and counts[0] <= 5 and max(counts) <= 25


# Generated pages.


def test_pages_of_results_are_up_to_date():
    """They are written from the files in `results`, not by hand."""
    found = {
        results_page.PAGE: results_page.page(),
        results_page.README: results_page.readme(),
    }
    for path, text in found.items():
        assert path.read_text() == text, "run `python -m benchmarks.results`"
    text = shelf.page(shelf.read_results())
    assert shelf.PAGE.read_text() == text, "run `python -m benchmarks.shelf --table`"
    text = peers_page.page(read_results())
    assert peers_page.PAGE.read_text() == text, "run `python -m benchmarks.peers`"
    again = "run `python -m benchmarks.polish --table`"
    assert polish_page.PAGE.read_text() == polish_page.page(), again
    again = "run `python -m benchmarks.one_shot --table`"
    assert one_shot_page.PAGE.read_text() == one_shot_page.page(), again
    if robust_page.RESULTS.exists():
        again = "run `python -m benchmarks.robust --table`"
        assert robust_page.PAGE.read_text() == robust_page.page(), again
    studies = (ablation.STUDY, sensitivity.STUDY)
    for study in [one for one in studies if one.file.exists()]:
        text = study_page.page(study, json.loads(study.file.read_text()))
        again = f"run `python -m benchmarks.{study.name} --table`"
        assert study.page.read_text() == text, again


# Names.

DOTTED = re.compile(
    rf"\b((?:vrba|presets|{'|'.join(ROOMS)})(?:\.[A-Za-z_]\w*)+)\b(?!\.\w)"
)
FILES = re.compile(r"\.(py|md|toml|h5|png|nc|npz|json|html)$")
OLD_NAMES = ("decisions.md", "results.md")  # they may name what a run was made with


def unknown_names(text):
    """Dotted names in the code of a page that the package does not have."""
    code = re.findall(r"```python\n.*?```|`[^`\n]+`", text, re.DOTALL)
    found = {name for part in code for name in DOTTED.findall(part)}
    return sorted(n for n in found if not FILES.search(n) and not is_known(n))


def is_known(name):
    value = vrba.adapt if name.startswith("presets.") else vrba
    for part in name.removeprefix("vrba.").split("."):
        if part in getattr(value, "__dataclass_fields__", {}):
            return True
        found = getattr(value, part, None)
        if found is None and not hasattr(value, part):
            return False
        if part == "compare" and inspect.isfunction(found):
            found = importlib.import_module("vrba.compare")
        value = found
    return True


def test_pages_name_what_exists():
    pages = [page for page in PAGES if page.name not in OLD_NAMES]
    assert complaints_of(lambda page: unknown_names(page.read_text()), pages) == {}
    text = "`vrba.solve(x)`, `pinn.solve`, `optim.Newton()` and `vrba.core.nope`"
    assert unknown_names(text) == ["optim.Newton", "vrba.core.nope"]
