"""A trained network with additions that are linear in their parameters."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key
from typing_extensions import override

from ..core import check_count, check_positive
from ..fields import AbstractPropagated, Index, Jet, compose, propagate
from ._base import AbstractLayered
from .activations import Tanh


class Features(eqx.Module):
    """Random features `C tanh(A h + b)` of some layers `h`; only `C` is trained."""

    coefficients: Float[Array, "fields features"]
    directions: list[Float[Array, "_ _"]]  # one matrix for each layer
    offsets: list[Float[Array, " _"]]

    def propagate(self, layers: list[Jet], indices: frozenset[Index]) -> Jet:
        """Return the sum of all features, with derivatives."""
        zero, order = min(indices), max(sum(index) for index in indices)
        count, found = 0, {}
        each = zip(layers, self.directions, self.offsets, strict=True)
        for layer, direction, offset in each:
            part = self.coefficients[:, count : count + offset.size]
            count += offset.size
            jet = {index: value @ direction.T for index, value in layer.items()}
            jet[zero] = jet[zero] + offset
            jet = compose(Tanh().derivatives(jet[zero], order), jet, indices)
            for index, value in jet.items():
                found[index] = found.get(index, 0) + value @ part.T
        return found


class Polished(AbstractPropagated):
    """`N(theta) + dN/dtheta delta + C_s s + sum_l C_l tanh(A_l h_l + b_l)`.

    `base` is the trained network `N`, and `h_l` are its layers, from the inputs to the
    last hidden one. A model without layers offers its inputs. The last inputs are `s`,
    functions that are known to appear in the solution; `N` has only the inputs before
    them. The model is linear in `correction`, which is `delta`, in `singular`, which is
    `C_s`, and in the coefficients of the features; all start at zero. Without a tangent
    part `correction` is `None`, without known functions `singular` is.
    """

    correction: Any
    singular: Float[Array, "fields functions"] | None
    features: list[Features]
    base: Any

    @override
    def __call__(self, inputs: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        origin = (0,)
        return self.propagate({origin: inputs}, frozenset([origin]))[origin]

    @override
    def propagate(self, inputs: Jet, indices: frozenset[Index]) -> Jet:
        jets = []
        if self.singular is not None:
            known = self.singular.shape[1]
            jets = [{i: v[-known:] @ self.singular.T for i, v in inputs.items()}]
            inputs = {i: v[:-known] for i, v in inputs.items()}
        trained, fixed = eqx.partition(self.base, eqx.is_inexact_array)
        run = lambda part: _layers(eqx.combine(part, fixed), inputs, indices)
        if self.correction is None:
            layers, change = run(trained), {}
        else:
            layers, tangent = jax.jvp(run, (trained,), (self.correction,))
            change = tangent[-1]
        jets += [each.propagate(layers[:-1], indices) for each in self.features]
        return _sum_of([layers[-1], change, *jets])


def polish(
    base: Any,
    num_inputs: int,
    num_outputs: int,
    batches: tuple[int, ...],
    *,
    num_singular: int = 0,
    has_tangent: bool = True,
    gain: float = 2.0,
    dtype: Any,
    key: Key[Array, ""],
) -> Polished:
    """Add a tangent part, known functions and batches of random features.

    All coefficients are zero. The network has `num_inputs` inputs; the polished one
    has `num_singular` more, the known functions.
    `batches` holds the features of each output in a batch, shared equally among the
    layers. `A ~ N(0, gain^2 / d)` for a layer of `d` units, `b ~ U(-gain/2, gain/2)`.
    """
    check_positive(gain=gain)
    check_count(**{f"batches[{k}]": count for k, count in enumerate(batches)})
    widths = _layer_widths(base, num_inputs, dtype)
    trained = eqx.filter(base, eqx.is_inexact_array)
    correction = jax.tree.map(jnp.zeros_like, trained) if has_tangent else None
    singular = jnp.zeros((num_outputs, num_singular), dtype) if num_singular else None
    features = []
    for number, count in enumerate(batches):
        directions, offsets = [], []
        row = jax.random.split(jax.random.fold_in(key, number), (len(widths), 2))
        for k, width in enumerate(widths):
            size = count // len(widths) + (k < count % len(widths))
            scale = gain / jnp.sqrt(jnp.asarray(width, dtype))
            normal = jax.random.normal(row[k, 0], (size, width), dtype)
            shift = jax.random.uniform(row[k, 1], (size,), dtype, -gain / 2, gain / 2)
            directions.append(scale * normal)
            offsets.append(shift)
        zeros = jnp.zeros((num_outputs, count), dtype)
        features.append(Features(zeros, directions, offsets))
    return Polished(correction, singular, features, base)


def linear_parts(polished: Polished) -> Any:
    """Return a tree of booleans: true for the arrays that the model is linear in."""
    coefficients = lambda tree: [each.coefficients for each in tree.features]
    where = lambda tree: [
        *jax.tree.leaves((tree.correction, tree.singular)),
        *coefficients(tree),
    ]
    nothing = jax.tree.map(lambda _: False, polished)
    return eqx.tree_at(where, nothing, [True] * len(where(nothing)))


def _layers(model: Any, inputs: Jet, indices: frozenset[Index]) -> list[Jet]:
    """Return the jets of the layers of a model and of its output."""
    if isinstance(model, AbstractLayered):
        return model.propagate_layers(inputs, indices)
    return [inputs, propagate(model, [inputs], indices)]


def _layer_widths(model: Any, num_inputs: int, dtype: Any) -> list[int]:
    """Return the number of units of each layer before the output."""
    origin = (0,)
    fn = lambda inputs: _layers(model, {origin: inputs}, frozenset([origin]))
    layers = jax.eval_shape(fn, jax.ShapeDtypeStruct((num_inputs,), dtype))
    return [layer[origin].shape[0] for layer in layers[:-1]]


def _sum_of(jets: list[Jet]) -> Jet:
    """Add jets; a missing derivative is zero."""
    total: Jet = {}
    for jet in jets:
        for index, part in jet.items():
            total[index] = total[index] + part if index in total else part
    return total
