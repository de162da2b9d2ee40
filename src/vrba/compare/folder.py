"""The folder of a comparison. Only this module knows the format of its file."""

import dataclasses
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import (
    BrokenFileError,
    InputError,
    read_json,
    write_atomically,
)
from ..report import markdown_table
from ..runs import RunFolder, RunRecord, StopReason, load_header
from ._base import Settings
from .tables import MEASURES, result_of, summarise

FORMAT_VERSION = 1
FILE = "comparison.json"
_IDENTITY = ("problem", "recipe", "data", "minutes")  # of a run's method
_CELLS = {
    "solve": """
A cell is the median over seeds [minimum, maximum]. `selected` is the iterate with the
lowest residual on held-out points, `last` the last one; `residual` is that of the
equations for the selected iterate. A ratio compares the selected iterates of one seed,
which began with the same network and had the same pool.""",
    "train": """
A cell is the median over seeds [minimum, maximum]. `selected` is the iterate with the
lowest error on the validation set, `last` the last one; errors are means over the test
set, which selected neither. A ratio compares the selected iterates of one seed, which
began with the same network. `uniform-as-published` differs in more than its policy: it
takes batches in the order of the file, and Adam with coupled weight decay.""",
}
_INTERVALS = """
The interval after a ratio is that of the sign test: 95 % confidence from six seeds on,
with fewer seeds the range of the ratios. A difference is significant if the interval
does not contain 1. Each method is tested by itself: with many methods some differences
are significant by chance.
"""


class ComparisonFolder:
    """`comparison.json` and `table.md`, written atomically, and a run folder for each
    method and seed."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    @property
    def file(self) -> Path:
        """Settings and results."""
        return self.path / FILE

    def run_folder(self, method: str, seed: int) -> Path:
        """The folder of one run."""
        return self.path / method.replace(":", "-") / f"seed-{seed}"

    def check_free(self) -> None:
        """Raise if the folder holds a comparison."""
        if self.file.exists():
            raise InputError(
                f"`{self.path}` already holds a comparison: resume it, or choose "
                "another folder."
            )

    def read_content(self) -> dict[str, Any]:
        """The content of `comparison.json`; raise unless it is of this version."""
        content = read_json(self.file, f"`{self.path}` is no comparison")
        version = content.get("format_version")
        if version != FORMAT_VERSION:
            raise InputError(
                f"`{self.path}` has the format version {version}, this vrba reads "
                f"version {FORMAT_VERSION}: read it with the vrba that made it, or "
                "start the comparison again."
            )
        return content

    def read(self) -> tuple[Settings, dict[str, Any]]:
        """The settings, and the description of the problem or the data."""
        content = self.read_content()
        try:
            return settings_from(content["settings"]), content["problem"]
        except (KeyError, TypeError) as error:
            raise BrokenFileError(f"`{self.file}` is damaged: {error}.") from error

    def failures(self) -> dict[str, str]:
        """Error messages of failed runs, by run."""
        return dict(self.read_content()["failures"]) if self.file.exists() else {}

    def result(self, method: str, seed: int) -> dict[str, Any] | None:
        """The result of a run; `None` unless it has ended without interruption."""
        best = RunFolder(self.run_folder(method, seed)).checkpoint("best")
        try:
            header = load_header(best)
        except (FileNotFoundError, BrokenFileError):
            return None
        if header.get("stop_reason") in (None, StopReason.interrupted):
            return None
        return result_of(method, seed, header)

    def is_begun(self, method: str, seed: int) -> bool:
        """Whether there is a run to resume."""
        return RunFolder(self.run_folder(method, seed)).holds_run

    def write(
        self,
        settings: Settings,
        problem: Mapping[str, Any],
        failures: Mapping[str, str],
    ) -> dict[str, Any]:
        """Write settings and all results so far; return the content."""
        found = [self.result(*run) for run in settings.runs()]
        results = [result for result in found if result is not None]
        programs = self._programs(settings)
        content = content_of(settings, problem, programs, results, failures)
        text = as_json(content, indent=2) + "\n"
        write_atomically(self.file, text.encode())
        write_atomically(self.path / "table.md", text_of(content).encode())
        return json.loads(text)

    def _programs(self, settings: Settings) -> list[dict[str, Any]]:
        """The versions that made the runs; several if the program was changed."""
        found = []
        for run in settings.runs():
            folder = RunFolder(self.run_folder(*run))
            if folder.manifest_file.exists():
                one = folder.read_manifest().get("provenance", {})
                found += [] if one in found else [one]
        return found


def settings_from(stored: Mapping[str, Any]) -> Settings:
    """Settings as read from a file."""
    parts = {name: tuple(stored[name]) for name in ("param", "methods")}
    return Settings(**{**stored, **parts})


def content_of(
    settings: Settings,
    problem: Mapping[str, Any],
    programs: Sequence[Mapping[str, Any]],
    results: Sequence[dict[str, Any]],
    failures: Mapping[str, str],
) -> dict[str, Any]:
    """The content of `comparison.json`."""
    content: dict[str, Any] = {"format_version": FORMAT_VERSION}
    content |= {"settings": dataclasses.asdict(settings)}
    content |= {"problem": dict(problem), "programs": list(programs)}
    content |= summarise(settings.methods, settings.baseline, results)
    content["warnings"] += version_warnings(programs)
    content["warnings"] += _time_warnings(settings, results)
    return content | {"failures": dict(failures)}


def version_warnings(programs: Sequence[Mapping[str, Any]]) -> list[str]:
    """A warning if several versions of the program made the runs."""
    if len(programs) < 2:
        return []
    return [
        f"{len(programs)} versions of the program or its libraries made these runs: "
        "methods may differ in more than their policy."
    ]


def _time_warnings(
    settings: Settings, results: Sequence[Mapping[str, Any]]
) -> list[str]:
    """A warning if the time limit stopped operators before their learning rate fell to
    zero."""
    late = sum(run["stop_reason"] == StopReason.time for run in results)
    if settings.command == "solve" or not late:
        return []
    return [
        f"The time limit stopped {late} runs before their learning rate fell to zero: "
        "give fewer `--steps`, or more `--minutes`."
    ]


def text_of(content: Mapping[str, Any]) -> str:
    """The table with its sentences and how to read it, as Markdown."""
    failed = [f"{run}: {text}" for run, text in content.get("failures", {}).items()]
    notes = [*content["sentences"], *content["warnings"], *failed]
    if not content["runs"]:
        notes = [*content["warnings"], *failed]
        return "No run has ended yet.\n" + "".join(f"- {line}\n" for line in notes)
    measure = f"The measure is the {content['measure']}"
    if content["measure"] == MEASURES["residual"]:
        measure += "; there is no reference, and the points are equal for all methods"
    lines = "".join(f"- {line}\n" for line in notes)
    rules = _CELLS[content["settings"]["command"]] + _INTERVALS
    return f"{markdown_table(content['rows'])}\n{lines}\n{measure}.{rules}"


def as_json(values: Any, indent: int | None = None) -> str:
    """JSON on one line unless indented; numbers that are not finite become null."""
    return json.dumps(_finite(values), allow_nan=False, indent=indent)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    is_bad = isinstance(value, float) and not math.isfinite(value)
    return None if is_bad else value


@dataclasses.dataclass(frozen=True)
class ComparisonRecord:
    """Runs by method and seed, and the `content` of a `comparison.json`."""

    name: str
    content: dict[str, Any]
    runs: dict[str, dict[int, RunRecord]]
    command: str | None = None

    @staticmethod
    def read(path: str | os.PathLike[str]) -> "ComparisonRecord":
        """Read the folder of a comparison, also while it goes on."""
        folder = ComparisonFolder(path)
        settings, problem = folder.read()
        runs: dict[str, dict[int, RunRecord]] = {m: {} for m in settings.methods}
        last = settings.first_seed + settings.num_seeds
        for method, found in runs.items():
            for seed in range(settings.first_seed, last):
                run = folder.run_folder(method, seed)
                if RunFolder(run).manifest_file.exists():
                    found[seed] = RunRecord.read(run, has_arrays=False)
        name, command = str(problem["name"]), settings.command_line()
        return ComparisonRecord(name, folder.read_content(), runs, command)

    @staticmethod
    def of_runs(records: Sequence[RunRecord]) -> "ComparisonRecord":
        """Group runs into methods: the runs of a method differ in their seed only.

        The first method is the baseline, if all runs are of one problem or of the same
        data.
        """
        kinds = {run.is_operator for run in records}
        if len(kinds) > 1:
            raise InputError(
                "Some of the runs train an operator and some solve a problem: they "
                "have no measure in common. Make a page of each kind."
            )
        runs = _grouped(records)
        results = [
            result_of(method, seed, run.result)
            for method, found in runs.items()
            for seed, run in found.items()
            if run.has_ended and run.stop_reason != StopReason.interrupted
        ]
        names = list(dict.fromkeys(run.name for run in records))
        has_errors = len(names) == 1 and all(one["error"] for one in results)
        if not has_errors and False in kinds:  # an operator has nothing but errors
            results = [one | {"error": None} for one in results]
        content = summarise(list(runs), next(iter(runs)), results)
        unequal = _differences(records)
        if unequal:
            content["warnings"] = [f"{what}: no conclusion." for what in unequal]
        if unequal or len(names) > 1:
            content["sentences"] = []
        return ComparisonRecord(", ".join(names), content, runs)

    @property
    def all_runs(self) -> list[RunRecord]:
        """The runs of all methods."""
        return [run for found in self.runs.values() for run in found.values()]

    @property
    def is_operator(self) -> bool:
        """Whether operators are compared."""
        return any(run.is_operator for run in self.all_runs)

    @property
    def measure(self) -> str:
        """The key of a log entry that methods are compared by."""
        known = [run for run in self.all_runs if run.record]
        has_error = known and all("error" in run.record[-1] for run in known)
        return "error" if has_error else "residual"

    @property
    def label(self) -> str:
        """The measure in words."""
        if self.is_operator:
            return self.all_runs[0].error_name
        return MEASURES[self.measure].split(" (")[0]

    def records(self) -> dict[str, list[list[dict[str, Any]]]]:
        """Log entries by method, with the residual of all terms as `residual`."""
        return {
            method: [_with_residual(r.record) for r in found.values() if r.record]
            for method, found in self.runs.items()
        }

    def sentence(self) -> str:
        """What was compared, in one sentence."""
        ended = sum(run.has_ended for run in self.all_runs)
        text = f"{self.name}: {', '.join(self.runs)}; {len(self.all_runs)} runs, "
        text += f"{ended} of them ended."
        if self.content.get("measure"):
            text += f" The measure is the {self.content['measure']}."
        return text


def _grouped(records: Iterable[RunRecord]) -> dict[str, dict[int, RunRecord]]:
    """Runs by method and seed; a second run of a seed starts a method of its own."""
    groups: list[tuple[str, dict[int, RunRecord]]] = []
    for run in records:
        key, seed = _as_text(run, *_IDENTITY), int(run.manifest.get("seed", 0))
        free = (g for other, g in groups if other == key and seed not in g)
        group = next(free, None)
        if group is None:
            groups.append((key, group := {}))
        group[seed] = run
    found: dict[str, dict[int, RunRecord]] = {}
    for _, group in groups:
        found[_free_name(next(iter(group.values())), found)] = group
    return found


def _differences(records: Sequence[RunRecord]) -> list[str]:
    """Why runs cannot be compared with each other, if they cannot."""
    limits = {(r.manifest.get("minutes"), r.settings.get("max_steps")) for r in records}
    data = {_as_text(run, "data") for run in records}
    found = ["The runs had different budgets"] * (len(limits) > 1)
    return found + ["The runs had different data, or scaled them differently"] * (
        len(data) > 1
    )


def _as_text(run: RunRecord, *keys: str) -> str:
    return json.dumps([run.manifest.get(key) for key in keys], sort_keys=True)


def _with_residual(record: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one | {"residual": (one.get("score") or 0.0) ** 0.5} for one in record]


def _free_name(run: RunRecord, taken: Mapping[str, Any]) -> str:
    """The name of the run's folder, or of the folder that holds several seeds."""
    path = run.path.resolve()
    if path.name.startswith("seed-"):
        path = path.parent
    name, number = path.name, 2
    while name in taken:
        name, number = f"{path.name} ({number})", number + 1
    return name
