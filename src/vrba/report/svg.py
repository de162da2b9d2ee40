"""Panels of figures as SVG, in the text colour of the page."""

import io
import re
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from .markup import escape

_MARGIN = 0.06  # inches
_MAX_SCALE = 1.25  # pixels per point, so that all panels have text of one size
_POINTS = 72  # per inch
_NO_METADATA = ("Date", "Creator", "Format", "Type")


def panels_as_svg(figure: Figure, name: str) -> list[str]:
    """Each panel as an SVG element with a text label for screen readers.

    A narrow page can then stack the panels. Black becomes the text colour of the page.
    `name` keeps the ids of several figures on a page distinct. The figure is changed:
    its background and title are removed.
    """
    figure.patch.set_visible(False)
    if figure.get_suptitle():
        figure.suptitle("")  # it would be part of every panel
    groups = _groups(figure)
    elements = []
    for k, (panel, colorbars) in enumerate(groups):
        for other, others in groups:
            for axes in (other, *others):
                axes.set_visible(other is panel)
        panel.patch.set_visible(False)
        elements.append(_svg(figure, panel, [panel, *colorbars], f"{name}-{k}"))
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


def _svg(figure: Figure, panel: Axes, axes: list[Axes], name: str) -> str:
    """The SVG element of a panel, cropped to its visible parts."""
    canvas, buffer = FigureCanvasSVG(figure), io.StringIO()
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": name}
    with matplotlib.rc_context(settings):
        canvas.print_svg(buffer, metadata=dict.fromkeys(_NO_METADATA))
    boxes = [one.get_tightbbox() for one in axes]
    box = Bbox.union([one for one in boxes if one is not None])
    inches = box.transformed(figure.dpi_scale_trans.inverted()).padded(_MARGIN)
    left, bottom, right, top = (_POINTS * end for end in inches.extents)
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
