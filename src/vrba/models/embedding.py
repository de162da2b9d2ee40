"""The inputs of a network: scaled, periodic or Fourier features of coordinates."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import InputError


class Embedding(eqx.Module):
    """Each coordinate scaled to [-1, 1]; a periodic one, of period `upper - lower`, is
    replaced by `cos` and `sin` of its first `modes` frequencies (0: not periodic).

    A coordinate that is not periodic may also have Fourier features: `cos` and `sin` of
    its first `num_frequencies` frequencies on an interval of twice the length, so that
    the embedding does not become periodic. The default is none.
    """

    lower: tuple[float | int, ...]
    upper: tuple[float | int, ...]
    modes: tuple[int, ...]
    num_frequencies: tuple[int, ...] = ()

    def __check_init__(self):
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
        is_fitting = len(self.num_frequencies) in (0, len(self.modes))
        if not is_fitting or min(self.num_frequencies, default=0) < 0:
            raise InputError(
                "`num_frequencies` must have an entry, at least 0, for each "
                f"coordinate, got {self.num_frequencies}."
            )

    @property
    def num_outputs(self) -> int:
        """The number of inputs of the network."""
        return sum(self.counts)

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of inputs that depend on each coordinate."""
        return tuple(
            2 * modes or 1 + 2 * num_frequencies
            for _, _, modes, num_frequencies in self._settings()
        )

    def _settings(self) -> list[tuple[float, float, int, int]]:
        """Return ends, modes and number of frequencies of each coordinate."""
        counts = self.num_frequencies or (0,) * len(self.modes)
        return list(zip(self.lower, self.upper, self.modes, counts, strict=True))

    def __call__(self, *point: Float[Array, ""]) -> Float[Array, " outputs"]:
        """Return the inputs of the network at one point."""
        parts = []
        for value, (lower, upper, modes, num_frequencies) in zip(
            point, self._settings(), strict=True
        ):
            scaled = (2 * value - (lower + upper)) / (upper - lower)
            parts += [] if modes else [scaled]
            angle = jnp.pi * scaled / (1 if modes else 2)
            for k in range(1, (modes or num_frequencies) + 1):
                parts += [jnp.cos(k * angle), jnp.sin(k * angle)]
        return jnp.stack(parts)
