"""Small operators, functions and places that the tests of models share."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from tests.rooms import concrete
from vrba.models import MLP, AbstractOperatorArchitecture, TuckerKernel

KEY = jax.random.key(7)
GRID = (8, 8)
SMALL = {
    "DeepONet": {"branch": MLP(6, 1), "trunk": MLP(6, 1), "latent": 5},
    "FNO": {"modes": 4, "width": 4, "depth": 2, "kernel": TuckerKernel()},
    "TimeConditionedUNet": {
        "width": 4,
        "multipliers": (2,),
        "num_groups": 2,
        "head_width": 2,
    },
}
OPERATORS = {
    cls.__name__: cls for cls in concrete("vrba.models", AbstractOperatorArchitecture)
}


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@jax.jit
def call(model, *arguments):
    return model(*arguments)


@jax.jit
def call_each(model, functions, places):
    return jax.vmap(model)(functions, places)


def places_on(*grid, time=None):
    """Return coordinates between 0 and 1, the time first if it is given."""
    axes = np.meshgrid(*(np.arange(count) / count for count in grid), indexing="ij")
    axes = axes if time is None else [np.full(grid, time), *axes]
    return np.stack(axes, axis=-1)


@cache
def small(name, dtype="float64"):
    """Build an operator from two channels to two channels on a small grid."""
    made = OPERATORS[name](**SMALL.get(name, {}))
    return made.build((*GRID, 2), (*GRID, 2), 3, key=KEY, dtype=jnp.dtype(dtype))


@cache
def program(name):
    """Return a compiled loss and gradient at shared places, and its traces."""
    traces = []

    @jax.jit
    def run(model, functions, places, wanted):
        traces.append(name)

        def loss(model):
            values = jax.vmap(model, in_axes=(0, None))(functions, places)
            return jnp.mean((values - wanted) ** 2), values

        return jax.value_and_grad(loss, has_aux=True)(model)

    return run, traces


DATA = numbers(3, *GRID, 2), places_on(*GRID, time=0.3), numbers(3, *GRID, 2, seed=1)


def ravel(tree):
    """Return all arrays as one vector, and the inverse."""
    leaves, treedef = jax.tree.flatten(tree)
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]

    def rebuild(vector):
        parts = zip(np.split(vector, ends), leaves, strict=True)
        return treedef.unflatten([part.reshape(leaf.shape) for part, leaf in parts])

    return np.concatenate([np.ravel(leaf) for leaf in leaves]), rebuild
