"""Scores: how a joint tilt over functions and points compares functions."""

import abc

import equinox as eqx
from typing_extensions import override


class AbstractScore(eqx.Module):
    """The scale on which the tilts of different functions are compared."""

    @abc.abstractmethod
    def separate_axis(self) -> int | None:
        """0 to give every function its own scale, `None` for one common scale."""


class JointScore(AbstractScore):
    """A function's share of the joint tilt: larger residuals are drawn more often."""

    @override
    def separate_axis(self) -> int | None:
        return None


class FlatnessScore(AbstractScore):
    """The published score: the sum of weights, each scaled by its function's maximum.

    Use it only to reproduce the paper. It ignores the size of a residual: multiplying a
    function's residual by 1,000 changes nothing. Functions with a flat residual are
    drawn more often. (Toscano et al. 2025, algorithm 2)
    """

    @override
    def separate_axis(self) -> int | None:
        return 0
