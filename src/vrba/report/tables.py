"""Results of several methods as a table, and in words."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .markup import format_number
from .paired import WANTED_CONFIDENCE, Number, Paired, Spread, spread

Runs = Sequence[Mapping[str, Any]]

_OTHERS = {
    "residual_l2": "residual",
    "p95": "95 % below",
    "max": "largest",
    "train": "training set",
    "step": "steps",
    "seconds": "seconds",
}


def comparison_table(arms: Mapping[str, Runs], what: str, floor: Number = 0.0) -> str:
    """A Markdown table with a line for each arm.

    A run gives `selected` and `last`, the error or residual (`what`) of two iterates,
    `step` and `seconds`; of a problem `residual_l2`, of an operator how large the error
    of functions is, `p95` and `max`. Values below `floor` are shown as a bound.
    """
    heads = ["arm", "seeds", f"{what}, selected", f"{what}, last"]
    given = {key for runs in arms.values() for run in runs for key in run}
    others = {key: head for key, head in _OTHERS.items() if key in given}
    rows = [heads + list(others.values())]
    for arm, runs in arms.items():
        row = [arm, str(len(runs))]
        row += [_cell(runs, key, floor) for key in ("selected", "last")]
        row += [_cell(runs, key) for key in others]
        rows.append(row)
    return aligned(rows)


def comparison_sentence(
    arm: str, baseline: str, what: str, paired: Paired | None
) -> str:
    """What the seeds say of an arm against the baseline, and how sure that is."""
    if paired is None:
        return f"{arm}: no seed was run both with it and with {baseline}."
    count = len(paired.ratios)
    text = f"{arm}: {paired.median:.3g} times the {what} of {baseline}"
    if count == 1:
        return f"{text} with one seed, from which nothing follows."
    text += f" (median of {count} seeds, {paired.lower:.3g} to {paired.upper:.3g})"
    if not (paired.is_lower or paired.is_higher):
        return f"{text}: no difference that stands out from the spread."
    way = "lower" if paired.is_lower else "higher"
    if paired.confidence >= WANTED_CONFIDENCE:
        sure = math.floor(100 * paired.confidence)
        return f"{text}: {way}, beyond the spread ({sure} % confidence)."
    chance = round(1 / (1 - paired.confidence))
    return (
        f"{text}: {way} with every seed. Between equal methods chance does that 1 time "
        f"in {chance}: a hint, no proof."
    )


def _cell(runs: Runs, key: str, floor: Number = 0.0) -> str:
    """Of all runs that tell it: older ones may not."""
    told = [run[key] for run in runs if key in run]
    return spread_text(spread(told), floor) if told else "none"


def spread_text(found: Spread, floor: Number = 0.0) -> str:
    """The median, and the ends if they differ; below the floor as a bound."""
    show = lambda value: (
        f"<{format_number(floor)}" if value < floor else format_number(value)
    )
    if found.lowest == found.highest:
        return show(found.median)
    return f"{show(found.median)} [{show(found.lowest)}, {show(found.highest)}]"


def aligned(rows: list[list[str]]) -> str:
    """A Markdown table with its columns below one another."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line = lambda cells: "| " + " | ".join(cells) + " |"
    padded = [
        line([cell.ljust(width) for cell, width in zip(row, widths, strict=True)])
        for row in rows
    ]
    rule = line(["-" * width for width in widths])
    return "\n".join([padded[0], rule, *padded[1:]]) + "\n"
