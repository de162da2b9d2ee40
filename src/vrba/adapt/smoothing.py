"""The memory of the weights: how a new tilt is blended into the old ones."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import InputError
from .potentials import AbstractPotential
from .temperatures import Scale


class GrowingCap(eqx.Module):
    """A bound on the weights that grows from `first` to `last`, one per `num_stage`.

    `cap(k) = min(last, first + k / num_stage)`; the memory that keeps it is
    `1 - rate / cap(k)`. Weights begin at `start`, a tenth of `first` unless given.
    (Toscano et al. 2025)
    """

    first: float = eqx.field(default=10.0, converter=float)
    last: float = eqx.field(default=20.0, converter=float)
    num_stage: float = eqx.field(default=50_000.0, converter=float)
    start: float | None = eqx.field(
        default=None, converter=lambda start: None if start is None else float(start)
    )

    def __check_init__(self):
        """The cap is positive and does not fall, and weights begin below it."""
        if not 0 < self.first <= self.last:
            raise InputError(
                "`GrowingCap(first=..., last=...)` needs 0 < first <= last, got "
                f"first={self.first} and last={self.last}."
            )
        if not self.num_stage > 0:
            raise InputError(
                f"`GrowingCap(num_stage=...)` must be positive, got {self.num_stage}."
            )
        if self.start is not None and not 0 < self.start <= self.first:
            raise InputError(
                "`GrowingCap(start=...)` must be positive and at most the first cap "
                f"{self.first}, got {self.start}."
            )

    def first_weight(self) -> float:
        """Where weights begin."""
        return 0.1 * self.first if self.start is None else self.start


class Smoothing(eqx.Module):
    """`lambda <- memory * lambda + rate * (mix * w + 1 - mix)`, with `w` of mean one.

    Normalised, the rate is divided by the largest `w`, which bounds `lambda` by
    `rate / (1 - memory)`, or by a `GrowingCap` given as `memory`; weights start at a
    tenth of that bound, or where the cap says. Not normalised, `lambda` keeps the scale
    of `w` and starts at the mean it will have, `rate / (1 - memory)`. `mix` below one
    keeps a share of the base everywhere.
    """

    memory: float | GrowingCap = 0.999
    rate: float = eqx.field(default=0.01, converter=float)
    mix: float = eqx.field(default=0.9, converter=float)
    is_normalised: bool = True

    def __check_init__(self):
        """Numbers that keep the weights positive and bounded."""
        if not 0 < self.rate < float("inf"):
            raise InputError(
                f"`Smoothing(rate=...)` must be positive, got {self.rate}."
            )
        if not 0 <= self.mix <= 1:
            raise InputError(
                f"`Smoothing(mix=...)` must lie in [0, 1], got {self.mix}."
            )
        if isinstance(self.memory, GrowingCap):
            if self.rate > self.memory.first:
                raise InputError(
                    "`Smoothing(rate=...)` must not exceed the first cap "
                    f"{self.memory.first}, got {self.rate}."
                )
            if not self.is_normalised:
                raise InputError(
                    "`Smoothing(memory=GrowingCap(...))` bounds the weights only with "
                    "`is_normalised=True`."
                )
        elif not 0 <= self.memory < 1:
            raise InputError(
                f"`Smoothing(memory=...)` must lie in [0, 1), got {self.memory}."
            )

    def start(self) -> float:
        """The weight of every point before the first update."""
        if isinstance(self.memory, GrowingCap):
            return self.memory.first_weight()
        level = self.rate / (1 - self.memory)
        return 0.1 * level if self.is_normalised else level

    def least_step(self) -> float:
        """The smallest `1 - memory` there will be: how far a weight goes in an update,
        as a share of what it has to go."""
        if isinstance(self.memory, GrowingCap):
            return self.rate / self.memory.last
        return 1 - self.memory

    def bound(self) -> float:
        """What no weight exceeds; there is none unless normalised."""
        return self.rate / self.least_step() if self.is_normalised else float("inf")

    def blend(
        self,
        weight: Float[Array, "*points"],
        potential: AbstractPotential,
        size: Float[Array, "*points"],
        scale: Scale,
    ) -> Float[Array, "*points"]:
        """The weights after seeing `size`."""
        relative = scale.relative_weight(potential, size)
        if self.is_normalised:
            new = self.mix * relative + (1 - self.mix) / scale.top_weight
        else:
            new = self.mix * scale.top_weight * relative + (1 - self.mix)
        return self._memory_at(scale) * weight + self.rate * new

    def _memory_at(self, scale: Scale) -> Float[Array, ""]:
        dtype = scale.peak.dtype
        if isinstance(self.memory, GrowingCap):
            grown = (
                self.memory.first + scale.count.astype(dtype) / self.memory.num_stage
            )
            return 1 - self.rate / jnp.minimum(self.memory.last, grown)
        return jnp.asarray(self.memory, dtype)
