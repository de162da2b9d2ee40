"""The published score, which does not see how large a residual is."""

from ._base import AbstractScore


class FlatnessScore(AbstractScore):
    """The sum of weights each scaled by its own function's maximum; to reproduce only.

    Multiplying a function's residual by 1,000 changes nothing: what is drawn more often
    is the function whose residual is flattest. (Toscano et al. 2025, algorithm 2)
    """

    def separate_axis(self) -> int | None:
        """A scale for each function."""
        return 0
