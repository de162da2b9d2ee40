"""`docs/peers.md`, from the results alone."""

import statistics
from typing import Any

from vrba.compare import format_spread, spread
from vrba.report import format_number

from ..commit import commit_of
from .arms import ARMS
from .cases import INITIAL_WEIGHT, POINTS_PER_INITIAL
from .figure import draw, panels_of
from .groups import Key, Runs, grouped
from .results import read_results
from .runs import ROOT

PAGE = ROOT / "docs" / "peers.md"
OWN, SOFT, SAME_OPTIMIZER = "vrba", "vrba-soft", "vrba-ssbroyden"
IN_README = (OWN, "vrba-uniform", SAME_OPTIMIZER, SOFT)
READING = (
    "In brackets: how many times lower than the best other package. Empty cells were "
    "not run. `vrba` is the default of `vrba solve`, with Levenberg-Marquardt; "
    "`-uniform` is the same with uniform sampling. On Allen-Cahn both have an ansatz "
    "for the kink in the initial data, which the others lack. `-ssbroyden` (with "
    "self-scaled Broyden) and `-soft` solve that problem as the others do. Sizes are "
    "those of vrba's default. No other package was tuned, and the optimizers differ."
)
NEARLY = 0.98  # of the time: less is early
AIM = 10.0  # times below the best peer
HEAD = """# Beside other packages

Written by `python -m benchmarks.peers`, never by hand. vrba and {peers} solve the same
problem with the same network (tanh, float64), number of points and minutes. Each run
has its own threads and its own environment. Errors are relative L2 against the
problem's reference, of the last iterate. With several seeds a cell is the median
[lowest, highest]. A *method* is a package with an optimizer and a sampling.

Caveats:

- Network, number of points and resampling interval are those of vrba's default for the
  longer time. No peer was tuned. First-order methods may do better with fewer points.
- The shorter time is read off the same runs. A run planned for that time would have a
  smaller network and shorter stages of Adam.
- The optimizers differ, so the tables do not show adaptivity alone. For that, compare a
  method of vrba with its `-uniform` twin. Methods of vrba that name an optimizer use
  one of the kind that a peer has, with other starts, searches and schedules.
- Time counts training with compilation, without imports and without the measurement of
  the error. The diagnostics of vrba count; making its first pool does not.
- Between two measurements the logarithm of an error is interpolated. Errors fluctuate:
  a factor of two at one instant is no difference.
- Runs of other commits were made on another day. The machine was of the same kind, but
  may have been faster or slower.

Equal for all: inputs scaled to [-1, 1]; boundary and initial values exact by the same
output transform. On Allen-Cahn the peers have periodic inputs and the initial values in
the loss, with weight {weight:g} and one point for {share} of the others. So do the
methods of vrba, which resample these points. `vrba` and `vrba-uniform` do not: they use
their default ansatz. Not equal: the optimizer, the sampling, and the random initial
network of each package.

![Error against time](peers.png)
"""


def write_page() -> None:
    """The page and the figure."""
    known = read_results()
    PAGE.write_text(page(known), encoding="utf-8")
    draw(grouped(known))
    print(f"See {PAGE.relative_to(ROOT)}.")


def page(known: dict[str, dict[str, Any]]) -> str:
    """A table for each problem and number of points, and notes."""
    text = HEAD.format(
        peers=", ".join(peers_of(known)) or "other packages",
        weight=INITIAL_WEIGHT,
        share=POINTS_PER_INITIAL,
    )
    for key, runs in grouped(known).items():
        text += "\n" + "\n".join(section(key, runs)) + "\n"
    text += "\n## Notes on the methods\n\n"
    shown_arms = {run["arm"] for run in known.values()}
    noted = [arm for arm in ARMS if arm.note and arm.name in shown_arms]
    notes = [f"- `{arm.name}`: {arm.note}" for arm in noted]
    return text + "\n".join(notes) + "\n"


def summary() -> str:
    """For the README: how far the best peer is from vrba, by the longest runs."""
    known = read_results()
    groups = grouped(known)
    longest_first = sorted(panels_of(groups).items(), key=lambda one: -one[1].minutes)
    lines = [
        f"| {title} | {' | '.join(cells)} |\n"
        for title, key in longest_first
        if (cells := best_beside_own(groups[key]))
    ]
    others = ", ".join(peers_of(known))
    columns = ["problem", "minutes", "seeds", "the best other"]
    columns += [f"`{arm}`" for arm in IN_README]
    return (
        f"**[Beside other packages](docs/peers.md)** ({others}): the same network, "
        "number of points and minutes, one core each, last iterates.\n\n"
        f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n{''.join(lines)}\n"
        f"{READING}\n\n"
        "![Error against time, vrba and other packages](docs/peers.png)\n"
    )


def best_beside_own(runs: Runs) -> list[str]:
    """Cells of the row of a problem, if there are both."""
    errors = medians(runs, "error_at_end")
    best = best_peer(errors)
    own = [arm for arm in IN_README if arm in errors]
    if best is None or not own:
        return []
    seeds = [{run["settings"]["seed"] for run in runs[arm]} for arm in (best, *own)]
    counts = sorted({len(some) for some in seeds})
    told = {
        arm: f"{format_number(error)} ({format_number(errors[best] / error)})"
        for arm, error in errors.items()
        if arm in own
    }
    return [
        f"{runs[best][0]['settings']['minutes']:g}",
        " to ".join(map(str, dict.fromkeys([counts[0], counts[-1]]))),
        f"`{best}` {format_number(errors[best])}",
        *(told.get(arm, "") for arm in IN_README),
    ]


def peers_of(known: dict[str, dict[str, Any]]) -> list[str]:
    """Names and versions, as the runs have told them."""
    found = set()
    for run in known.values():
        versions = run["about"].get("versions", {})
        if not _is_own(run["arm"]) and versions:
            found.add(" ".join(next(iter(versions.items()))))
    return sorted(found)


def section(key: Key, runs: Runs) -> list[str]:
    """One problem: its settings, its table, and where vrba is behind."""
    problem, minutes, threads, depth, width, points, pool = key
    some = [run for found in runs.values() for run in found]
    jobs = sorted({run["jobs"] for run in some})
    seeds = sorted({run["settings"]["seed"] for run in some})
    devices = sorted({run["device"] for run in some})
    commits = sorted({commit_of(run) for run in some})
    shares = [run["cpu_share"] for run in some if "cpu_share" in run] or [0.0]
    lines = [
        f"## {problem}, {minutes:g} minutes, {points:,} points",
        "",
        f"{depth} hidden layers of {width}; points drawn from {pool:,} "
        f"where there is a pool; {threads} thread each, {_listed(jobs)} at a time on "
        f"{_listed(devices)}, each having had "
        f"{min(shares):.2f} to {max(shares):.2f} of a core; "
        f"seeds {_listed(seeds)}; commit {_listed(commits)}.",
        "",
        "| method | optimizer | points | steps "
        f"| {minutes / 4:g} min | {minutes:g} min |",
        "|---|---|---|---|---|---|",
    ]
    about = {arm.name: arm for arm in ARMS}
    for name, found in runs.items():
        arm = about.get(name)
        cells = [
            f"`{name}`",
            arm.optimizer if arm else "",
            arm.points if arm else "",
            steps_of(found),
            kebab_case(found, "error_at_quarter"),
            kebab_case(found, "error_at_end"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    times = {"error_at_quarter": minutes / 4, "error_at_end": minutes}
    told = [
        f"- {standing(medians(runs, name), own, when, seeds)}"
        for own in (SOFT, SAME_OPTIMIZER, OWN)
        if own in runs
        for name, when in times.items()
    ]
    return [*lines, "", *told, *map("- {}".format, early_ends(some, minutes))]


def missed(runs: Runs) -> list[str]:
    """Where an arm of vrba that is compared with peers is not well below them."""
    found = []
    for name, when in (("error_at_quarter", 0.25), ("error_at_end", 1.0)):
        errors = medians(runs, name)
        best = best_peer(errors)
        for own in [own for own in (OWN, SOFT, SAME_OPTIMIZER) if own in errors]:
            if best is not None and (factor := errors[best] / errors[own]) < AIM:
                minutes = when * runs[own][0]["settings"]["minutes"]
                found.append(
                    f"after {minutes:g} minutes the error of `{best}` is "
                    f"{format_number(factor)} times that of `{own}`."
                )
    return found


def early_ends(runs: list[dict[str, Any]], minutes: float) -> list[str]:
    """Runs that failed or ended before their time."""
    found = []
    for run in runs:
        who = f"`{run['arm']}`, seed {run['settings']['seed']}"
        spent = run["seconds"] / 60
        if "failure" in run:
            found.append(f"{who}, failed after {spent:.3g} minutes: {run['failure']}")
        elif spent < NEARLY * minutes:
            why = run.get("stop_reason", "" if run["is_finite"] else "not finite")
            found.append(f"{who}, ended after {spent:.3g} minutes. {why}".strip())
    return found


def steps_of(runs: list[dict[str, Any]]) -> str:
    """The middle."""
    return f"{round(statistics.median(run['steps'] for run in runs)):,}"


def errors_of(runs: list[dict[str, Any]], name: str) -> list[float]:
    """Of those that have one."""
    return [run[name] for run in runs if run[name] is not None]


def kebab_case(runs: list[dict[str, Any]], name: str) -> str:
    """The median, the range if there is one, and how many have no error."""
    errors = errors_of(runs, name)
    missing = [why_none(run) for run in runs if run[name] is None]
    if not errors:
        return missing[0]
    text = format_spread(spread(errors))
    return f"{text}; {len(missing)} of {len(runs)} {missing[0]}" if missing else text


def why_none(run: dict[str, Any]) -> str:
    """Why there is no error at some time."""
    if "failure" in run:
        return "failed"
    return "not yet measured" if run["is_finite"] else "not finite"


def medians(runs: Runs, name: str) -> dict[str, float]:
    """Of the arms that have an error by then."""
    found = {arm: errors_of(some, name) for arm, some in runs.items()}
    return {arm: statistics.median(errors) for arm, errors in found.items() if errors}


def standing(
    errors: dict[str, float], own: str, minutes: float, seeds: list[int]
) -> str:
    """How far one of vrba's arms is from the best peer, and which arms are ahead."""
    when = f"After {minutes:g} minutes"
    if own not in errors:
        return f"{when} `{own}` has no error."
    best = best_peer(errors)
    told = f"{when} no peer has an error to hold against `{own}`"
    if best is not None:
        factor = format_number(errors[best] / errors[own])
        told = f"{when} the error of the best peer, `{best}`, is {factor} times `{own}`"
        told += "" if errors[best] >= AIM * errors[own] else ", less than ten times"
    better = [arm for arm, error in errors.items() if error < errors[own]]
    ahead = ", ".join(f"`{arm}`" for arm in better) or "no method"
    count = "one seed" if len(seeds) == 1 else f"{len(seeds)} seeds"
    return f"{told} ({count}); ahead: {ahead}."


def best_peer(errors: dict[str, float]) -> str | None:
    """The arm of another package that has the lowest error."""
    peers = [arm for arm in errors if not _is_own(arm)]
    return min(peers, key=lambda arm: errors[arm], default=None)


def _is_own(arm: str) -> bool:
    """Whether it is vrba."""
    return arm.startswith(OWN)


def _listed(values: list[Any]) -> str:
    return ", ".join(map(str, values))


if __name__ == "__main__":
    write_page()
