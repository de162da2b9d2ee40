"""Figures as SVG for a page: panel by panel, in the colours of the text around them."""

import io
import re

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from .markup import escape

_MARGIN = 0.06  # inches
_SETTINGS = {"svg.fonttype": "none", "svg.image_inline": True}


def panels_as_svg(figure: Figure, name: str) -> list[str]:
    """Each panel of a figure as an SVG element with a label for those who cannot see
    it, so that a narrow page can stack what a wide one shows side by side.

    Black becomes the colour of the page's text. `name` keeps the ids of several figures
    of one page apart.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    groups = _groups(figure)
    found = []
    for k, (panel, scales) in enumerate(groups):
        for other, others in groups:
            for axes in (other, *others):
                axes.set_visible(other is panel)
        found.append(_svg(figure, panel, [panel, *scales], f"{name}-{k}"))
    for panel, scales in groups:
        for axes in (panel, *scales):
            axes.set_visible(True)
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
    title = getattr(figure, "_suptitle", None)
    if title is not None:
        title.set_visible(False)  # it belongs to all panels
    boxes = [one.get_tightbbox() for one in axes]
    box = Bbox.union([one for one in boxes if one is not None])
    box = box.transformed(figure.dpi_scale_trans.inverted()).padded(_MARGIN)
    buffer = io.StringIO()
    with matplotlib.rc_context(_SETTINGS | {"svg.hashsalt": name}):
        figure.savefig(
            buffer,
            format="svg",
            dpi=110,
            bbox_inches=box,
            transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    if title is not None:
        title.set_visible(True)
    return _for_page(buffer.getvalue(), name, _label(panel))


def _label(panel: Axes) -> str:
    """What a panel shows, in words."""
    across, up = panel.get_xlabel(), panel.get_ylabel()
    title = panel.get_title()
    if title:
        return f"{title}, over {across} and {up}"
    return f"{up} against {across}"


def _for_page(text: str, name: str, label: str) -> str:
    """Without what only a file needs; ids of its own; black as the text."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = text.replace("#000000", "currentColor")
    head, rest = text.split(">", 1)
    box = re.search(r'viewBox="[^"]+"', head)
    width = re.search(r'width="([\d.]+)pt"', head)
    shape = f" {box[0]}" if box else ""
    size = f' style="max-width:{1.6 * float(width[1]):.0f}px"' if width else ""
    return (
        f'<svg{shape}{size} role="img" '
        f'aria-label="{escape(label)}" fill="currentColor">{rest}'
    )
