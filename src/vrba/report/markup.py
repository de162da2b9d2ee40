"""Parts of a page as text; whatever comes from a run is escaped here."""

import html
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

from matplotlib.figure import Figure

PAGE = "report.html"


class Section(NamedTuple):
    """A part of a page; its content is HTML."""

    name: str
    title: str
    content: str


class Picture(NamedTuple):
    """A figure of a page, and how it is read."""

    name: str
    title: str
    caption: str
    figure: Figure


class Page(NamedTuple):
    """Title, head, sections and figures, which come after the first section."""

    title: str
    head: str
    sections: list[Section]
    pictures: list[Picture]


def escape(value: Any) -> str:
    """Text that a browser shows as it is."""
    return html.escape(str(value))


def fill(**parts: str) -> str:
    """The page with its parts; they are HTML, the title is escaped."""
    text = files(__package__ or "vrba.report").joinpath("page.html")
    template = Template(text.read_text(encoding="utf-8"))
    return template.substitute(parts | {"title": escape(parts["title"])})


def section(name: str, title: str, content: str) -> str:
    """A part of the page that can be linked to."""
    head = f'<h2 id="{escape(name)}">{escape(title)}</h2>'
    return f"<section>\n{head}\n{content}\n</section>\n"


def paragraph(text: str, kind: str = "") -> str:
    """Plain words."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def code(text: str) -> str:
    """Words to type."""
    return f"<pre><code>{escape(text)}</code></pre>"


def bullets(lines: Iterable[str]) -> str:
    """One line after another."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def table(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the heading, the first cell of a row what it is about."""
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
    """Names and values, each indented by its depth."""
    lines = "".join(
        f'<tr><th scope="row" style="padding-left:{0.6 + 1.1 * depth:.1f}em">'
        f"{escape(name)}</th><td>{escape(value)}</td></tr>\n"
        for depth, name, value in rows
    )
    return f'<table class="pairs"><tbody>{lines}</tbody></table>'


def figure(name: str, title: str, panels: Sequence[str], caption: str) -> str:
    """Panels side by side, or below one another on a narrow page."""
    return (
        f'<figure id="figure-{escape(name)}">\n<h3>{escape(title)}</h3>\n'
        f'<div class="panels">{"".join(panels)}</div>\n'
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>\n"
    )


def links(targets: Mapping[str, str]) -> str:
    """From a name to an address on the page, or beside it."""
    return " ".join(
        f'<a href="{escape(address)}">{escape(name)}</a>'
        for name, address in targets.items()
    )
