"""Runs what is missing, then writes the results, the page and the figure.

`python -m benchmarks.peers --problems burgers,allen-cahn --minutes 20 --seed 0`
goes on where it was stopped, run by run; `--table` writes the page and the figure only.
"""

import argparse
import signal
import sys

from vrba.compare import num_cores

from .arms import ARMS
from .cases import CASES
from .check import check_same
from .page import write_page
from .results import keep
from .runs import PROBLEMS, as_peers_have_it, make_settings, run_all


def main() -> None:
    """All that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default=",".join(CASES))
    parser.add_argument("--arms", default="", help="some of them; all if not given")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=num_cores())
    parser.add_argument("--threads", type=int, default=1, help="of each run")
    parser.add_argument("--points", type=int, help="of a step; vrba's if not given")
    parser.add_argument("--pool", type=int, help="that they are drawn from; likewise")
    parser.add_argument("--width", type=int, help="of the network; likewise")
    parser.add_argument("--table", action="store_true", help="write the page only")
    asked = parser.parse_args()
    if asked.table:
        write_page()
        return
    problems = asked.problems.split(",")
    names = asked.arms.split(",") if asked.arms else [arm.name for arm in ARMS]
    check_known("problem", problems, list(PROBLEMS))
    check_known("arm", names, [arm.name for arm in ARMS])
    chosen = [arm for arm in ARMS if arm.name in names]
    tasks = [
        (settings, arm)
        for settings in [make_settings(problem, asked) for problem in problems]
        for arm in chosen
        if arm.solves(settings.problem)
    ]
    for problem in problems:
        check_same(CASES[problem], as_peers_have_it(problem))
    # so that no run is left behind
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda *_: sys.exit("Stopped; the same command goes on."))
    run_all(tasks, asked.jobs)
    keep(tasks)
    write_page()


def check_known(kind: str, names: list[str], known: list[str]) -> None:
    """Ends if something is asked for that does not exist."""
    if unknown := sorted(set(names) - set(known)):
        sys.exit(f"No {kind} named {', '.join(unknown)}; there are {', '.join(known)}.")


if __name__ == "__main__":
    main()
