"""Several runs as arms with seeds, from the folder of a comparison or put together."""

import dataclasses
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import InputError, ending, read_json
from .run import Entry, RunRecord
from .summary import MEASURES, result_of, run_of, summarise

FILE = "comparison.json"
_ASKED = ("problem", "recipe", "operator", "data", "minutes")


@dataclasses.dataclass(frozen=True)
class ComparisonRecord:
    """Runs by arm, and what they say: `content` is that of a `comparison.json`, with
    the table, sentences and warnings."""

    name: str
    content: dict[str, Any]
    arms: dict[str, list[RunRecord]]
    command: str | None = None

    @staticmethod
    def read(path: str | os.PathLike[str]) -> "ComparisonRecord":
        """The folder of a comparison, also of one that goes on."""
        path = Path(path)
        content = read_json(path / FILE, f"`{path}` is no comparison")
        try:
            settings = content["settings"]
            first, number = settings["first_seed"], settings["num_seeds"]
            arms: dict[str, list[RunRecord]] = {arm: [] for arm in settings["arms"]}
            name = str(content["problem"]["name"])
        except (KeyError, TypeError) as error:
            raise InputError(f"`{path / FILE}` lacks {error}.") from error
        for arm, runs in arms.items():
            for seed in range(first, first + number):
                run = run_of(path, arm, seed)
                if (run / "recipe.json").exists():
                    runs.append(RunRecord.read(run, has_arrays=False))
        return ComparisonRecord(name, content, arms, _command(settings))

    @staticmethod
    def of_runs(runs: Sequence[RunRecord]) -> "ComparisonRecord":
        """Runs that differ in their seed only make an arm; the first arm is what the
        others are compared with, if all of them are of one problem or of the same
        data."""
        kinds = {run.is_operator for run in runs}
        if len(kinds) > 1:
            raise InputError(
                "Some of the runs train an operator and some solve a problem: nothing "
                "is measured of both. Make a page of each kind."
            )
        groups: dict[str, list[RunRecord]] = {}
        for run in runs:
            groups.setdefault(_as_text(run, *_ASKED), []).append(run)
        arms: dict[str, list[RunRecord]] = {}
        for group in groups.values():
            arms[_free_name(group, arms)] = group
        results = [
            result_of(arm, int(run.about.get("seed", 0)), run.result)
            for arm, group in arms.items()
            for run in group
            if run.has_ended and ending(run.result["status"]) != "interrupted"
        ]
        names = list(dict.fromkeys(run.name for run in runs))
        has_errors = len(names) == 1 and all(one["error"] for one in results)
        if not has_errors and False in kinds:  # an operator has nothing but errors
            results = [one | {"error": None} for one in results]
        content = summarise(list(arms), next(iter(arms)), results)
        unequal = _unequal(runs)
        if unequal:
            content["warnings"] = [f"{what}: nothing follows." for what in unequal]
        if unequal or len(names) > 1:
            content["sentences"] = []
        return ComparisonRecord(", ".join(names), content, arms)

    @property
    def measure(self) -> str:
        """The key of a record that arms are compared by."""
        return "error" if self._has_error() else "residual"

    @property
    def label(self) -> str:
        """What is compared, in words."""
        if self.is_operator:
            return next(runs[0].error_name for runs in self.arms.values() if runs)
        return MEASURES[self.measure].split(" (")[0]

    @property
    def is_operator(self) -> bool:
        """Whether operators are compared."""
        return any(run.is_operator for runs in self.arms.values() for run in runs)

    def records(self) -> dict[str, list[list[Entry]]]:
        """What was logged, with the residual of all terms as `residual`."""
        return {
            arm: [_rooted(run.record) for run in runs if run.record]
            for arm, runs in self.arms.items()
        }

    def sentence(self) -> str:
        """What was compared, in one sentence."""
        ended = sum(run.has_ended for runs in self.arms.values() for run in runs)
        number = sum(map(len, self.arms.values()))
        arms = ", ".join(self.arms)
        text = f"{self.name}: {arms}; {number} runs, {ended} of them ended."
        if self.content.get("measure"):
            text += f" Compared is the {self.content['measure']}."
        return text

    def _has_error(self) -> bool:
        runs = [run for part in self.arms.values() for run in part if run.record]
        return bool(runs) and all("error" in run.record[-1] for run in runs)


def _unequal(runs: Sequence[RunRecord]) -> list[str]:
    """Why runs cannot be judged against each other, if they cannot."""
    limits = {(run.about.get("minutes"), run.settings.get("max_steps")) for run in runs}
    data = {_as_text(run, "data") for run in runs}
    found = ["The runs had different budgets"] * (len(limits) > 1)
    return found + ["The runs had different data, or scaled them differently"] * (
        len(data) > 1
    )


def _as_text(run: RunRecord, *keys: str) -> str:
    """Some of what was asked for, so that it can be told from other runs'."""
    return json.dumps([run.about.get(key) for key in keys], sort_keys=True)


def _rooted(record: list[Entry]) -> list[Entry]:
    return [one | {"residual": (one.get("score") or 0.0) ** 0.5} for one in record]


def _free_name(group: list[RunRecord], taken: Mapping[str, Any]) -> str:
    """After the first folder, or the one that holds several seeds."""
    path = group[0].path.resolve()
    if path.name.startswith("seed-"):
        path = path.parent
    name, number = path.name, 2
    while name in taken:
        name, number = f"{path.name} ({number})", number + 1
    return name


def _command(settings: Mapping[str, Any]) -> str | None:
    """What to type to compare so again."""
    if "target" not in settings:
        return None
    words = ["vrba", "compare", str(settings["target"])]
    words += [word for pair in settings.get("param", ()) for word in ("--param", pair)]
    words += ["--policies", ",".join(settings["arms"])]
    words += ["--seed", str(settings["first_seed"])]
    words += ["--seeds", str(settings["num_seeds"])]
    for name, value in settings.get("flags", {}).items():
        words += [f"--{name}", str(value)]
    return shlex.join(words)
