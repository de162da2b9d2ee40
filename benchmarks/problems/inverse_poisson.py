"""PINNacle's inverse problem: a coefficient field from noisy measurements."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from vrba.core import check_positive
from vrba.domains import Box
from vrba.problems import Data, Dirichlet, Problem, Reference, exact_reference

_NUM_PLACES = 50
_NOISE_SEED = 0


class InversePoisson(Problem):
    """`-(a u_x)_x - (a u_y)_y = f` on the unit square, with an unknown field `a`.

    The true fields are `u = sin(pi x) sin(pi y)` and
    `a = 1 / (1 + x^2 + y^2 + (x - 1)^2 + (y - 1)^2)`; `f` follows from them. On 50 x 50
    points `u` is measured with Gaussian noise of the standard deviation `noise`. On all
    sides `a` is known. This is PInv of Hao et al. (2023). The error counts both fields.

    Good values: `noise = 0.1`, as published.
    """

    noise: float = 0.1
    fields = ("u", "a")
    domain = Box(x=(0, 1), y=(0, 1))

    def __check_init__(self):
        check_positive(noise=self.noise)

    @override
    def equations(self, u, a, x, y):
        flow = a * (u.xx + u.yy) + a.x * u.x + a.y * u.y
        return {"balance": flow + _source(x, y)}

    @override
    def conditions(self):
        axis = np.linspace(0, 1, _NUM_PLACES)
        grid = np.meshgrid(axis, axis, indexing="ij")
        points = np.stack([np.ravel(g) for g in grid], axis=1)
        true = _fields(np, *points.T)["u"]
        random = np.random.default_rng(_NOISE_SEED)
        values = true + self.noise * random.standard_normal(true.shape)
        known = lambda x, y: _fields(jnp, x, y)["a"]
        sides = [Dirichlet(known, on=name, field="a") for name in ("x", "y")]
        return [Data(points, values, field="u"), *sides]

    @override
    def reference(self) -> Reference:
        """Return the true fields on 101 x 101 points.

        The error is the difference from extended precision.
        """
        return exact_reference(self.domain, lambda x, y: _fields(np, x, y), 101, 101)


def _fields(xp: Any, x: Any, y: Any) -> dict[str, Any]:
    """Evaluate the true fields, with `numpy` or `jax.numpy` as `xp`."""
    square = x**2 + y**2 + (x - 1) ** 2 + (y - 1) ** 2
    return {"u": xp.sin(np.pi * x) * xp.sin(np.pi * y), "a": 1 / (1 + square)}


def _source(x: Any, y: Any) -> Any:
    """Return `-div(a grad u)` of the true fields."""
    sine_x, sine_y = jnp.sin(np.pi * x), jnp.sin(np.pi * y)
    cosine_x, cosine_y = jnp.cos(np.pi * x), jnp.cos(np.pi * y)
    found = _fields(jnp, x, y)
    slopes = (2 * x - 1) * cosine_x * sine_y + (2 * y - 1) * sine_x * cosine_y
    a = found["a"]
    return 2 * np.pi**2 * a * found["u"] + 2 * np.pi * a**2 * slopes
