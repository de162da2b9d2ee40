"""Numbers and tables as text."""

import math
from collections.abc import Sequence


def format_number(value: float | int) -> str:
    """Two significant digits: `1.2e-5`; large values as whole numbers."""
    if not math.isfinite(value):
        return "not finite"
    if value >= 99.5 or value == 0:
        return f"{value:.0f}"
    if value >= 0.1:
        return f"{value:.2g}"
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}e{int(exponent)}"


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
