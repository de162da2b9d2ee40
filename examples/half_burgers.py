"""Burgers on half of its domain. The solution is odd, which gives the other half.

`vrba solve examples/half_burgers.py --minutes 10`
"""

import jax.numpy as jnp
import numpy as np

from vrba import Ansatz, Box, Problem
from vrba.problems import Burgers, Reference


class HalfBurgers(Problem):
    viscosity: float = 0.01 / np.pi
    domain = Box(t=(0, 1), x=(0, 1))

    def equations(self, u, t, x):
        return {"momentum": u.t + u * u.x - self.viscosity * u.xx}

    def conditions(self):
        return [Ansatz(lambda t, x, N: -jnp.sin(jnp.pi * x) + t * x * (1 - x) * N)]

    def reference(self):
        whole = Burgers(self.viscosity).reference()
        right = whole.axes["x"] >= 0
        axes = {"t": whole.axes["t"], "x": whole.axes["x"][right]}
        return Reference(axes, whole.values[:, right], whole.error)
