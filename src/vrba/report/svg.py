"""Figures as SVG for a page: panel by panel, in the colours of the text around them."""

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
_LARGEST = 1.25  # pixels a point, so that text stays of one size
_POINTS = 72  # an inch
_UNSAID = ("Date", "Creator", "Format", "Type")


def panels_as_svg(figure: Figure, name: str) -> list[str]:
    """Each panel of a figure as an SVG element with a label for those who cannot see
    it, so that a narrow page can stack what a wide one shows side by side.

    Black becomes the colour of the page's text. `name` keeps the ids of several figures
    of one page apart. The figure is used up: its background is gone.
    """
    figure.patch.set_visible(False)
    if figure.get_suptitle():
        figure.suptitle("")  # it belongs to all panels
    groups = _groups(figure)
    found = []
    for k, (panel, scales) in enumerate(groups):
        for other, others in groups:
            for axes in (other, *others):
                axes.set_visible(other is panel)
        panel.patch.set_visible(False)
        found.append(_svg(figure, panel, [panel, *scales], f"{name}-{k}"))
    return found


def _groups(figure: Figure) -> list[tuple[Axes, list[Axes]]]:
    """Panels with the scales of their colours beside them."""
    found = []
    for panel in figure.axes:
        bars = [artist.colorbar for artist in panel.collections]
        scales = [bar.ax for bar in bars if bar is not None]
        if panel.get_label() != "<colorbar>":
            found.append((panel, scales))
    return found


def _svg(figure: Figure, panel: Axes, axes: list[Axes], name: str) -> str:
    """The panel, cut out of the figure by what is shown of it."""
    canvas, buffer = FigureCanvasSVG(figure), io.StringIO()
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": name}
    with matplotlib.rc_context(settings):
        canvas.print_svg(buffer, metadata=dict.fromkeys(_UNSAID))
    boxes = [one.get_tightbbox() for one in axes]
    box = Bbox.union([one for one in boxes if one is not None])
    inches = box.transformed(figure.dpi_scale_trans.inverted()).padded(_MARGIN)
    left, bottom, right, top = (_POINTS * end for end in inches.extents)
    height = _POINTS * figure.get_figheight()
    view = f"{left:.1f} {height - top:.1f} {right - left:.1f} {top - bottom:.1f}"
    most = _LARGEST * (right - left)
    head = (
        f'<svg viewBox="{view}" style="max-width:{most:.0f}px" role="img" '
        f'aria-label="{escape(_label(panel))}" fill="currentColor">'
    )
    return head + _content(buffer.getvalue(), name)


def _label(panel: Axes) -> str:
    """What a panel shows, in words."""
    across, up = panel.get_xlabel(), panel.get_ylabel()
    title = panel.get_title()
    if title:
        return f"{title}, over {across} and {up}"
    return f"{up} against {across}"


def _content(text: str, name: str) -> str:
    """What is in the element, with ids of its own, and black as the text."""
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text[text.index("<svg") :].split(">", 1)[1]
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    return text.replace("#000000", "currentColor")
