"""Coordinates as a network sees them: scaled, on a circle, or as waves."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import InputError


class Embedding(eqx.Module):
    """Each coordinate scaled to [-1, 1]; a periodic one, with period `upper - lower`,
    as `cos` and `sin` of its first `modes` frequencies (0: not periodic).

    Beside a scaled coordinate, `cos` and `sin` of the first `waves` frequencies of an
    interval twice as long, so that nothing becomes periodic (not given: none).
    """

    lower: tuple[float | int, ...]
    upper: tuple[float | int, ...]
    modes: tuple[int, ...]
    waves: tuple[int, ...] = ()

    def __check_init__(self):
        """Each coordinate has two ends, in order, and a number of modes."""
        given = f"got {self.lower}, {self.upper} and {self.modes}."
        if not len(self.lower) == len(self.upper) == len(self.modes) > 0:
            raise InputError(
                "`lower`, `upper` and `modes` must have one entry for each coordinate, "
                + given
            )
        ends = zip(self.lower, self.upper, strict=True)
        if any(lower >= upper for lower, upper in ends) or min(self.modes) < 0:
            raise InputError(
                "`upper` must be more than `lower`, and `modes` at least 0, " + given
            )
        is_fitting = len(self.waves) in (0, len(self.modes))
        if not is_fitting or min(self.waves, default=0) < 0:
            raise InputError(
                "`waves` must have an entry, at least 0, for each coordinate, got "
                f"{self.waves}."
            )

    @property
    def num_outputs(self) -> int:
        """How many numbers the network receives."""
        return sum(self.counts)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many of them come from each coordinate."""
        return tuple(2 * modes or 1 + 2 * waves for _, _, modes, waves in self._each())

    def _each(self) -> list[tuple[float, float, int, int]]:
        """The ends, modes and waves of each coordinate."""
        waves = self.waves or (0,) * len(self.modes)
        return list(zip(self.lower, self.upper, self.modes, waves, strict=True))

    def __call__(self, *point: Float[Array, ""]) -> Float[Array, " outputs"]:
        """The inputs of the network at one point."""
        parts = []
        for value, (lower, upper, modes, waves) in zip(
            point, self._each(), strict=True
        ):
            scaled = (2 * value - (lower + upper)) / (upper - lower)
            parts += [] if modes else [scaled]
            angle = jnp.pi * scaled / (1 if modes else 2)
            for k in range(1, (modes or waves) + 1):
                parts += [jnp.cos(k * angle), jnp.sin(k * angle)]
        return jnp.stack(parts)
