"""Numbers as text."""


def format_duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours, such as `12 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
