"""`docs/peers.md` and `docs/peers.png`, from the results alone."""

import statistics
from collections.abc import Iterable
from typing import Any

from matplotlib import colormaps
from matplotlib.figure import Figure

from vrba.report import short, spread, spread_text

from ..commit import commit_of
from .arms import ARMS
from .cases import INITIAL_WEIGHT, POINTS_PER_INITIAL
from .results import read_results
from .runs import ROOT

PAGE, PICTURE = ROOT / "docs" / "peers.md", ROOT / "docs" / "peers.png"
OWN, SOFT, SAME_OPTIMIZER = "vrba", "vrba-soft", "vrba-ssbroyden"
NEARLY = 0.98  # of the time: less is early
HEAD = """# Beside other packages

Written by `python -m benchmarks.peers`, never by hand: the same problem, network (tanh,
float64), number of points and minutes in vrba and in {peers}. Each runs on threads of
its own, in an environment of its own. Errors are relative L2 against the problem's own
reference, of the last iterate; the median over seeds [lowest, highest] if there are
several.

What to bear in mind: network, number of points and redraw interval are those of vrba's
default, and no peer was tuned. The optimizers differ, so what is seen here is not
adaptivity alone; that is an arm of vrba beside the same with `-uniform`, where both
were run. Arms of vrba with another optimizer, named so, have one of a kind that a peer
has, with another start or schedule.

The time counts training with compilation, but not imports, and not the measurement of
the error: peers' clocks stand while it is measured; vrba's own runs on, so that a
measurement is timed after the run and taken off for each. What vrba spends on its
diagnosing, which no peer does, counts; that it makes its first pool does not. Between
two measurements the logarithm of an error is taken as linear in time.

The same for all: the inputs scaled to [-1, 1], and boundary and initial values exact by
the same output transform. In Allen-Cahn the peers have periodic inputs and the initial
values in the loss, with weight {weight:g}, on one point for {share} of the others. So
have the arms of vrba, which draw them anew, but for `vrba` and `vrba-uniform`: these
have their default ansatz, which peers lack.
Not the same: the optimizer, how points are chosen, and the random initial networks,
which are each package's own. The number of points suits few, costly steps; first-order
arms may do better with fewer. Arms of other commits were run on another day, on a
machine of the same kind that may have been faster or slower.

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
    text += "\n## Notes on the arms\n\n"
    shown_arms = {run["arm"] for run in known.values()}
    noted = [arm for arm in ARMS if arm.note and arm.name in shown_arms]
    notes = [f"- `{arm.name}`: {arm.note}" for arm in noted]
    return text + "\n".join(notes) + "\n"


def peers_of(known: dict[str, dict[str, Any]]) -> list[str]:
    """Names and versions, as the runs have told them."""
    found = set()
    for run in known.values():
        versions = run["about"].get("versions", {})
        if not run["arm"].startswith(OWN) and versions:
            found.add(" ".join(next(iter(versions.items()))))
    return sorted(found)


Runs = dict[str, list[dict[str, Any]]]
Key = tuple[str, float, int, int, int, int, int]


def grouped(known: dict[str, dict[str, Any]]) -> dict[Key, Runs]:
    """Runs by what they share, then by arm, in the order of the arms."""
    groups: dict[Key, Runs] = {}
    order = [arm.name for arm in ARMS]
    for run in known.values():
        names = ("problem", "minutes", "threads", "depth", "width", "points", "pool")
        key: Any = tuple(run["settings"][name] for name in names)
        groups.setdefault(key, {}).setdefault(run["arm"], []).append(run)
    rank = lambda item: order.index(item[0]) if item[0] in order else len(order)
    return {
        key: dict(sorted(runs.items(), key=rank))
        for key, runs in sorted(groups.items())
    }


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
        f"| arm | optimizer | points | steps | {minutes / 4:g} min | {minutes:g} min |",
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
            shown(found, "error_at_quarter"),
            shown(found, "error_at_end"),
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


def early_ends(runs: list[dict[str, Any]], minutes: float) -> list[str]:
    """Runs that failed or ended before their time."""
    found = []
    for run in runs:
        who = f"`{run['arm']}`, seed {run['settings']['seed']}"
        spent = run["seconds"] / 60
        if "failure" in run:
            found.append(f"{who}, failed after {spent:.3g} minutes: {run['failure']}")
        elif spent < NEARLY * minutes:
            why = run.get("status", "" if run["is_finite"] else "not finite")
            found.append(f"{who}, ended after {spent:.3g} minutes. {why}".strip())
    return found


def steps_of(runs: list[dict[str, Any]]) -> str:
    """The middle."""
    return f"{round(statistics.median(run['steps'] for run in runs)):,}"


def errors_of(runs: list[dict[str, Any]], name: str) -> list[float]:
    """Of those that have one."""
    return [run[name] for run in runs if run[name] is not None]


def shown(runs: list[dict[str, Any]], name: str) -> str:
    """The median, the range if there is one, and how many have no error."""
    errors = errors_of(runs, name)
    missing = [why_none(run) for run in runs if run[name] is None]
    if not errors:
        return missing[0]
    text = spread_text(spread(errors))
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
    peers = {arm: error for arm, error in errors.items() if not arm.startswith(OWN)}
    told = f"{when} no peer has an error to hold against `{own}`"
    if peers:
        best = min(peers, key=lambda arm: peers[arm])
        factor = short(peers[best] / errors[own])
        told = f"{when} the error of the best peer, `{best}`, is {factor} times `{own}`"
    better = [arm for arm, error in errors.items() if error < errors[own]]
    ahead = ", ".join(f"`{arm}`" for arm in better) or "no arm"
    count = "one seed" if len(seeds) == 1 else f"{len(seeds)} seeds"
    return f"{told} ({count}); ahead: {ahead}."


def _listed(values: list[Any]) -> str:
    return ", ".join(map(str, values))


def panels_of(keys: Iterable[Key]) -> dict[str, Key]:
    """The longest runs of each problem and number of points, by title."""
    longest = {}
    for key in sorted(keys, key=lambda key: key[1]):
        problem, *_, points, _ = key
        longest[f"{problem}, {points:,} points"] = key
    return longest


def draw(groups: dict[Key, Runs]) -> None:
    """Error against time, a panel for each problem and number of points."""
    longest = panels_of(groups)
    if not longest:
        return
    figure = Figure(figsize=(5.2 * len(longest), 4.8), layout="constrained")
    panels = figure.subplots(1, len(longest), squeeze=False)[0]
    names = dict.fromkeys([arm.name for arm in ARMS])
    names |= dict.fromkeys(name for runs in groups.values() for name in runs)
    colors = {name: colormaps["tab20"](k) for k, name in enumerate(names)}
    for panel, (title, key) in zip(panels, longest.items(), strict=True):
        for number, (name, found) in enumerate(groups[key].items()):
            is_own = name.startswith(OWN)
            for place, run in enumerate(run for run in found if run["curve"]):
                panel.loglog(
                    *zip(*run["curve"], strict=True),
                    color=colors[name],
                    linestyle="--" if "uniform" in name else "-",
                    linewidth=2.2 if name == OWN else 1.4 if is_own else 1.0,
                    marker=None if is_own else "o",
                    markersize=2.5,
                    label=name if place == 0 else None,
                    zorder=3 + number,
                )
        panel.set(title=title, xlabel="seconds of training")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("relative L2 error of the last iterate")
    handles = {}
    for panel in panels:
        lines, names = panel.get_legend_handles_labels()
        handles |= dict(zip(names, lines, strict=True))
    figure.legend(
        list(handles.values()), list(handles), loc="outside right center", fontsize=8
    )
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    write_page()
