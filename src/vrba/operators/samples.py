"""Scaled pairs of functions as samples for a step."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..data import Pairs
from .layout import DataLayout


class Samples(eqx.Module):
    """Scaled training samples. A row is a pair of functions.

    With a split axis a row is a pair at one time: row `k` is time `k % num_times` of
    pair `k // num_times`.
    """

    inputs: Float[Array, "funcs *in_grid in_channels"]
    targets: Float[Array, "rows *grid channels"]
    layout: DataLayout

    @classmethod
    def from_pairs(cls, pairs: Pairs, part: str, layout: DataLayout) -> "Samples":
        """The rows of a part: train, valid or test."""
        inputs, outputs = pairs.load(part)
        inputs = layout.scaling.inputs(inputs)
        targets = layout.scaling.outputs(outputs)
        if layout.times is not None:
            targets = jnp.moveaxis(targets, layout.time_axis + 1, 1)
            targets = targets.reshape(-1, *targets.shape[2:])
        return cls(inputs, targets, layout)

    @property
    def num_rows(self) -> int:
        """The number of samples."""
        return self.targets.shape[0]

    def first(self, num_funcs: int) -> "Samples":
        """The samples of at most `num_funcs` functions."""
        num_funcs = min(num_funcs, self.inputs.shape[0])
        num_rows = num_funcs * (self.num_rows // self.inputs.shape[0])
        return Samples(self.inputs[:num_funcs], self.targets[:num_rows], self.layout)

    def take(self, ids: Int[Array, " batch"]) -> tuple[Array, Array, Array]:
        """The functions, places and targets of some rows.

        All rows share the places, unless an axis is split.
        """
        targets, layout = self.targets[ids], self.layout
        if layout.times is None:
            return self.inputs[ids], layout.places, targets
        num_times = layout.times.shape[0]
        places = jax.vmap(layout.places_at)(layout.times[ids % num_times])
        return self.inputs[ids // num_times], places, targets
