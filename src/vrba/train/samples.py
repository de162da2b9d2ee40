"""Pairs of functions as samples that a step can take."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..data import Pairs
from .frame import Frame


class Samples(eqx.Module):
    """What is trained on, scaled. A row is a pair of functions; or, if times are split,
    a pair of functions at one time: row `k` is time `k % num_times` of pair
    `k // num_times`."""

    inputs: Float[Array, "funcs *in_grid in_channels"]
    targets: Float[Array, "rows *grid channels"]
    frame: Frame

    @classmethod
    def of(cls, pairs: Pairs, part: str, frame: Frame) -> "Samples":
        """The rows of a part."""
        inputs, outputs = pairs.load(part)
        inputs = frame.scaling.inputs(inputs)
        targets = frame.scaling.outputs(outputs)
        if frame.times is not None:
            targets = jnp.moveaxis(targets, frame.time_axis + 1, 1)
            targets = targets.reshape(-1, *targets.shape[2:])
        return cls(inputs, targets, frame)

    @property
    def num_rows(self) -> int:
        """How many there are."""
        return self.targets.shape[0]

    def first(self, num_funcs: int) -> "Samples":
        """Those of the first functions, of all if there are fewer."""
        num_funcs = min(num_funcs, self.inputs.shape[0])
        num_rows = num_funcs * (self.num_rows // self.inputs.shape[0])
        return Samples(self.inputs[:num_funcs], self.targets[:num_rows], self.frame)

    def take(self, ids: Int[Array, " batch"]) -> tuple[Array, Array, Array]:
        """The functions, places and targets of some rows; the places are shared by all
        unless times are split."""
        targets, frame = self.targets[ids], self.frame
        if frame.times is None:
            return self.inputs[ids], frame.places, targets
        num_times = frame.times.shape[0]
        places = jax.vmap(frame.at)(frame.times[ids % num_times])
        return self.inputs[ids // num_times], places, targets
