"""Your own PDE: `vrba solve examples/my_pde.py --minutes 0.5`."""

import jax.numpy as jnp
import numpy as np

from vrba import Ansatz, Box, Neumann, Problem


class TwoSubstances(Problem):  # they diffuse and react with each other
    rate: float = 2.0
    fields = ("u", "v")
    domain = Box(t=(0, 1), x=(0, 1))

    def equations(self, u, v, t, x):
        k = self.rate
        return {"u": u.t - 0.1 * u.xx - k * v, "v": v.t - 0.1 * v.xx + k * u}

    def conditions(self):  # initial values, and no flux at the walls
        start = Ansatz(lambda t, x, U, V: (jnp.cos(jnp.pi * x) + t * U, t * V))
        return [start, Neumann(0.0, on="x", field="u"), Neumann(0.0, on="x", field="v")]

    def reference(self):
        wave = lambda t, x: np.exp(-0.1 * np.pi**2 * t) * np.cos(np.pi * x)
        turn = {"u": np.cos, "v": lambda angle: -np.sin(angle)}
        return lambda t, x: {n: wave(t, x) * f(self.rate * t) for n, f in turn.items()}
