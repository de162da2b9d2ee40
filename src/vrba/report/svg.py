"""Panels of figures as SVG, in the text colour of the page."""

import io
import re
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from .markup import escape

_PADDING = 4  # points
_MAX_SCALE = 1.25  # pixels per point, so that all panels have text of one size
_POINTS = 72  # per inch
_NO_METADATA = ("Date", "Creator", "Format", "Type")


def panels_as_svg(figure: Figure, name: str) -> list[str]:
    """Each panel as an SVG element with a text label for screen readers.

    A narrow page can then stack the panels. They have equal sizes and margins, so that
    axes and text align. Black becomes the text colour of the page. `name` keeps the ids
    of several figures on a page distinct. The figure is changed: its background and
    title are removed.
    """
    figure.patch.set_visible(False)
    if figure.get_suptitle():
        figure.suptitle("")  # it would be part of every panel
    groups = _groups(figure)
    cells = [_cell(panel) for panel, _ in groups]
    margins = _margins(groups, cells)
    elements = []
    for k, ((panel, _), cell) in enumerate(zip(groups, cells, strict=True)):
        for other, colorbars in groups:
            for axes in (other, *colorbars):
                axes.set_visible(other is panel)
        panel.patch.set_visible(False)
        elements.append(_svg(figure, panel, cell + margins, f"{name}-{k}"))
    return elements


def _groups(figure: Figure) -> list[tuple[Axes, list[Axes]]]:
    """Each panel with its colour bars."""
    found = []
    for panel in figure.axes:
        bars = [artist.colorbar for artist in panel.collections]
        colorbars = [bar.ax for bar in bars if bar is not None]
        if panel.get_label() != "<colorbar>":
            found.append((panel, colorbars))
    return found


def _cell(panel: Axes) -> np.ndarray:
    """Left, bottom, right and top in points of the panel with its colour bars."""
    figure, place = panel.get_figure(), panel.get_subplotspec()
    if not isinstance(figure, Figure) or place is None:
        raise ValueError("`figure` must have panels in a grid.")
    box = place.get_topmost_subplotspec().get_position(figure)
    width, height = _POINTS * figure.get_size_inches()
    return np.asarray(box.extents) * np.array([width, height, width, height])


def _margins(
    groups: list[tuple[Axes, list[Axes]]], cells: list[np.ndarray]
) -> np.ndarray:
    """How far labels and ticks reach beyond the cell of any panel on each side."""
    reaches = []
    for (panel, colorbars), cell in zip(groups, cells, strict=True):
        boxes = [one.get_tightbbox() for one in (panel, *colorbars)]
        box = Bbox.union([one for one in boxes if one is not None])
        figure = panel.get_figure()
        dpi = _POINTS if figure is None else figure.dpi
        reaches.append(np.asarray(box.extents) * _POINTS / dpi - cell)
    least, most = np.min(reaches, axis=0), np.max(reaches, axis=0)
    return np.array([*least[:2], *most[2:]]) + _PADDING * np.array([-1, -1, 1, 1])


def _svg(figure: Figure, panel: Axes, extents: np.ndarray, name: str) -> str:
    """The SVG element of a panel, cropped to these extents in points."""
    canvas, buffer = FigureCanvasSVG(figure), io.StringIO()
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": name}
    with matplotlib.rc_context(settings):
        canvas.print_svg(buffer, metadata=dict.fromkeys(_NO_METADATA))
    left, bottom, right, top = extents
    height = _POINTS * figure.get_figheight()
    view = f"{left:.1f} {height - top:.1f} {right - left:.1f} {top - bottom:.1f}"
    width = _MAX_SCALE * (right - left)
    head = (
        f'<svg viewBox="{view}" style="max-width:{width:.0f}px" role="img" '
        f'aria-label="{escape(_label(panel))}" fill="currentColor">'
    )
    return head + _content(buffer.getvalue(), name)


def _label(panel: Axes) -> str:
    """The alternative text of a panel."""
    across, up = panel.get_xlabel(), panel.get_ylabel()
    title = panel.get_title()
    if title:
        return f"{title}, over {across} and {up}"
    return f"{up} against {across}"


def _content(text: str, name: str) -> str:
    """The inside of the SVG element, with unique ids and `currentColor` for black."""
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text[text.index("<svg") :].split(">", 1)[1]
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    return text.replace("#000000", "currentColor")
