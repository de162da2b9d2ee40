"""A plate of two materials: `vrba solve examples/two_materials.py --minutes 0.5`."""

import jax.numpy as jnp
import numpy as np

from vrba import Box, Dirichlet, Interface, Problem


def level(x, y):
    """Zero on the interface, negative in the disk."""
    return x**2 + y**2 - 0.25


class TwoMaterials(Problem):  # a heated plate with a disk that conducts better
    contrast: float = 10.0
    domain = Box(x=(-1, 1), y=(-1, 1))

    def equations(self, u, x, y):
        k = jnp.where(level(x, y) < 0, self.contrast, 1.0)
        return {"heat": k * (u.xx + u.yy) + 4}

    def conditions(self):  # `u` and the flux `k du/dn` are continuous at the interface
        wall = Dirichlet(lambda x, y: 1 - x**2 - y**2, on=self.domain)
        return [wall, Interface(level, coefficient=(self.contrast, 1.0))]

    def reference(self):
        k = lambda x, y: np.where(level(x, y) < 0, self.contrast, 1.0)
        return lambda x, y: 0.75 - level(x, y) / k(x, y)
