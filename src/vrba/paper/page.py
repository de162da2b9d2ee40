"""A table or a figure of a paper: what was published, and what has come of it."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .comparison_page import PICTURES, address_of, pictures_of
from .figures import plot_published
from .markup import (
    PAGE,
    Page,
    Picture,
    Section,
    bullets,
    format_number,
    links,
    paragraph,
    table,
)
from .paired import Spread
from .several import ComparisonRecord
from .tables import aligned, spread_text

_AGAINST = ("selected / published", "last / published")
_HEADS = (
    "experiment",
    "arm",
    "its word",
    "published",
    "later revision",
    "here, selected",
    "here, last",
    *_AGAINST,
    "gain, published",
    "gain, selected",
    "gain, last",
    "gain, fair",
    "seeds",
    "steps",
    "minutes a run",
)
READING = (
    "Errors are relative L2 errors of the iterate that was selected by residual, or of "
    "operators by the error on the validation set, and of the last one: the median "
    "over seeds [lowest, highest]. A gain is the error of the first row of an "
    "experiment divided by that of this one for the same seed, of selected or of last "
    "iterates; the fair gain is that of selected ones over a baseline that is not held "
    "back. The word is what the command line calls an arm. Empty is what was not "
    "published, or not run."
)


def exhibit_text(content: Mapping[str, Any], explains: bool = True) -> str:
    """As Markdown: the table, what seeds say and settings; how it is read and what
    differs from what was published, unless that is said elsewhere."""
    text = f"# {exhibit_title(content)}\n\n{aligned(_rows(content))}"
    text += f"\n{READING}\n" if explains else ""
    parts = {f"What {name} says": lines for name, lines in _said(content).items()}
    parts |= {"Settings": settings} if (settings := _settings(content)) else {}
    for head, lines in parts.items():
        text += listed_text(head, lines)
    differs = ", what differs from what was published"
    return text + (differences_text([content], differs) if explains else "")


def differences_text(contents: Iterable[Mapping[str, Any]], added: str = "") -> str:
    """What differs from what was published, of each experiment once; its title stands
    before, with what is to be `added`."""
    found = {
        f"{title}{added}": lines
        for content in contents
        for title, lines in content["differences"].items()
    }
    return "".join(listed_text(head, lines) for head, lines in found.items())


def listed_text(head: str, lines: Iterable[str]) -> str:
    """A list with a head."""
    return f"\n{head}:\n" + "".join(f"- {line}\n" for line in lines)


def _settings(content: Mapping[str, Any]) -> list[str]:
    """Of each comparison that has been begun: of its problem or data, and its flags."""
    lines = []
    for name, one in content["comparisons"].items():
        if "settings" in one:
            known = dict(one["problem"].get("settings", {}))
            known.pop("class", None)
            target = f"{one['settings']['target']}{_in_brackets(known)}"
            flags = [f"--{k} {v}" for k, v in one["settings"]["flags"].items()]
            lines.append(f"{name}: {' '.join([target, *flags])}")
    return lines


def _in_brackets(settings: Mapping[str, Any]) -> str:
    """` (viscosity 0.00318)`, if there are any."""
    short = lambda value: f"{value:.3g}" if isinstance(value, float) else str(value)
    told = [f"{k} {short(v)}" for k, v in settings.items() if v is not None]
    return f" ({', '.join(told)})" if told else ""


def _said(content: Mapping[str, Any]) -> dict[str, list[str]]:
    """What the seeds say of arms, what is to be warned of, and which runs failed."""
    found = {}
    for name, one in content["comparisons"].items():
        failed = [f"{run}: {text}" for run, text in one.get("failures", {}).items()]
        lines = [*one.get("sentences", ()), *one.get("warnings", ()), *failed]
        if lines:
            found[name] = lines
    return found


def page_of_exhibit(
    content: Mapping[str, Any],
    comparisons: Mapping[str, ComparisonRecord],
    pictures: Sequence[str],
    out: Path,
) -> Page:
    """The table, its figures, what differs, and where the runs are: `comparisons` are
    by their folder."""
    differs = "".join(
        paragraph(f"{title}:") + bullets(lines)
        for title, lines in content["differences"].items()
    )
    titles = {row.get("comparison"): row["experiment"] for row in content["rows"]}
    said = "".join(
        paragraph(f"{titles[name]}:") + bullets(lines)
        for name, lines in _said(content).items()
    )
    settings = bullets(lines) if (lines := _settings(content)) else ""
    named = {Path(path).name: found for path, found in comparisons.items()}
    pages = {
        titles[Path(path).name]: address_of(Path(path) / PAGE, out)
        for path in comparisons
    }
    sections = [
        Section("result", "Result", _tables(content) + paragraph(READING)),
        Section("said", "What it says", said or paragraph("Nothing yet.")),
        Section("settings", "Settings", settings or paragraph("Nothing yet.")),
        Section("differences", "What differs", differs or paragraph("Nothing known.")),
        Section("runs", "Runs", f"<p>{links(pages)}</p>"),
    ]
    head = paragraph(_told(content), "result")
    shown = [
        Picture(f"{name}-{one.name}", f"{titles[name]}: {one.title.lower()}", *one[2:])
        for name, found in named.items()
        for one in pictures_of(found)
        if one.name in pictures
    ]
    for name, found in named.items():
        shown += _published(content, name, found)
    return Page(exhibit_title(content), head, sections, shown)


def _published(
    content: Mapping[str, Any], name: str, found: ComparisonRecord
) -> list[Picture]:
    """The published curves of one comparison beside its own, if there are any."""
    rows = [row for row in content["rows"] if row.get("comparison") == name]
    rows = [row for row in rows if "curve" in row]
    if not rows or found.measure != "error":
        return []
    curves = {row["word"]: row["curve"] for row in rows}
    figure = plot_published(found.records(), found.label, curves)
    kind = "published"
    title, reading = PICTURES[kind]
    caption = f"{reading} Where these are from: {rows[0]['curve_source']}."
    title = f"{rows[0]['experiment']}: {title.lower()}"
    return [Picture(f"{name}-{kind}", title, caption, figure)]


def exhibit_title(content: Mapping[str, Any]) -> str:
    """`Table 1, scale laptop: Allen-Cahn`."""
    name = re.sub(r"(\d)", r" \1", content["name"].capitalize(), count=1)
    return f"{name}, scale {content['scale']}: {content['title']}"


def _told(content: Mapping[str, Any]) -> str:
    """How many rows have come out at or below what was published."""
    if not _is_comparable(content):
        return "It is smaller than what was published: compare rows with one another."
    known = [both for row in content["rows"] if None not in (both := _against(row))]
    below = [sum(ratio <= 1 for ratio in some) for some in zip(*known, strict=True)]
    selected, last = below or (0, 0)
    return (
        f"{selected} of {len(known)} rows are at or below the published error by the "
        f"selected iterate, {last} by the last."
    )


def _is_comparable(content: Mapping[str, Any]) -> bool:
    """Whether errors may be held against those that were published."""
    return content["scale"] == "paper"


def _rows(content: Mapping[str, Any]) -> list[list[str]]:
    """Without columns that have nothing to tell."""
    untold = () if _is_comparable(content) else _AGAINST
    rows = [_HEADS, *(_row(row) for row in content["rows"])]
    return _told_columns(rows, untold)


def _told_columns(
    rows: Sequence[Sequence[str]], untold: Sequence[str] = ()
) -> list[list[str]]:
    """Columns that have a cell that is not empty, and are not to be left untold."""
    columns = [
        column
        for column in zip(*rows, strict=True)
        if any(column[1:]) and column[0] not in untold
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _tables(content: Mapping[str, Any]) -> str:
    """One for each experiment, so that what came of it needs no scrolling."""
    (_, *head), *rows = _rows(content)
    found: dict[str, list[list[str]]] = {}
    for experiment, *cells in rows:
        found.setdefault(experiment, [head]).append(cells)
    return "".join(
        paragraph(f"{name}:") + table(_told_columns(one)) for name, one in found.items()
    )


def _against(row: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """The selected and the last error, divided by the published one. Below the floor
    errors cannot be told apart."""
    published, floor = row["published"], row.get("floor", 0.0)
    errors = [(row.get(name) or {}).get("median") for name in ("ours", "last")]
    known = [e is not None and bool(published) for e in errors]
    selected, last = (
        max(error, floor) / published if is_known else None
        for error, is_known in zip(errors, known, strict=True)
    )
    return selected, last


def _row(row: Mapping[str, Any]) -> list[str]:
    floor = row.get("floor", 0.0)
    seconds = row.get("seconds")
    return [
        row["experiment"],
        row["label"] + (f" ({row['note']})" if row.get("note") else ""),
        row.get("word", ""),
        _number(row["published"]),
        _number(row.get("revised")),
        _spread(row.get("ours"), floor),
        _spread(row.get("last"), floor),
        *map(_number, _against(row)),
        _number(row.get("published_gain")),
        _number(row.get("gain")),
        _number(row.get("last_gain")),
        _number(row.get("fair_gain")),
        str(len(row["seeds"])) if row.get("seeds") else "",
        _number(row["steps"]["median"]) if row.get("steps") else "",
        f"{seconds['median'] / 60:.1f}" if seconds else "",
    ]


def _number(value: float | None) -> str:
    return "" if value is None else format_number(value)


def _spread(found: Mapping[str, float | None] | None, floor: float) -> str:
    """A file has nothing where a number was not finite."""
    if not found:
        return ""
    known = [found[name] for name in ("median", "lowest", "highest")]
    return spread_text(Spread(*(math.inf if v is None else v for v in known)), floor)
