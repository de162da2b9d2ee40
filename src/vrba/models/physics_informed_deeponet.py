"""A DeepONet for parametric PDEs: a branch for the parameters, a trunk for places."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key
from typing_extensions import override

from ..core import InputError, check_count
from ..fields import AbstractPropagated, Index, Jet, multiply, propagate
from ._base import AbstractArchitecture
from .mlp import MLP


class _Subnetwork(eqx.Module):
    """A network that depends on some of the inputs."""

    network: Callable[[Float[Array, " inputs"]], Float[Array, " latents"]]
    inputs: tuple[int, ...] = eqx.field(static=True)
    other_coordinates: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, inputs: Float[Array, " dim"]) -> Float[Array, " latents"]:
        """Return the value, given all inputs."""
        return self.network(self._select(inputs))

    def propagate(self, inputs: Jet, indices: frozenset[Index]) -> Jet:
        """Return the derivatives by its own coordinates; all others are zero."""
        own = frozenset(index for index in indices if self._depends_on(index))
        selected = {i: self._select(part) for i, part in inputs.items() if i in own}
        return propagate(self.network, [selected], own)

    def _depends_on(self, index: Index) -> bool:
        return not any(index[k] for k in self.other_coordinates)

    def _select(self, inputs: Float[Array, " dim"]) -> Float[Array, " inputs"]:
        return jnp.stack([inputs[k] for k in self.inputs])


class BranchedNetwork(AbstractPropagated):
    """The network of `PhysicsInformedDeepONet`.

    Derivatives are propagated only through the part that depends on their coordinates:
    `u_xx` needs only the value of the branch.
    """

    branch: _Subnetwork
    trunk: _Subnetwork
    num_outputs: int = eqx.field(static=True)

    @override
    def __call__(self, inputs: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        return self._sum_products(self.branch(inputs), self.trunk(inputs))

    @override
    def propagate(self, inputs: Jet, indices: frozenset[Index]) -> Jet:
        """Apply Leibniz' rule to branch and trunk; most of its terms are zero."""
        coefficients = self.branch.propagate(inputs, indices)
        basis = self.trunk.propagate(inputs, indices)
        return multiply(self._sum_products, coefficients, basis, indices)

    def _sum_products(
        self, coefficients: Float[Array, " latents"], basis: Float[Array, " latents"]
    ) -> Float[Array, " outputs"]:
        return jnp.sum((coefficients * basis).reshape(self.num_outputs, -1), axis=1)


class PhysicsInformedDeepONet(AbstractArchitecture):
    """`sum_l branch_l(c) trunk_l(x)` over `latent` products for each field, a DeepONet
    without data (Wang, Wang and Perdikaris, 2021).

    The inputs of the branch are the coordinates named in `coefficients`, such as those
    of a source or of an initial state in a series. The inputs of the trunk are all
    other coordinates: places and times.
    """

    coefficients: tuple[str, ...]
    branch: AbstractArchitecture = MLP(width=16, depth=2)
    trunk: AbstractArchitecture = MLP(width=16, depth=2)
    latent: int = 16

    def __check_init__(self):
        check_count(latent=self.latent)
        names = self.coefficients
        is_listed = isinstance(names, tuple) and len(names) > 0
        if not is_listed or not all(isinstance(name, str) for name in names):
            raise InputError(
                "`coefficients` must be a tuple of the coordinates that describe the "
                f'function, such as ("c1", "c2"), got {names!r}.'
            )

    @override
    def build(
        self,
        num_inputs: int,
        num_outputs: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
        names: tuple[str, ...] = (),
    ) -> BranchedNetwork:
        """Build a network with random parameters; `names` must be given."""
        coordinates = list(dict.fromkeys(names))
        self._check_names(coordinates)
        num_latents = self.latent * num_outputs

        def build_part(
            model: AbstractArchitecture, own: list[str], key: Key[Array, ""]
        ) -> _Subnetwork:
            inputs = tuple(k for k, name in enumerate(names) if name in own)
            others = tuple(k for k, name in enumerate(coordinates) if name not in own)
            network = model.build(len(inputs), num_latents, key=key, dtype=dtype)
            return _Subnetwork(network, inputs, others)

        branch_key, trunk_key = jax.random.split(key)
        branch = build_part(self.branch, list(self.coefficients), branch_key)
        places = [name for name in coordinates if name not in self.coefficients]
        trunk = build_part(self.trunk, places, trunk_key)
        return BranchedNetwork(branch, trunk, num_outputs)

    def _check_names(self, coordinates: list[str]) -> None:
        """Raise unless `coefficients` are some, but not all, of the coordinates."""
        known = f"the coordinates are {', '.join(coordinates) or 'not given'}"
        setting = "`coefficients` of `PhysicsInformedDeepONet`"
        for name in self.coefficients:
            if name not in coordinates:
                raise InputError(
                    f"{setting} names `{name}`, but {known}: choose some of these."
                )
        if set(self.coefficients) == set(coordinates):
            raise InputError(
                f"{setting} is {self.coefficients}, and {known}: leave out places and "
                "times, the inputs of the trunk."
            )
