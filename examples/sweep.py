"""One network for a range of a coefficient, which is a coordinate of the domain.

`vrba solve examples/sweep.py --minutes 1`, or `python examples/sweep.py`.
"""

import jax.numpy as jnp
import numpy as np

from vrba import Ansatz, Box, Problem, solve


class HeatSweep(Problem):  # a cooling rod, for any conductivity `k`
    domain = Box(t=(0, 1), x=(0, 1), k=(0.1, 1.0))

    def equations(self, u, t, x, k):
        return {"heat": u.t - k * u.xx}

    def conditions(self):  # initial values, and zero at both ends
        start = lambda x: jnp.sin(jnp.pi * x)
        return [Ansatz(lambda t, x, k, N: start(x) + t * x * (1 - x) * N)]

    def reference(self):
        return lambda t, x, k: np.exp(-k * np.pi**2 * t) * np.sin(np.pi * x)


if __name__ == "__main__":
    solution = solve(HeatSweep(), minutes=1)
    for k in (0.1, 0.3, 1.0):
        print(f"k = {k}: u(0.5, 0.5) = {float(solution(0.5, 0.5, k)):.6f}")
