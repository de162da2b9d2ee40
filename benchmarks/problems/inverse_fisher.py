"""A front that invades, with unknown diffusion and growth, from noisy data."""

import dataclasses

import numpy as np
from typing_extensions import override

from vrba.core import check_positive
from vrba.domains import Box
from vrba.problems import Data, Problem, Reference, Unknown, exact_reference

_NUM_TIMES, _NUM_PLACES = 20, 30
_NOISE_SEED = 0


class InverseFisher(Problem):
    """`u_t = diffusion u_xx + growth u (1 - u)` for `t` from 0 to 2 and `x` from -10 to
    10, with both coefficients unknown.

    Twenty measurements at each of 30 places have Gaussian noise of `noise` times one,
    the height of the front. There are no other conditions. The true coefficients are
    one; training starts at 0.3 and 2. The solution is the front of Ablowitz and
    Zeppetella (1979): `u = (1 + e^((x - 5 t / sqrt(6)) / sqrt(6)))^-2`.

    Good values: `noise = 0.02`.
    """

    noise: float = 0.02
    domain = Box(t=(0, 2), x=(-10, 10))
    unknowns = {
        "diffusion": Unknown(0.3, is_positive=True),
        "growth": Unknown(2.0, is_positive=True),
    }

    def __check_init__(self):
        check_positive(noise=self.noise)

    @override
    def equations(self, u, t, x, diffusion, growth):
        return {"reaction": u.t - diffusion * u.xx - growth * u * (1 - u)}

    @override
    def conditions(self):
        t = np.linspace(0, 2, _NUM_TIMES)
        x = np.linspace(-10, 10, _NUM_PLACES)
        points = np.stack([np.ravel(g) for g in np.meshgrid(t, x, indexing="ij")], 1)
        true = _front(*points.T)
        random = np.random.default_rng(_NOISE_SEED)
        return [Data(points, true + self.noise * random.standard_normal(true.shape))]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 101 x 401 points, and the true coefficients.

        The error is the difference from extended precision.
        """
        found = exact_reference(self.domain, _front, 101, 401)
        true = {"diffusion": 1.0, "growth": 1.0}
        return dataclasses.replace(found, unknowns=true)


def _front(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (1 + np.exp((x - 5 * t / 6**0.5) / 6**0.5)) ** -2
