"""Your own shape and equation: `vrba solve examples/my_geometry.py`."""

import jax.numpy as jnp
import numpy as np

from vrba import Dirichlet, Disk, Polygon, Problem, Robin

HOLE = Disk(0.4, x=0.1, y=-0.1)
PLATE = Polygon([(-1, -1), (1, -1), (1, 0.5), (0.5, 1), (-1, 1)])  # one corner cut off


class CooledPlate(Problem):  # loses heat to the air, and more at the hole
    loss: float = 2.0
    cooling: float = 3.0
    domain = PLATE - HOLE

    def equations(self, u, x, y):
        return {"heat": u.xx + u.yy - self.loss * u}

    def conditions(self):  # consistent with the exact solution below
        k = self.loss**0.5
        exact = lambda x, y: jnp.cosh(k * x) + jnp.sinh(k * y)

        def cooled(x, y):  # `cooling u + du/dn`; the normal points into the hole
            flux = k * (jnp.sinh(k * x) * (0.1 - x) - jnp.cosh(k * y) * (0.1 + y))
            return self.cooling * exact(x, y) + flux / 0.4

        wall = Dirichlet(exact, on=PLATE)
        return [wall, Robin(cooled, on=HOLE, factor=self.cooling)]

    def reference(self):
        k = self.loss**0.5
        return lambda x, y: np.cosh(k * x) + np.sinh(k * y)
