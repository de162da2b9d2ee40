"""A network whose outputs are multiplied by fixed numbers."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key
from typing_extensions import override

from ..core import check_positive
from ..fields import Index, Jet, propagate
from ..models import AbstractArchitecture, AbstractLayered


class ScaledNetwork(AbstractLayered):
    """`scales * network(inputs)`; the scales are not trained."""

    network: Callable[..., Any]
    scales: tuple[float, ...]

    @override
    def __call__(self, inputs: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        return self._scaled(self.network(inputs))

    @override
    def propagate(self, inputs: Jet, indices: frozenset[Index]) -> Jet:
        return self.propagate_layers(inputs, indices)[-1]

    @override
    def propagate_layers(self, inputs: Jet, indices: frozenset[Index]) -> list[Jet]:
        if isinstance(self.network, AbstractLayered):
            layers = self.network.propagate_layers(inputs, indices)
        else:
            layers = [inputs, propagate(self.network, [inputs], indices)]
        scaled = {index: self._scaled(part) for index, part in layers[-1].items()}
        return [*layers[:-1], scaled]

    def _scaled(self, outputs: Any) -> Any:
        return outputs * jnp.asarray(self.scales, outputs.dtype)


class ScaledOutputs(AbstractArchitecture):
    """The architecture `model`, with each output multiplied by its scale."""

    model: AbstractArchitecture
    scales: tuple[float, ...]

    def __check_init__(self):
        check_positive(**{f"scales[{k}]": size for k, size in enumerate(self.scales)})

    @override
    def build(
        self,
        num_inputs: int,
        num_outputs: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
        names: tuple[str, ...] = (),
    ) -> ScaledNetwork:
        """Build the network of `model`, and scale its outputs."""
        build = self.model.build
        network = build(num_inputs, num_outputs, key=key, dtype=dtype, names=names)
        return ScaledNetwork(network, self.scales)
