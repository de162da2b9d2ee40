"""A network of two parts: one sees what describes a function, the other the place."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..core import InputError, check_count
from ..fields import AbstractPropagated, Index, Jet, multiplied, propagate
from ._base import AbstractArchitecture
from .mlp import MLP


class _Part(eqx.Module):
    """A network that sees some of the inputs, and which coordinates do not move it."""

    network: Callable[[Float[Array, " inputs"]], Float[Array, " latents"]]
    inputs: tuple[int, ...] = eqx.field(static=True)
    others: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, inputs: Float[Array, " dim"]) -> Float[Array, " latents"]:
        """The value, given all inputs."""
        return self.network(self._seen(inputs))

    def propagate(self, inputs: Jet, indices: frozenset[Index]) -> Jet:
        """The derivatives by its own coordinates; all others are zero."""
        own = frozenset(index for index in indices if self._is_moved(index))
        seen = {i: self._seen(part) for i, part in inputs.items() if i in own}
        return propagate(self.network, [seen], own)

    def _is_moved(self, index: Index) -> bool:
        return not any(index[k] for k in self.others)

    def _seen(self, inputs: Float[Array, " dim"]) -> Float[Array, " inputs"]:
        return jnp.stack([inputs[k] for k in self.inputs])


class BranchedNetwork(AbstractPropagated):
    """What `PhysicsInformedDeepONet` builds.

    Derivatives are propagated through the part that they are asked of: for `u_xx` the
    branch gives its value only.
    """

    branch: _Part
    trunk: _Part
    num_outputs: int = eqx.field(static=True)

    def __call__(self, inputs: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        """The value at one point."""
        return self._joined(self.branch(inputs), self.trunk(inputs))

    def propagate(self, inputs: Jet, indices: frozenset[Index]) -> Jet:
        """Leibniz' rule, of which most terms are not there. An index counts the
        coordinates that the network was built for."""
        factors = self.branch.propagate(inputs, indices)
        basis = self.trunk.propagate(inputs, indices)
        return multiplied(self._joined, factors, basis, indices)

    def _joined(
        self, factors: Float[Array, " latents"], basis: Float[Array, " latents"]
    ) -> Float[Array, " outputs"]:
        return jnp.sum((factors * basis).reshape(self.num_outputs, -1), axis=1)


class PhysicsInformedDeepONet(AbstractArchitecture):
    """`sum_l branch_l(c) trunk_l(x)` over `latent` products for each field, a DeepONet
    without data (Wang, Wang and Perdikaris, 2021).

    The branch sees the coordinates named in `coefficients`, such as those of a source
    or of an initial state in a series, the trunk all others: places and times.
    """

    coefficients: tuple[str, ...]
    branch: AbstractArchitecture = MLP(width=16, depth=2)
    trunk: AbstractArchitecture = MLP(width=16, depth=2)
    latent: int = 16

    def __check_init__(self):
        """Names are given, and there is at least one product."""
        check_count(latent=self.latent)
        names = self.coefficients
        is_listed = isinstance(names, tuple) and len(names) > 0
        if not is_listed or not all(isinstance(name, str) for name in names):
            raise InputError(
                "`coefficients` must be a tuple of the coordinates that describe the "
                f'function, such as ("c1", "c2"), got {names!r}.'
            )

    def build(
        self,
        num_inputs: int,
        num_outputs: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
        names: tuple[str, ...] = (),
    ) -> BranchedNetwork:
        """A network with random parameters, for inputs with these names."""
        coordinates = list(dict.fromkeys(names))
        self._check(coordinates)
        keys = iter(jax.random.split(key))

        def part(model: AbstractArchitecture, own: list[str]) -> _Part:
            inputs = tuple(k for k, name in enumerate(names) if name in own)
            others = tuple(k for k, name in enumerate(coordinates) if name not in own)
            num_latents = self.latent * num_outputs
            network = model.build(len(inputs), num_latents, key=next(keys), dtype=dtype)
            return _Part(network, inputs, others)

        places = [name for name in coordinates if name not in self.coefficients]
        branch = part(self.branch, list(self.coefficients))
        return BranchedNetwork(branch, part(self.trunk, places), num_outputs)

    def _check(self, coordinates: list[str]) -> None:
        """The names are coordinates, and not all of them."""
        there = f"the coordinates are {', '.join(coordinates) or 'not given'}"
        for name in self.coefficients:
            if name not in coordinates:
                raise InputError(
                    f"`coefficients` of `PhysicsInformedDeepONet` names `{name}`, but {there}: take "
                    "some of these."
                )
        if set(self.coefficients) == set(coordinates):
            raise InputError(
                f"`coefficients` of `PhysicsInformedDeepONet` is {self.coefficients}, and {there}: "
                "leave out places and times, which the trunk sees."
            )
