"""The interface of a guard: what to do where the curvature is bad."""

import abc

import equinox as eqx
from jaxtyping import Array, Bool

from ..updates import Secant


class AbstractCurvature(eqx.Module):
    """Looks at a secant before it is used; a step without curvature teaches wrongly."""

    @abc.abstractmethod
    def guard(self, secant: Secant) -> tuple[Secant, Bool[Array, ""]]:
        """The secant to use, and whether to use it at all."""
