"""Smoothing in time: how the weights remember earlier tilts."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import InputError
from .potentials import AbstractPotential
from .temperatures import Scale


class GrowingCap(eqx.Module):
    """A bound on the weights that grows from `first` to `last`, by one per `num_stage`.

    `cap(k) = min(last, first + k / num_stage)`. The memory `1 - rate / cap(k)` keeps
    weights below it. Weights start at `start`, by default `0.1 * first`.
    (Toscano et al. 2025)
    """

    first: float = eqx.field(default=10.0, converter=float, static=True)
    last: float = eqx.field(default=20.0, converter=float, static=True)
    num_stage: float = eqx.field(default=50_000.0, converter=float, static=True)
    start: float | None = eqx.field(
        default=None,
        converter=lambda start: None if start is None else float(start),
        static=True,
    )

    def __check_init__(self):
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
        """The weight of every point before the first update."""
        return 0.1 * self.first if self.start is None else self.start


class Smoothing(eqx.Module):
    """`lambda <- memory * lambda + rate * (mix * w + 1 - mix)`, with `w` of mean one.

    If normalised, the rate is divided by the largest `w`. This bounds `lambda` by
    `rate / (1 - memory)`, or by a `GrowingCap` given as `memory`. Weights then start at
    a tenth of the bound, or at `GrowingCap(start=...)`. If not normalised, `lambda`
    keeps the scale of `w` and starts at its limit mean `rate / (1 - memory)`.
    `mix < 1` adds a share of the base to the tilt.
    """

    memory: float | GrowingCap = eqx.field(default=0.999, static=True)
    rate: float = eqx.field(default=0.01, converter=float, static=True)
    mix: float = eqx.field(default=0.9, converter=float, static=True)
    is_normalised: bool = eqx.field(default=True, static=True)

    def __check_init__(self):
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
        """The smallest `1 - memory` over all updates.

        An update moves a weight by this fraction of the distance to its limit.
        """
        if isinstance(self.memory, GrowingCap):
            return self.rate / self.memory.last
        return 1 - self.memory

    def bound(self) -> float:
        """The upper bound of all weights; infinite unless normalised."""
        return self.rate / self.least_step() if self.is_normalised else float("inf")

    def blend(
        self,
        weight: Float[Array, "*points"],
        potential: AbstractPotential,
        size: Float[Array, "*points"],
        scale: Scale,
    ) -> Float[Array, "*points"]:
        """Blend the tilt of `size` into the weights."""
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
                self.memory.first
                + scale.num_updates.astype(dtype) / self.memory.num_stage
            )
            return 1 - self.rate / jnp.minimum(self.memory.last, grown)
        return jnp.asarray(self.memory, dtype)
