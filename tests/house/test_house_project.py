"""House rules of the project files: pins, checks, and what a release holds."""

import re
import subprocess
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


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
    extras = PROJECT["optional-dependencies"].values()
    needs = PROJECT["dependencies"] + [name for extra in extras for name in extra]
    assert pin_complaints((ROOT / "constraints.txt").read_text(), needs) == []


def test_pin_rule_catches_each_breach():
    needs = ["jax>=0.7,<0.8", "rich", "scipy[all]>=1"]
    complaints = pin_complaints("jax==0.9\nnumpy>=2\nscipy==1.1\n", needs)
    kinds = [complaint.split(":")[0] for complaint in complaints]
    assert kinds == ["not a pin", "out of range", "not pinned"]


def test_automatic_checks_run_both_commands():
    script = (ROOT / ".ci" / "run").read_text()
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    for command in ("make test", "make test-all"):
        assert re.search(rf"^{command}$", script, flags=re.MULTILINE)
        assert f"run: {command}\n" in workflow
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_citation_has_the_version_of_the_package():
    text = (ROOT / "CITATION.cff").read_text()
    assert f'version: "{PROJECT["version"]}"' in text


def test_no_address_of_a_registry_and_no_path_of_a_machine():
    found = subprocess.run(
        ["git", "grep", "-nIE", "https?://", "--", "constraints.txt", "Makefile"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == ""
