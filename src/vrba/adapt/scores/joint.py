"""One scale for all functions."""

from ._base import AbstractScore


class JointScore(AbstractScore):
    """A function's share of the joint tilt: larger residuals are drawn more often."""

    def separate_axis(self) -> int | None:
        """One scale."""
        return None
