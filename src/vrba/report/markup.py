"""Parts of a page as HTML; all text is escaped here."""

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = "report.html"


class Section(NamedTuple):
    """A part of a page with an anchor `name`; its content is HTML."""

    name: str
    title: str
    content: str


class Picture(NamedTuple):
    """A figure of a page; the caption says how to read it."""

    name: str
    title: str
    caption: str
    figure: "Figure"


class Page(NamedTuple):
    """A page: title, HTML below it, sections, and figures after the first section."""

    title: str
    head: str
    sections: list[Section]
    pictures: list[Picture]


def escape(value: Any) -> str:
    """Text with the characters that are special in HTML replaced."""
    return html.escape(str(value))


def format_number(value: float | int) -> str:
    """Two significant digits, such as `1.2e-5`; numbers above 99 as integers."""
    if not math.isfinite(value):
        return "not finite"
    if value >= 99.5 or value == 0:
        return f"{value:.0f}"
    if value >= 0.1:
        return f"{value:.2g}"
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}e{int(exponent)}"


def fill_template(**parts: str) -> str:
    """The text of a page; the title is escaped, the other parts are HTML."""
    text = files(__package__ or "vrba.report").joinpath("page.html")
    template = Template(text.read_text(encoding="utf-8"))
    return template.substitute(parts | {"title": escape(parts["title"])})


def section(name: str, title: str, content: str) -> str:
    """A section with a heading that can be linked to."""
    head = f'<h2 id="{escape(name)}">{escape(title)}</h2>'
    return f"<section>\n{head}\n{content}\n</section>\n"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph; `kind` is its CSS class."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def code(text: str) -> str:
    """A block of code."""
    return f"<pre><code>{escape(text)}</code></pre>"


def bullets(lines: Iterable[str]) -> str:
    """A list; empty text if there are no lines."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table; the first row and the first cell of each row are headings."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows[0])
    body = ""
    for name, *cells in rows[1:]:
        values = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        body += f'<tr><th scope="row">{escape(name)}</th>{values}</tr>\n'
    return (
        f'<div class="wide" tabindex="0"><table class="results"><thead><tr>{head}</tr>'
        f"</thead>\n<tbody>{body}</tbody></table></div>"
    )


def pairs(rows: Iterable[tuple[int, str, str]]) -> str:
    """A table of depth, name and value; names are indented by their depth."""
    lines = "".join(
        f'<tr><th scope="row" style="padding-left:{0.6 + 1.1 * depth:.1f}em">'
        f"{escape(name)}</th><td>{escape(value)}</td></tr>\n"
        for depth, name, value in rows
    )
    return f'<table class="pairs"><tbody>{lines}</tbody></table>'


def figure(name: str, title: str, panels: Sequence[str], caption: str) -> str:
    """A figure of SVG panels, side by side or, on a narrow page, stacked."""
    return (
        f'<figure id="figure-{escape(name)}">\n<h3>{escape(title)}</h3>\n'
        f'<div class="panels">{"".join(panels)}</div>\n'
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>\n"
    )


def links(targets: Mapping[str, str]) -> str:
    """Links by their text."""
    return " ".join(
        f'<a href="{escape(address)}">{escape(name)}</a>'
        for name, address in targets.items()
    )


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns; the first row is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line = lambda cells: "| " + " | ".join(cells) + " |"
    padded = [
        line([cell.ljust(width) for cell, width in zip(row, widths, strict=True)])
        for row in rows
    ]
    rule = line(["-" * width for width in widths])
    return "\n".join([padded[0], rule, *padded[1:]]) + "\n"
