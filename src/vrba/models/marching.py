"""Networks of consecutive slabs of time as one network."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ..core import InputError
from ..fields import AbstractPropagated, Index, Jet, propagate
from .embedding import Embedding
from .polished import Polished


class SlabEmbedding(eqx.Module):
    """The inputs of a network on the slab of time from `start` to `end`.

    `embedding` is that of the whole interval. It gets the time moved and scaled so that
    the slab becomes the whole interval. The ends are arrays: one compiled program
    serves all slabs.
    """

    embedding: Embedding
    position: int  # of the time among the coordinates
    start: Float[Array, ""]
    end: Float[Array, ""]

    def __call__(self, *point: Float[Array, ""]) -> Float[Array, " outputs"]:
        """Return the inputs of the network at one point."""
        k, times = self.position, point[self.position]
        lower, upper = self.embedding.lower[k], self.embedding.upper[k]
        moved = lower + (times - self.start) * (
            (upper - lower) / (self.end - self.start)
        )
        return self.embedding(*point[:k], moved, *point[k + 1 :])


class Marched(AbstractPropagated):
    """One network for each slab of time.

    `edges` are the ends of the slabs, as values of the input `time_input`. At an inner
    edge the later slab counts; before the first and after the last edge their slabs go
    on. The networks see a time input between -1 and 1. `slabs` holds their arrays,
    stacked along a new first axis, `shared` all that they have in common.
    """

    slabs: Any
    shared: Any
    edges: Float[Array, " edges"]
    time_input: int

    @override
    def __call__(self, inputs: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        origin = (0,)
        return self.propagate({origin: inputs}, frozenset([origin]))[origin]

    @override
    def propagate(self, inputs: Jet, indices: frozenset[Index]) -> Jet:
        zero, place = min(indices), self.time_input
        time = inputs[zero][place]
        slab = jnp.sum(time >= self.edges[1:-1], dtype=jnp.int32)
        start, end = self.edges[slab], self.edges[slab + 1]
        factor = 2 / (end - start)
        jet = {i: part.at[place].multiply(factor) for i, part in inputs.items()}
        jet[zero] = inputs[zero].at[place].set((time - start) * factor - 1)
        return propagate(self._network(slab), [jet], indices)

    def _network(self, slab: Any) -> Any:
        arrays = jax.tree.map(lambda leaf: leaf[slab], self.slabs)
        return eqx.combine(arrays, self.shared)


def march(networks: list[Any], edges: Float[Array, " edges"], time_input: int) -> Any:
    """Join networks with equal shapes; slab `k` lies between edges `k` and `k + 1`.

    The directions of random features must be the same in all of them.
    """
    if len(edges) != len(networks) + 1:
        raise InputError(
            f"`edges` must be one more than the networks, got {len(edges)} edges and "
            f"{len(networks)} networks."
        )
    is_varying = _varying_parts(networks[0])
    parts = [eqx.partition(network, is_varying) for network in networks]
    slabs = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[one for one, _ in parts])
    return Marched(slabs, parts[0][1], edges, time_input)


def _varying_parts(network: Any) -> Any:
    """Return a tree of booleans: true for the arrays that differ between slabs."""
    found = jax.tree.map(eqx.is_inexact_array, network)
    if not isinstance(network, Polished):
        return found
    where = lambda tree: [
        leaf for each in tree.features for leaf in [*each.directions, *each.offsets]
    ]
    return eqx.tree_at(where, found, [False] * len(where(found)))
