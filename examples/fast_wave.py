"""A wave that crosses its periodic domain five times; early errors persist in time.

`vrba solve examples/fast_wave.py --policy time-window-weights --minutes 2`
"""

import jax.numpy as jnp
import numpy as np

from vrba import Ansatz, Box, Periodic, Problem


class FastWave(Problem):
    speed: float = 30.0
    domain = Box(t=(0, 1), x=(0, 2 * np.pi))

    def equations(self, u, t, x):
        return {"advection": u.t + self.speed * u.x}

    def conditions(self):
        return [Ansatz(lambda t, x, N: jnp.sin(x) + t * N), Periodic("x")]

    def reference(self):
        return lambda t, x: np.sin(x - self.speed * t)
