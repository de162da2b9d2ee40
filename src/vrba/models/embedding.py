"""Coordinates as a network sees them: scaled, or on a circle where periodic."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Embedding(eqx.Module):
    """Each coordinate scaled to [-1, 1]; a periodic one, with period `upper - lower`,
    as `cos` and `sin` of its first `modes` frequencies (0: not periodic)."""

    lower: tuple[float | int, ...]
    upper: tuple[float | int, ...]
    modes: tuple[int, ...]

    def __check_init__(self):
        """Each coordinate has two ends, in order, and a number of modes."""
        given = f"got {self.lower}, {self.upper} and {self.modes}."
        if not len(self.lower) == len(self.upper) == len(self.modes) > 0:
            raise ValueError(
                "`lower`, `upper` and `modes` must have one entry for each coordinate, "
                + given
            )
        ends = zip(self.lower, self.upper, strict=True)
        if any(lower >= upper for lower, upper in ends) or min(self.modes) < 0:
            raise ValueError(
                "`upper` must be more than `lower`, and `modes` at least 0, " + given
            )

    @property
    def num_outputs(self) -> int:
        """How many numbers the network receives."""
        return sum(2 * modes if modes else 1 for modes in self.modes)

    def __call__(self, *point: Float[Array, ""]) -> Float[Array, " outputs"]:
        """The inputs of the network at one point."""
        parts = []
        ends = zip(self.lower, self.upper, self.modes, strict=True)
        for value, (lower, upper, modes) in zip(point, ends, strict=True):
            scaled = (2 * value - (lower + upper)) / (upper - lower)
            angle = jnp.pi * scaled
            for k in range(1, modes + 1):
                parts += [jnp.cos(k * angle), jnp.sin(k * angle)]
            parts += [] if modes else [scaled]
        return jnp.stack(parts)
