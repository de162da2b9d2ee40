"""The interface of a score: how large one function's residual is beside another's."""

import abc

import equinox as eqx


class AbstractScore(eqx.Module):
    """On which scale the tilts of different functions are compared."""

    @abc.abstractmethod
    def separate_axis(self) -> int | None:
        """0 to give every function a scale of its own, `None` for one scale."""
