"""A comparison on disk: what was asked for, and what has come of it so far."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import BrokenFileError, ending, load_header, write_atomically
from ..report.summary import MEASURES, result_of, run_of, summarise
from ..train import RunFolder
from ._base import UsageError
from .arms import Settings
from .output import as_json

FORMAT = 2
_ITERATES = {
    "solve": """
A cell is the median over seeds [lowest, highest]. `selected` is the iterate with the
lowest residual on held-out points, `last` the last one; `residual` is that of the
equations there, of the selected one. A ratio is that of the selected iterates of one
seed, which began with the same network and had the same pool.""",
    "train": """
A cell is the median over seeds [lowest, highest]. `selected` is the iterate with the
lowest error on the validation set, `last` the last one; errors are means over the test
set, which neither was chosen by. A ratio is that of the selected iterates of one seed,
which began with the same network. `uniform-as-published` differs in more than its
policy: it takes batches in the order of the file, and Adam with a decay of weights.""",
}
_RULES = """
The interval after a ratio is that of the sign test: with 95 % confidence from six seeds
on, with fewer the range of the ratios. A difference stands out if the interval does not
hold 1. Each arm is judged by itself: of many arms some will stand out by chance.
"""


class ComparisonFolder:
    """`comparison.json`, `table.md` and `figures/`, each written whole or not at all,
    and a run folder for each arm and seed."""

    def __init__(self, path: Path):
        self.path = path

    @property
    def file(self) -> Path:
        """Settings and results."""
        return self.path / "comparison.json"

    def run(self, arm: str, seed: int) -> Path:
        """The folder of one run."""
        return run_of(self.path, arm, seed)

    def read(self) -> tuple[Settings, dict[str, Any]]:
        """What was asked for, and the problem's description."""
        if not self.file.exists():
            raise UsageError(
                f"`{self.path}` is no comparison: it has no comparison.json."
            )
        try:
            content = json.loads(self.file.read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise UsageError(
                    f"`{self.path}` was made by another version of vrba: its page can "
                    "be drawn, but the comparison cannot be resumed."
                )
            found = content["settings"]
            parts = {name: tuple(found[name]) for name in ("param", "arms")}
            return Settings(**found | parts), content["problem"]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise UsageError(f"`{self.file}` cannot be read: {error}.") from error

    def failures(self) -> dict[str, str]:
        """What was written of runs that failed."""
        return dict(json.loads(self.file.read_text(encoding="utf-8"))["failures"])

    def result(self, arm: str, seed: int) -> dict[str, Any] | None:
        """What a run has come to, if it has ended and was not interrupted."""
        try:
            header = load_header(RunFolder(self.run(arm, seed)).checkpoint("best"))
        except (FileNotFoundError, BrokenFileError):
            return None
        if "status" not in header or ending(header["status"]) == "interrupted":
            return None
        return result_of(arm, seed, header)

    def results(self, settings: Settings) -> list[dict[str, Any]]:
        """Those of all runs that have ended."""
        found = [self.result(*run) for run in settings.runs()]
        return [result for result in found if result is not None]

    def is_begun(self, arm: str, seed: int) -> bool:
        """Whether there is something to go on with."""
        return RunFolder(self.run(arm, seed)).holds_run

    def write(
        self,
        settings: Settings,
        problem: Mapping[str, Any],
        failures: Mapping[str, str],
    ) -> dict[str, Any]:
        """All that is known so far, to the files; returns it."""
        programs, results = self.programs(settings), self.results(settings)
        content = content_of(settings, problem, programs, results, failures)
        write_atomically(self.file, (as_json(content, indent=2) + "\n").encode())
        write_atomically(self.path / "table.md", text_of(content).encode())
        return content

    def programs(self, settings: Settings) -> list[dict[str, Any]]:
        """What made the runs: more than one if another version resumed it."""
        found = []
        for run in settings.runs():
            folder = RunFolder(self.run(*run))
            if folder.recipe_file.exists():
                one = folder.about().get("program", {})
                found += [] if one in found else [one]
        return found


def content_of(
    settings: Settings,
    problem: Mapping[str, Any],
    programs: Sequence[Mapping[str, Any]],
    results: Sequence[dict[str, Any]],
    failures: Mapping[str, str],
) -> dict[str, Any]:
    """What runs have come to, and all that is to be said of it."""
    content = {"format": FORMAT, "settings": dataclasses.asdict(settings)}
    content |= {"problem": dict(problem), "programs": list(programs)}
    content |= summarise(settings.arms, settings.baseline, results)
    content["warnings"] += of_versions(programs)
    content["warnings"] += of_the_clock(settings, results)
    return content | {"failures": dict(failures)}


def of_versions(programs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is to be said if not one program made all runs."""
    if len(programs) < 2:
        return []
    return [
        f"{len(programs)} versions of the program or its libraries have made these "
        "runs: arms may differ in more than their policy."
    ]


def of_the_clock(settings: Settings, runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is to be said if operators were stopped while their rate still fell."""
    late = sum(run["status"] == "time_reached" for run in runs)
    if settings.command == "solve" or not late:
        return []
    return [
        f"{late} runs ended by the clock, before their rate had fallen to zero: give "
        "fewer `--steps`, or more `--minutes`."
    ]


def text_of(content: Mapping[str, Any]) -> str:
    """The table, what it says, and by which rule."""
    if not content["runs"]:
        return "No run has ended yet.\n"
    measure = f"Measured is the {content['measure']}"
    if content["measure"] == MEASURES["residual"]:
        measure += ", for there is no reference; the points are the same for all arms"
    told = [*content["sentences"], *content["warnings"]]
    lines = "".join(f"- {line}\n" for line in told)
    rules = _ITERATES[content["settings"]["command"]] + _RULES
    return f"{content['table']}\n{lines}\n{measure}.{rules}"
