"""Residuals of problems for given functions."""

import math

import jax
import jax.numpy as jnp
import numpy as np

OFFSETS = np.arange(-6, 7)


def derivative(fn, index):
    """Differentiate by JAX as often as the index says."""
    for coordinate, times in enumerate(index):
        for _ in range(times):
            fn = jax.grad(fn, coordinate)
    return fn


def residuals_of(term, names, fns, rows, unknowns=None):
    """Residuals of a term at points with numbers, for functions of the fields."""

    values = {name: jnp.asarray(value) for name, value in (unknowns or {}).items()}

    def at(point, number):
        lookups = {
            name: {i: derivative(fn, i)(*point) for i in term.indices}.__getitem__
            for name, fn in zip(names, fns, strict=True)
        }
        found = term.evaluate(lookups, point, number, values)
        return jnp.stack([*found.values()])

    return jax.jit(jax.vmap(at))(*map(jnp.asarray, rows))


def stencil(order, step):
    """Weights of 13 neighbouring values for a derivative at the middle one."""
    moments = np.vander(OFFSETS * step, increasing=True).T
    return math.factorial(order) * np.linalg.solve(moments, np.eye(13)[order])
