"""The page and the table of a table or figure of the paper."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..compare import (
    PICTURES,
    ComparisonRecord,
    Spread,
    format_spread,
    pictures_of,
    relative_address,
    settings_from,
)
from ..report import (
    PAGE,
    Page,
    Picture,
    Section,
    bullets,
    format_number,
    links,
    markdown_table,
    paragraph,
    plot_published,
    table,
    write_page,
)

_RATIOS = ("selected / published", "last / published")
_HEADS = (
    "experiment",
    "row",
    "method",
    "published",
    "later revision",
    "here, selected",
    "here, last",
    *_RATIOS,
    "gain, published",
    "gain, selected",
    "gain, last",
    "gain, fair",
    "seeds",
    "steps",
    "minutes per run",
)
HOW_TO_READ = (
    "Errors are relative L2 errors: the median over seeds [minimum, maximum]. The "
    "selected iterate has the lowest residual, for operators the lowest error on the "
    "validation set; the last iterate is beside it. A gain is the error of the first "
    "row of an experiment divided by that of this row with the same seed. The fair "
    "gain is that over a fair baseline, for selected iterates. The method is as in "
    "`vrba compare --policies`. A cell is empty if nothing was published, or not run."
)


def item_text(content: Mapping[str, Any], explains: bool = True) -> str:
    """The table, its sentences and the settings as Markdown; with how to read them and
    the differences from the paper if `explains`."""
    text = f"# {item_title(content)}\n\n{markdown_table(_rows(content))}"
    text += f"\n{HOW_TO_READ}\n" if explains else ""
    parts = {f"Results of {name}": lines for name, lines in _notes(content).items()}
    parts |= {"Settings": settings} if (settings := _settings(content)) else {}
    for head, lines in parts.items():
        text += _list_text(head, lines)
    suffix = ", differences from the paper"
    return text + (differences_text([content], suffix) if explains else "")


def differences_text(contents: Iterable[Mapping[str, Any]], suffix: str = "") -> str:
    """The differences from the paper, for each experiment once, below its title with a
    `suffix`."""
    found = {
        f"{title}{suffix}": lines
        for content in contents
        for title, lines in content["differences"].items()
    }
    return "".join(_list_text(head, lines) for head, lines in found.items())


def _list_text(head: str, lines: Iterable[str]) -> str:
    return f"\n{head}:\n" + "".join(f"- {line}\n" for line in lines)


def _settings(content: Mapping[str, Any]) -> list[str]:
    """Target, parameters and flags of each comparison that was begun."""
    lines = []
    for name, one in content["comparisons"].items():
        if "settings" in one:
            known = dict(one["problem"].get("settings", {}))
            known.pop("class", None)
            target, *flags = settings_from(one["settings"]).described_flags().split(" ")
            target += _in_brackets(known)
            lines.append(f"{name}: {' '.join([target, *flags])}")
    return lines


def _in_brackets(settings: Mapping[str, Any]) -> str:
    """` (viscosity 0.00318)`, if there are any."""
    as_text = lambda value: f"{value:.3g}" if isinstance(value, float) else str(value)
    known = [f"{k} {as_text(v)}" for k, v in settings.items() if v is not None]
    return f" ({', '.join(known)})" if known else ""


def _notes(content: Mapping[str, Any]) -> dict[str, list[str]]:
    """Sentences, warnings and failures of each comparison."""
    found = {}
    for name, one in content["comparisons"].items():
        failed = [f"{run}: {text}" for run, text in one.get("failures", {}).items()]
        lines = [*one.get("sentences", ()), *one.get("warnings", ()), *failed]
        if lines:
            found[name] = lines
    return found


def write_item_page(
    content: Mapping[str, Any],
    folders: Sequence[Path],
    pictures: Sequence[str],
    out: Path,
) -> Path:
    """Write the page of a table or figure into `out`, with these `pictures` of the
    comparisons in `folders`."""
    found = {path: ComparisonRecord.read(path) for path in folders}
    return write_page(_page(content, found, pictures, out), out)


def _page(
    content: Mapping[str, Any],
    comparisons: Mapping[Path, ComparisonRecord],
    pictures: Sequence[str],
    out: Path,
) -> Page:
    """Table, figures, differences and links to the comparisons."""
    differences = "".join(
        paragraph(f"{title}:") + bullets(lines)
        for title, lines in content["differences"].items()
    )
    titles = {row.get("comparison"): row["experiment"] for row in content["rows"]}
    notes = "".join(
        paragraph(f"{titles[name]}:") + bullets(lines)
        for name, lines in _notes(content).items()
    )
    settings = bullets(lines) if (lines := _settings(content)) else ""
    named = {path.name: found for path, found in comparisons.items()}
    pages = {titles[p.name]: relative_address(p / PAGE, out) for p in comparisons}
    nothing = paragraph("Nothing yet.")
    sections = [
        Section("result", "Result", _tables(content) + paragraph(HOW_TO_READ)),
        Section("notes", "What it shows", notes or nothing),
        Section("settings", "Settings", settings or nothing),
        Section(
            "differences",
            "Differences from the paper",
            differences or paragraph("None known."),
        ),
        Section("runs", "Runs", f"<p>{links(pages)}</p>"),
    ]
    shown = [
        Picture(f"{name}-{one.name}", f"{titles[name]}: {one.title.lower()}", *one[2:])
        for name, found in named.items()
        for one in pictures_of(found)
        if one.name in pictures
    ]
    for name, found in named.items():
        shown += _published_curves(content, name, found)
    head = paragraph(_summary(content), "result")
    return Page(item_title(content), head, sections, shown)


def _published_curves(
    content: Mapping[str, Any], name: str, found: ComparisonRecord
) -> list[Picture]:
    """The published curves of a comparison beside its own, if there are any."""
    rows = [row for row in content["rows"] if row.get("comparison") == name]
    rows = [row for row in rows if "curve" in row]
    if not rows or found.measure != "error":
        return []
    curves = {row["method"]: row["curve"] for row in rows}
    figure = plot_published(found.records(), found.label, curves)
    title, reading = PICTURES["published"]
    caption = f"{reading} Source: {rows[0]['curve_source']}."
    title = f"{rows[0]['experiment']}: {title.lower()}"
    return [Picture(f"{name}-published", title, caption, figure)]


def item_title(content: Mapping[str, Any]) -> str:
    """`Table 1, scale laptop: Allen-Cahn`."""
    name = re.sub(r"(\d)", r" \1", content["name"].capitalize(), count=1)
    return f"{name}, scale {content['scale']}: {content['title']}"


def _summary(content: Mapping[str, Any]) -> str:
    """How many rows are at or below the published error."""
    if not _is_comparable(content):
        return (
            "This scale is smaller than the published one: compare rows with one "
            "another only."
        )
    known = [both for row in content["rows"] if None not in (both := _ratios(row))]
    below = [sum(ratio <= 1 for ratio in some) for some in zip(*known, strict=True)]
    selected, last = below or (0, 0)
    return (
        f"{selected} of {len(known)} rows are at or below the published error by the "
        f"selected iterate, {last} by the last."
    )


def _is_comparable(content: Mapping[str, Any]) -> bool:
    """Whether errors may be compared with published ones."""
    return content["scale"] == "paper"


def _rows(content: Mapping[str, Any]) -> list[list[str]]:
    """The header and all rows, without empty columns."""
    hidden = () if _is_comparable(content) else _RATIOS
    rows = [_HEADS, *(_cells(row) for row in content["rows"])]
    return _filled_columns(rows, hidden)


def _filled_columns(
    rows: Sequence[Sequence[str]], hidden: Sequence[str] = ()
) -> list[list[str]]:
    """Without empty columns, and without those that are hidden."""
    columns = [
        column
        for column in zip(*rows, strict=True)
        if any(column[1:]) and column[0] not in hidden
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _tables(content: Mapping[str, Any]) -> str:
    """One HTML table per experiment, so that it fits a screen."""
    (_, *head), *rows = _rows(content)
    found: dict[str, list[list[str]]] = {}
    for experiment, *cells in rows:
        found.setdefault(experiment, [head]).append(cells)
    return "".join(
        paragraph(f"{name}:") + table(_filled_columns(one))
        for name, one in found.items()
    )


def _ratios(row: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """The selected and the last error, divided by the published one; errors below the
    floor count as the floor."""
    published, floor = row["published"], row.get("floor", 0.0)
    errors = [(row.get(name) or {}).get("median") for name in ("ours", "last")]
    selected, last = (
        max(error, floor) / published if error is not None and published else None
        for error in errors
    )
    return selected, last


def _cells(row: Mapping[str, Any]) -> list[str]:
    floor = row.get("floor", 0.0)
    seconds = row.get("seconds")
    return [
        row["experiment"],
        row["label"] + (f" ({row['note']})" if row.get("note") else ""),
        row.get("method", ""),
        _number(row["published"]),
        _number(row.get("revised")),
        _spread(row.get("ours"), floor),
        _spread(row.get("last"), floor),
        *map(_number, _ratios(row)),
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
    """A file has null where a number was not finite."""
    if not found:
        return ""
    known = [found[name] for name in ("median", "lowest", "highest")]
    numbers = [math.inf if value is None else value for value in known]
    return format_spread(Spread(*numbers), floor)
