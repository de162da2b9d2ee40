"""Distributions of the initial weights and biases of a layer."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key
from typing_extensions import override


class AbstractInitial(eqx.Module):
    """A distribution of initial weights and biases."""

    @abc.abstractmethod
    def draw_layer(
        self, num_inputs: int, num_outputs: int, *, key: Key[Array, ""], dtype: Any
    ) -> tuple[Float[Array, "outputs inputs"], Float[Array, " outputs"]]:
        """Draw the weights and the biases of one layer."""


class FanIn(AbstractInitial):
    """Weights and biases uniform on `[-a, a]`, `a = inputs ** -0.5`, as in torch.

    Random biases give the units of a layer with few inputs different centres.
    """

    @override
    def draw_layer(
        self, num_inputs: int, num_outputs: int, *, key: Key[Array, ""], dtype: Any
    ) -> tuple[Float[Array, "outputs inputs"], Float[Array, " outputs"]]:
        bound = num_inputs**-0.5
        keys = jax.random.split(key)
        draw = lambda key, *shape: jax.random.uniform(key, shape, dtype, -bound, bound)
        return draw(keys[0], num_outputs, num_inputs), draw(keys[1], num_outputs)


class Glorot(AbstractInitial):
    """Normal weights of variance `2 / (inputs + outputs)`, zero biases."""

    @override
    def draw_layer(
        self, num_inputs: int, num_outputs: int, *, key: Key[Array, ""], dtype: Any
    ) -> tuple[Float[Array, "outputs inputs"], Float[Array, " outputs"]]:
        draw = jax.nn.initializers.glorot_normal(in_axis=1, out_axis=0)
        weights = draw(key, (num_outputs, num_inputs), dtype)
        return weights, jnp.zeros(num_outputs, dtype)
