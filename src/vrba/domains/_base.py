"""The interface of a domain."""

import abc

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float


class AbstractDomain(eqx.Module):
    """A set of points with named coordinates. Points are drawn on the host."""

    @property
    @abc.abstractmethod
    def coordinates(self) -> tuple[str, ...]:
        """The names, in the order in which equations take them."""

    @abc.abstractmethod
    def bounds(self, coordinate: str) -> tuple[float, float]:
        """The smallest and the largest value of a coordinate."""

    @abc.abstractmethod
    def sample(
        self, num_points: int, *, seed: int
    ) -> Float[np.ndarray, "{num_points} dim"]:
        """Evenly spread points inside, in random order."""

    @abc.abstractmethod
    def sample_face(
        self, num_points: int, coordinate: str, value: float | int, *, seed: int
    ) -> Float[np.ndarray, "{num_points} dim"]:
        """Evenly spread points where a coordinate has the given value."""

    @abc.abstractmethod
    def contains(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Bool[np.ndarray, " points"]:
        """Which points are inside or on the boundary."""
