"""Helpers that the tests of derivatives share."""

import jax
import jax.numpy as jnp
import numpy as np

ROW = np.array([1.0, -2.0, 0.5])
MATRIX = np.arange(6.0).reshape(2, 3) / 3
QUICK = {"xla_backend_optimization_level": 0}  # to compile, not to run
PLACE = np.array([0.3, 0.7])


def nested(fn, point, *path):
    """Return all derivatives up to `path`, one coordinate for each nested `jvp`."""
    pushed = lambda p: [jnp.asarray(leaf) for leaf in jax.tree.leaves(fn(*p))]
    unit = jnp.eye(len(point), dtype=point.dtype)
    for k in path:
        pushed = lambda p, fn=pushed, k=k: jax.jvp(fn, (p,), (unit[k],))
    found = {}

    def collect(parts, path, index):
        if not path:
            found[index] = parts
            return
        *rest, k = path
        higher = index[:k] + (index[k] + 1,) + index[k + 1 :]
        collect(parts[0], rest, index)
        collect(parts[1], rest, higher)

    collect(pushed(point), path, (0,) * len(point))
    return found


def operations(fn, *arguments):
    """Count the operations of a jaxpr, including those of inner jaxprs."""
    counts = {}

    def count(jaxpr):
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            counts[name] = counts.get(name, 0) + 1
            for inner in jax.tree.leaves(
                list(equation.params.values()), is_leaf=lambda p: hasattr(p, "jaxpr")
            ):
                if hasattr(inner, "jaxpr"):
                    count(inner.jaxpr)

    count(jax.make_jaxpr(fn)(*arguments).jaxpr)
    return counts
