"""A product of intervals."""

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import qmc

from ..core import check_count
from ._base import AbstractDomain

Ends = tuple[float | int, float | int] | list[float | int]

_RESERVED = ("d", "value")


class Box(AbstractDomain):
    """`Box(t=(0, 1), x=(-1, 1))`: each coordinate with its lower and upper end."""

    ends: tuple[tuple[str, float, float], ...]

    def __init__(self, **ends: Ends):
        if not ends:
            raise ValueError("`Box()` has no coordinate: write `Box(x=(0, 1))`.")
        for name, pair in ends.items():
            if name in _RESERVED or name.startswith("_"):
                raise ValueError(
                    f"`Box({name}=...)`: a coordinate cannot be called `{name}`, "
                    "which fields use themselves."
                )
            if len(name) > 1 and set(name) <= set(ends):
                raise ValueError(
                    f"`Box({name}=...)`: `{name}` is also a derivative by the other "
                    f"coordinates, as in `u.{name}`; choose another name."
                )
            is_pair = isinstance(pair, tuple | list) and len(pair) == 2
            if not is_pair or not -np.inf < pair[0] < pair[1] < np.inf:
                raise ValueError(
                    f"`Box({name}=...)` must be a lower and a larger upper end, got "
                    f"{pair!r}."
                )
        self.ends = tuple((n, float(lo), float(hi)) for n, (lo, hi) in ends.items())

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names, in the order given."""
        return tuple(name for name, _, _ in self.ends)

    def bounds(self, coordinate: str) -> tuple[float, float]:
        """The lower and the upper end."""
        self._position(coordinate)
        return next((lo, hi) for name, lo, hi in self.ends if name == coordinate)

    def sample(
        self, num_points: int, *, seed: int
    ) -> Float[np.ndarray, "{num_points} dim"]:
        """Scrambled Sobol points, shuffled: any part of them is evenly spread on the
        average, and no stride through them meets a pattern."""
        return self._spread(num_points, range(len(self.ends)), seed)

    def sample_face(
        self, num_points: int, coordinate: str, value: float | int, *, seed: int
    ) -> Float[np.ndarray, "{num_points} dim"]:
        """Points that are free in the other coordinates."""
        fixed = self._position(coordinate)
        free = [k for k in range(len(self.ends)) if k != fixed]
        points = self._spread(num_points, free, seed)
        points[:, fixed] = value
        return points

    def contains(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Bool[np.ndarray, " points"]:
        """Which points lie between the ends of every coordinate."""
        lower, upper = self._corners()
        return np.all((points >= lower) & (points <= upper), axis=1)

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        lower = np.array([lo for _, lo, _ in self.ends])
        return lower, np.array([hi for _, _, hi in self.ends])

    def _position(self, coordinate: str) -> int:
        if coordinate not in self.coordinates:
            known = ", ".join(self.coordinates)
            raise ValueError(
                f"`{coordinate}` is no coordinate of the domain, which has {known}."
            )
        return self.coordinates.index(coordinate)

    def _spread(self, num_points: int, free: range | list[int], seed: int):
        check_count(num_points=num_points)
        lower, upper = self._corners()
        points = np.tile(lower, (num_points, 1))
        if len(free):
            random = np.random.default_rng(seed)
            sobol = qmc.Sobol(len(free), scramble=True, rng=random)
            unit = sobol.random_base2(int(np.ceil(np.log2(num_points))))
            unit = random.permutation(unit[:num_points])
            free = list(free)
            points[:, free] = lower[free] + (upper - lower)[free] * unit
        return points
