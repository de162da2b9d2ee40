"""Results of the paper's tables and figures, as they were reproduced here.

`python -m benchmarks.results table1 figure4 --scale laptop --seeds 3` reproduces each
(`vrba.paper.reproduce`), stores the results in `results/reproduce/SCALE/NAME.json`, and
writes `docs/results.md` from everything stored there. It continues what was stopped.
`--only uniform,rad` or `--only bubble` makes runs of these methods or experiments only:
the rest is taken from what is stored, so that runs can be made on several machines or
days. `--table` makes no runs, but stores what is there; without names only tables and
the page are written again.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from vrba.core import write_atomically
from vrba.paper import SCALES, PaperItem, known_items, reproduce

from .kept_runs import comparisons_of, item_of, runs_of
from .results_page import DOCS, RESULTS, ROOT, is_figure, kept, picture_stem, write_page

IS_LONG = True


def main() -> None:
    """Make what is asked for, store it, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="tables and figures")
    parser.add_argument("--scale", default="laptop")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "reproduce")
    parser.add_argument("--only", help="methods or experiments whose runs are made")
    parser.add_argument("--replace", action="store_true", help="stored runs may go")
    parser.add_argument("--table", action="store_true", help="make no runs")
    asked = parser.parse_args()
    for name in asked.names:
        folder = asked.out / asked.scale / name
        keep(reproduced(name, asked), folder / "figures", asked.replace)
    for scale in SCALES:
        store(scale)
    write_page()


def reproduced(name: str, asked: argparse.Namespace) -> dict[str, Any]:
    """The result of a table or figure; failed runs are named on the page."""
    found = reproduce(
        name,
        asked.scale,
        asked.seeds,
        out=asked.out,
        only=asked.only,
        makes_runs=not asked.table,
    )
    if found.is_stopped:
        sys.exit(f"{name} was stopped; the same command continues.")
    return found.results[0]


def keep(found: dict[str, Any], figures: Path, replaces: bool = False) -> None:
    """Store a result together with the stored runs that it lacks.

    Of a figure, also store the pictures of each experiment, unless there are some and
    the new ones lack runs.
    """
    stored = store(found["scale"], found, replaces=replaces)[found["name"]]
    stem = picture_stem(found)
    for name in found["comparisons"] if is_figure(found) else ():
        there = list(DOCS.glob(f"{stem}-{name}-*.png"))
        drawn = sorted(figures.glob(f"{name}-*.png"))
        made, all_runs = (
            {run for run in runs_of([one]) if run[0] == name} for one in (found, stored)
        )
        if drawn and (made == all_runs or not there):
            for old in there:
                old.unlink()
            for picture in drawn:
                shutil.copyfile(picture, DOCS / f"{stem}-{picture.name}")


def store(
    scale: str, *found: dict[str, Any], replaces: bool = False
) -> dict[str, dict[str, Any]]:
    """Write new and stored results of a scale; return them by name.

    An experiment is the same in all items that show it. Stored runs are lost only if
    `replaces` allows it.
    """
    before = [one for one in kept() if one["scale"] == scale]
    contents = comparisons_of([*found, *before])
    parts = ("runs", "failures")
    made = {name for name, one in contents.items() if any(map(one.get, parts))}
    names = [one.name for one in known_items().values() if shows(one, made)]
    stored = {name: item_of(name, scale, contents) for name in names}
    lost = runs_of(before) - runs_of(stored.values())
    if lost and not replaces:
        listed = "; ".join(
            f"{name}, {method}, seed {n}" for name, method, n in sorted(lost)
        )
        sys.exit(
            f"Not stored: these runs of scale {scale} had another problem or other "
            f"settings, and would be lost: {listed}. `--table --replace` stores the "
            "new ones and removes them."
        )
    for name, one in stored.items():
        path = RESULTS / scale / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(one, indent=1) + "\n").encode())
    return stored


def shows(item: PaperItem, names: set[str]) -> bool:
    """Whether the item has one of these experiments."""
    return any(one.name in names for one in item.experiments)


if __name__ == "__main__":
    main()
