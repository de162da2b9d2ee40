"""Runs of scripts as processes: environments, references, some at a time."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import vrba
from vrba.compare import environment, failure_message, known_problems, num_cores
from vrba.pinn import default_recipe
from vrba.problems import Problem
from vrba.runs import describe_program

from .arms import ENVIRONMENTS, Arm
from .cases import CASES

ROOT = Path(__file__).parents[2]
HOME = ROOT / "runs" / "peers"
PROBLEMS = {name: known_problems()[name] for name in CASES}


def as_peers_have_it(problem: str) -> Problem:
    """Vrba's problem, with initial values in the loss where the peers have them so."""
    return PROBLEMS[problem](**({"is_soft": True} if problem == "allen-cahn" else {}))


@dataclasses.dataclass(frozen=True)
class Settings:
    """What all arms of a comparison share."""

    problem: str
    minutes: float
    seed: int
    threads: int
    width: int
    depth: int
    points: int
    pool: int

    @property
    def folder(self) -> Path:
        """Where the logs are."""
        sizes = f"{self.points}-of-{self.pool}-{self.depth}x{self.width}"
        time = f"{self.minutes:g}min-{self.threads}threads"
        return HOME / f"{self.problem}-{time}-{sizes}-seed{self.seed}"

    def log(self, arm: Arm) -> Path:
        """The log of one arm."""
        return self.folder / f"{arm.name}.jsonl"

    def said(self, arm: Arm) -> Path:
        """What one arm printed."""
        return self.log(arm).with_suffix(".out")

    def maker(self, arm: Arm) -> Path:
        """Which program started one arm, on what, and how many beside it."""
        return self.log(arm).with_suffix(".json")


def make_settings(problem: str, asked: Any) -> Settings:
    """The network and points of vrba's default recipe, unless others are asked for."""
    recipe = default_recipe(PROBLEMS[problem](), asked.minutes, polish=None)
    assert isinstance(recipe.model, vrba.MLP)
    points = asked.points or recipe.num_points
    return Settings(
        problem,
        asked.minutes,
        asked.seed,
        asked.threads,
        asked.width or recipe.model.width,
        recipe.model.depth,
        points,
        asked.pool or max(recipe.pool_size, 8 * points),
    )


def read_log(path: Path) -> list[dict[str, Any]]:
    """All whole lines: a run may have been stopped within one."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return found


def has_finished(lines: list[dict[str, Any]]) -> bool:
    """Whether this is the log of a run that came to its end."""
    return bool(lines) and bool(lines[-1].get("finished"))


def python_of(package: str) -> Path:
    """The interpreter of an environment, which is made if there is none."""
    if package == "vrba":
        return Path(sys.executable)
    home, names = HOME / f"env-{package}", ENVIRONMENTS[package]
    python, stamp = home / "bin" / "python", home / "installed.txt"
    pins = Path(__file__).with_name("constraints") / f"{package}.txt"
    wanted = pins.read_text(encoding="utf-8")
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        print(f"Installing {', '.join(names)}", flush=True)
        shutil.rmtree(home, ignore_errors=True)  # of other pins
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", "-c", str(pins)]
        subprocess.run([*install, *names], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def write_reference(problem: str) -> Path:
    """The grid and the values on it, for scripts without vrba."""
    path = HOME / "reference" / f"{problem}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        reference = known_problems()[problem]().reference
        assert callable(reference)
        found = reference()
        values = np.ravel(found.values)
        np.savez(path, points=found.points(), values=values, error=found.error)
    return path


def command_of(settings: Settings, arm: Arm) -> list[str]:
    """The words that start a run."""
    script = Path(__file__).with_name(f"{arm.package}_script.py")
    words = [str(python_of(arm.package)), str(script), "--arm", arm.name]
    words += ["--reference", str(write_reference(settings.problem))]
    words += ["--log", str(settings.log(arm))]
    for name, value in dataclasses.asdict(settings).items():
        words += [f"--{name}", str(value)]
    return words


def run_all(tasks: list[tuple[Settings, Arm]], jobs: int) -> None:
    """Runs those that have not finished yet, `jobs` at a time."""
    is_there = lambda s, arm: (
        s.maker(arm).exists() and has_finished(read_log(s.log(arm)))
    )
    waiting = [(s, arm) for s, arm in tasks if not is_there(s, arm)]
    commands = [(s, arm, command_of(s, arm)) for s, arm in waiting]
    running: list[tuple[subprocess.Popen, Settings, Arm]] = []
    try:
        while commands or running:
            while commands and len(running) < jobs:
                settings, arm, command = commands.pop(0)
                _note_maker(settings, arm, jobs)
                running.append((_started(settings, arm, command), settings, arm))
            for process, settings, arm in list(running):
                if process.poll() is not None:
                    running.remove((process, settings, arm))
                    _note_end(settings, arm, process.returncode)
            time.sleep(0.5)
    finally:
        for process, *_ in running:
            process.kill()
            process.wait()


def _note_maker(settings: Settings, arm: Arm, jobs: int) -> None:
    settings.folder.mkdir(parents=True, exist_ok=True)
    own = describe_program()
    told = {
        "commit": own["commit"],
        "has_changes": own.get("has_changes", False),
        "device": f"{own['device']}, {num_cores()} cores",
        "jobs": jobs,
    }
    settings.maker(arm).write_text(json.dumps(told), encoding="utf-8")


def _started(settings: Settings, arm: Arm, command: list[str]) -> subprocess.Popen:
    limits = environment(settings.threads) | {"JAX_TRACEBACK_FILTERING": "off"}
    if not arm.is_own:
        limits.pop("PYTHONPATH", None)
    elif "PYTHONPATH" not in os.environ:
        limits["PYTHONPATH"] = str(ROOT / "src")
    print(f"== {settings.problem}, {arm.name}", flush=True)
    with open(settings.said(arm), "wb") as said:
        return subprocess.Popen(  # Ctrl-C reaches it through us alone
            command, stdout=said, stderr=said, env=limits, start_new_session=True
        )


def _note_end(settings: Settings, arm: Arm, code: int) -> None:
    """Tells the error; why it failed is kept beside who made it."""
    found = read_log(settings.log(arm))
    if has_finished(found):
        errors = [f"{entry['error']:.2e}" for entry in found[1:-1]]
        told = errors[-1] if errors else "no step in time"
    else:
        why = failure_message(settings.said(arm), code)
        maker = json.loads(settings.maker(arm).read_text(encoding="utf-8"))
        text = json.dumps(maker | {"failure": why})
        settings.maker(arm).write_text(text, encoding="utf-8")
        told = f"failed ({why}), see {settings.said(arm)}"
    print(f"   {settings.problem}, {arm.name}: {told}", flush=True)
