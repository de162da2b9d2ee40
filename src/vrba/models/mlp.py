"""A multi-layer perceptron that propagates its own derivatives."""

import itertools
from typing import Any

import jax
from jaxtyping import Array, Float, Key
from typing_extensions import override

from ..core import check_count
from ..fields import Index, Jet, compose
from ._base import AbstractArchitecture, AbstractLayered
from .activations import AbstractActivation, Tanh
from .initials import AbstractInitial, Glorot


class Network(AbstractLayered):
    """Layers `W h + b` with an activation between them."""

    weights: list[Float[Array, "_ _"]]
    biases: list[Float[Array, " _"]]
    activation: AbstractActivation

    @override
    def __call__(self, inputs: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        origin = (0,)
        return self.propagate({origin: inputs}, frozenset([origin]))[origin]

    @override
    def propagate(self, inputs: Jet, indices: frozenset[Index]) -> Jet:
        return self.propagate_layers(inputs, indices)[-1]

    @override
    def propagate_layers(self, inputs: Jet, indices: frozenset[Index]) -> list[Jet]:
        """Propagate all derivatives together, layer by layer.

        Each activation is evaluated once a layer.
        """
        zero = min(indices)
        order = max(sum(index) for index in indices)
        jet, found = inputs, [inputs]
        for layer, (weight, bias) in enumerate(
            zip(self.weights, self.biases, strict=True)
        ):
            if layer:
                outer = self.activation.derivatives(jet[zero], order)
                jet = compose(outer, jet, indices)
                found.append(jet)
            # Points times weights: `vmap` over points would transpose `weight @ part`.
            jet = {index: part @ weight.T for index, part in jet.items()}
            jet[zero] = jet[zero] + bias
        return [*found, jet]


class MLP(AbstractArchitecture):
    """A multi-layer perceptron with `depth` hidden layers of `width` units."""

    width: int = 20
    depth: int = 4
    activation: AbstractActivation = Tanh()
    initial: AbstractInitial = Glorot()

    def __check_init__(self):
        check_count(width=self.width, depth=self.depth)

    @override
    def build(
        self,
        num_inputs: int,
        num_outputs: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
        names: tuple[str, ...] = (),
    ) -> Network:
        """Build a network with random weights; `names` has no effect."""
        sizes = [num_inputs, *[self.width] * self.depth, num_outputs]
        keys = jax.random.split(key, len(sizes) - 1)
        layers = [
            self.initial.draw_layer(*pair, key=key, dtype=dtype)
            for pair, key in zip(itertools.pairwise(sizes), keys, strict=True)
        ]
        weights, biases = map(list, zip(*layers, strict=True))
        return Network(weights, biases, self.activation)
