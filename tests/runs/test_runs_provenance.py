"""What a run says of the program that made it."""

import os
import shutil
import subprocess

import pytest

from vrba.runs import describe_program, read_commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


SETTINGS = ("user.name=A", "user.email=a@b.c", "commit.gpgsign=false")


def git(folder, *words):
    """A hook that runs the tests would name its own repository in the environment."""
    settings = [word for one in SETTINGS for word in ("-c", one)]
    command = ["git", "-C", str(folder), *settings, *words]
    own = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=own)
    return found.stdout.strip()


@pytest.fixture
def package(tmp_path):
    """One that is in a repository, and added to it."""
    path = tmp_path / "package"
    path.mkdir()
    (path / "__init__.py").write_text("")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "package")
    return path


def commit(package):
    git(package, "commit", "--quiet", "-m", "One")
    return git(package, "rev-parse", "HEAD")


def test_a_commit_is_told_with_changes_of_the_package(package):
    name = commit(package)
    (package.parent / "notes.txt").write_text("not of the package")
    assert read_commit(package) == {"commit": name}
    (package / "new.py").write_text("")
    assert read_commit(package) == {"commit": name, "has_changes": True}
    (package / "new.py").unlink()
    (package / "__init__.py").write_text("changed = True")
    assert read_commit(package) == {"commit": name, "has_changes": True}


def test_what_is_not_committed_has_no_commit(package):
    assert read_commit(package) == {"commit": None, "has_changes": True}


def test_a_commit_of_another_project_is_not_ours(package):
    """Installed into an environment inside the repository of somebody else."""
    commit(package)
    installed = package.parent / ".venv" / "vrba"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert read_commit(installed) == {"commit": None}
    assert read_commit(package.parent / "absent") == {"commit": None}


def test_the_environment_of_a_hook_names_another_repository(package, monkeypatch):
    name = commit(package)
    monkeypatch.setenv("GIT_DIR", str(package.parent / "elsewhere"))
    assert read_commit(package) == {"commit": name}


def test_a_run_tells_versions_and_device():
    found = describe_program()
    assert found["device"] == "cpu"
    assert {"vrba", "jax", "python", "commit"} < set(found)
