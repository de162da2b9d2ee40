"""`docs/peers.png`: error against time."""

from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure

from .arms import ARMS
from .groups import Key, Runs
from .runs import ROOT

PICTURE = ROOT / "docs" / "peers.png"
COLORS = {
    "vrba": "tab:blue",
    "deepxde": "tab:red",
    "pina": "tab:brown",
    "jinns": "tab:green",
}
STYLES = ("-", "--", ":", "-.", (0, (1, 3)))
OTHER = {"color": "0.5"}  # of an arm that there is no longer
FIRST_SECOND = 5.0  # that is shown


def panels_of(keys: Iterable[Key]) -> dict[str, Key]:
    """The longest runs of each problem and number of points, by title."""
    longest = {}
    for key in sorted(keys, key=lambda key: key[1]):
        problem, *_, points, _ = key
        longest[f"{problem}, {points:,} points"] = key
    return longest


def draw(groups: dict[Key, Runs]) -> None:
    """Error against time, a panel for each problem and number of points, two in a row;
    a colour for each package."""
    longest = panels_of(groups)
    if not longest:
        return
    num_rows = -(-len(longest) // 2)
    figure = Figure(figsize=(11.5, 4.2 * num_rows + 0.3), layout="constrained")
    panels = figure.subplots(num_rows, 2, squeeze=False).ravel()
    for panel in panels[len(longest) :]:
        panel.set_axis_off()
    looks = looks_of()
    handles: dict[str, Any] = {}
    for panel, (title, key) in zip(panels, longest.items(), strict=False):
        for name, found in groups[key].items():
            for run in [run for run in found if run["curve"]]:
                (line,) = panel.loglog(
                    *zip(*run["curve"], strict=True), **looks.get(name, OTHER)
                )
                handles.setdefault(name, line)
        panel.set(title=title, xlabel="seconds of training")
        panel.set_xlim(left=FIRST_SECOND)
        panel.grid(alpha=0.3)
    for panel in panels[::2]:
        panel.set_ylabel("relative L2 error of the last iterate")
    known = dict.fromkeys([*(name for name in looks if name in handles), *handles])
    lines = [handles[name] for name in known]
    figure.legend(lines, list(known), loc="outside right center", fontsize=8)
    figure.savefig(PICTURE, dpi=110)


def looks_of() -> dict[str, dict[str, Any]]:
    """A colour for each package and a line style for each of its methods; uniform
    sampling is pale."""
    found = {}
    for arm in ARMS:
        twin = arm.name.removesuffix("-uniform")
        same = [one.name for one in ARMS if one.package == arm.package]
        tilted = [name for name in same if not name.endswith("-uniform")]
        found[arm.name] = {
            "color": COLORS[arm.package],
            "linestyle": STYLES[tilted.index(twin) % len(STYLES)],
            "linewidth": 2.2 if arm.name == "vrba" else 1.4,
            "alpha": 1.0 if arm.name == twin else 0.4,
            "zorder": 4 if arm.is_own else 3,
        }
    return found
