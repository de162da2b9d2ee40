"""A multi-layer perceptron that propagates its own derivatives."""

import itertools
from typing import Any

import jax
from jaxtyping import Array, Float, Key

from ..core import check_count
from ..fields import AbstractPropagated, Index, Jet, composed
from ._base import AbstractArchitecture
from .activations import AbstractActivation, Tanh
from .initials import AbstractInitial, Glorot


class Network(AbstractPropagated):
    """Layers `W h + b`, with the activation between them."""

    weights: list[Float[Array, "_ _"]]
    biases: list[Float[Array, " _"]]
    activation: AbstractActivation

    def __call__(self, inputs: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        """The value at one point."""
        origin = (0,)
        return self.propagate({origin: inputs}, frozenset([origin]))[origin]

    def propagate(self, inputs: Jet, indices: frozenset[Index]) -> Jet:
        """Every derivative through every layer, the activation met once a layer."""
        zero = min(indices)
        order = max(sum(index) for index in indices)
        jet = inputs
        for layer, (weight, bias) in enumerate(
            zip(self.weights, self.biases, strict=True)
        ):
            if layer:
                jet = composed(self.activation.slopes(jet[zero], order), jet, indices)
            # Points times weights: mapped over points, `weight @ part` is transposed.
            jet = {index: part @ weight.T for index, part in jet.items()}
            jet[zero] = jet[zero] + bias
        return jet


class MLP(AbstractArchitecture):
    """`depth` hidden layers of `width`."""

    width: int = 20
    depth: int = 4
    activation: AbstractActivation = Tanh()
    initial: AbstractInitial = Glorot()

    def __check_init__(self):
        """Counts are positive."""
        check_count(width=self.width, depth=self.depth)

    def build(
        self,
        num_inputs: int,
        num_outputs: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
        names: tuple[str, ...] = (),
    ) -> Network:
        """A network with random weights; all inputs are alike, whatever their names."""
        sizes = [num_inputs, *[self.width] * self.depth, num_outputs]
        keys = jax.random.split(key, len(sizes) - 1)
        layers = [
            self.initial.layer(*pair, key=key, dtype=dtype)
            for pair, key in zip(itertools.pairwise(sizes), keys, strict=True)
        ]
        weights, biases = map(list, zip(*layers, strict=True))
        return Network(weights, biases, self.activation)
