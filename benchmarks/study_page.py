"""Page and figure of a study, from what is kept of it."""

import math
import statistics
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt

import vrba
from vrba.compare import format_spread, spread

from .commit import commit_of
from .shelf import CLEARLY
from .study import Study

VERDICTS = (
    "A higher error with every seed",
    "A lower error with every seed",
    "Undecided",
)

Found = Mapping[str, list[dict[str, Any]]]


def errors_of(runs: list[dict[str, Any]]) -> dict[int, float]:
    """Of the iterate selected by residual, by seed."""
    return {run["seed"]: run["errors"]["selected"] for run in runs}


def ratios_of(found: Found, name: str, baseline: str) -> list[float]:
    """The error of a variant as a share of that of its baseline for the same seed."""
    usual = errors_of(found.get(baseline, []))
    errors = errors_of(found.get(name, []))
    return [errors[seed] / usual[seed] for seed in errors if seed in usual]


def format_values(values: list[float]) -> str:
    """The median, and the ends."""
    return format_spread(spread(values)) if values else "none"


def format_ratios(values: list[float]) -> str:
    """The same with a digit more: it matters on which side of one it is."""
    if not values:
        return "none"
    middle, lowest, highest = map(_three_digits, spread(values))
    return middle if lowest == highest else f"{middle} [{lowest}, {highest}]"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 99.5 else f"{value:.3g}"


def write_page(study: Study, content: dict[str, Any]) -> None:
    """The table and the figure."""
    study.page.write_text(page(study, content), encoding="utf-8")
    draw(study, study.current(content))
    print(f"See docs/{study.page.name}.")


def page(study: Study, content: dict[str, Any]) -> str:
    """Which variants are better or worse than what they are held against, and all."""
    found = study.current(content)
    programs = {
        f"{commit_of(run['program'])}, {run['program']['device']}"
        for runs in found.values()
        for run in runs
    }
    text = f"# {study.title}\n\n{study.head}\n\n"
    text += f"![Errors relative to the baseline]({study.name}.png)\n\n"
    text += f"{content['minutes']:g} minutes a run, one thread, without diagnosing. "
    text += f"{sizes(study)}\n\n"
    text += "".join(f"- {line}\n" for line in said(study, found))
    text += "\n| | variant | error | beside | ratio, same seed | steps | seeds |\n"
    text += "|---|---|---|---|---|---|---|\n" + "\n".join(rows(study, found)) + "\n\n"
    text += "".join(f"Failed: {run}\n\n" for run in content["failures"])
    return text + f"Made by {'; '.join(sorted(programs))}.\n"


def rows(study: Study, found: Found) -> list[str]:
    """Of the table."""
    lines = []
    for title, group in study.groups.items():
        for name in [name for name in group.variants if found.get(name)]:
            errors = errors_of(found[name])
            steps = [float(run["step"]) for run in found[name]]
            ratios = ratios_of(found, name, group.baseline)
            cells = [title, name, format_values(list(errors.values())), group.baseline]
            cells += [format_ratios(ratios), format_values(steps), str(len(errors))]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def said(study: Study, found: Found) -> list[str]:
    """What all seeds agree on, what matters most in each group, what chance does, and
    what is missing."""
    verdicts: dict[str, list[str]] = {word: [] for word in VERDICTS}
    most, counts = [], []
    for title, group in study.groups.items():
        each = {
            name: ratios
            for name in group.variants
            if name != group.baseline
            and (ratios := ratios_of(found, name, group.baseline))
        }
        for name, ratios in each.items():
            verdicts[verdict(ratios)].append(name)
            counts.append(len(ratios))
        if each:
            middle = {name: statistics.median(some) for name, some in each.items()}
            name = max(middle, key=lambda name: abs(math.log(middle[name])))
            told = f"{title}, {name}" if title else name
            told += f" ({_three_digits(middle[name])})"
            most.append((abs(math.log(middle[name])), told))
    most.sort(reverse=True)
    told = [f"{word}: {'; '.join(names)}." for word, names in verdicts.items() if names]
    missing = [name for name in study.variants if not found.get(name)]
    told += [f"Not run: {'; '.join(missing)}."] if missing else []
    if not counts:
        return told
    chance = sum(0.5**count for count in counts)
    return [
        *told,
        f"What changes the error most, by group: {'; '.join(x for _, x in most)}.",
        f"If nothing mattered, about {chance:.1g} of the {len(counts)} would have a "
        "higher error with every seed, and as many a lower one; variants of a group "
        "are held against the same runs, so that a lucky one of these makes all look "
        "worse.",
    ]


def sizes(study: Study) -> str:
    """Of the variant that most are held against."""
    group = next(iter(study.groups.values()))
    recipe = group.variants[group.baseline]()
    model = recipe.model
    network = f"{model.depth}x{model.width}" if isinstance(model, vrba.MLP) else "own"
    return (
        f"The {group.baseline}: {recipe.num_points:,} of {recipe.pool_size:,} points, "
        f"redrawn after {recipe.resample_every} steps, network {network}."
    )


def verdict(ratios: list[float]) -> str:
    """What all seeds say of a variant, if they say the same clearly."""
    worse, better, undecided = VERDICTS
    if min(ratios) > CLEARLY:
        return worse
    return better if max(ratios) < 1 / CLEARLY else undecided


def draw(study: Study, found: Found) -> None:
    """What each variant does to the error: a dot for each seed, a bar at the median."""
    rows = {
        name: ratios
        for group in study.groups.values()
        for name in group.variants
        if name != group.baseline and (ratios := ratios_of(found, name, group.baseline))
    }
    figure, axes = plt.subplots(figsize=(7, 0.28 * len(rows) + 1.2))
    for place, ratios in enumerate(reversed(rows.values())):
        axes.plot(ratios, [place] * len(ratios), "o", ms=4, color="C0", alpha=0.6)
        axes.plot(statistics.median(ratios), place, "|", ms=14, mew=2, color="C3")
    axes.axvline(1.0, color="0.7", lw=1)
    axes.set_yticks(range(len(rows)), list(reversed(rows)))
    axes.set_xscale("log")
    axes.set_xlabel("error / that of the baseline, same seed; the bar is the median")
    axes.set_title(study.title)
    figure.tight_layout()
    figure.savefig(study.page.with_suffix(".png"), dpi=130)
    plt.close(figure)
