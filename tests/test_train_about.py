"""What a run says of the program that made it."""

import shutil
import subprocess

import pytest

from vrba.train.about import program, read_commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder, *words):
    name = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
    command = ["git", "-C", str(folder), *name, *words]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return found.stdout.strip()


@pytest.fixture
def package(tmp_path):
    """One that is in a repository, and tracked."""
    path = tmp_path / "package"
    path.mkdir()
    (path / "__init__.py").write_text("")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "package")
    git(tmp_path, "commit", "--quiet", "-m", "One")
    return path


def test_a_commit_is_told_with_changes_of_the_package(package):
    commit = git(package, "rev-parse", "HEAD")
    (package.parent / "notes.txt").write_text("not of the package")
    assert read_commit(package) == {"commit": commit, "has_changes": False}
    (package / "new.py").write_text("")
    assert read_commit(package) == {"commit": commit, "has_changes": True}
    (package / "new.py").unlink()
    (package / "__init__.py").write_text("changed = True")
    assert read_commit(package)["has_changes"]


def test_a_commit_of_another_project_is_not_ours(package):
    """Installed into an environment inside the repository of somebody else."""
    installed = package.parent / ".venv" / "vrba"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    unknown = {"commit": None, "has_changes": None}
    assert read_commit(installed) == unknown
    assert read_commit(package.parent / "absent") == unknown


def test_a_run_tells_versions_and_device():
    found = program()
    assert found["device"] == "cpu"
    assert {"vrba", "jax", "python", "commit", "has_changes"} < set(found)
