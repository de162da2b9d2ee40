"""The page at the end of a command that has already told its result."""

import sys
from pathlib import Path

from ..compare import write_report


def draw_report(path: Path, *, raises: bool) -> None:
    """Writes the page; a figure that cannot be drawn loses nothing else."""
    try:
        write_report(path)
    except Exception as error:
        if raises:
            raise
        sys.stderr.write(
            f"The page of {path} could not be made ({type(error).__name__}: {error}); "
            f"everything else is there. Try `vrba report {path} --debug`.\n"
        )
