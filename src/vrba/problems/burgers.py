"""Viscous Burgers: a steep front, with known or unknown coefficients."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from typing_extensions import override

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from ._sensors import check_sensors, interior_points, read_sensors
from ._spectral import relative_difference
from .conditions import Ansatz, Periodic
from .reference import Reference
from .unknowns import Unknown

_VISCOSITY = 0.01 / math.pi  # true value of `InverseBurgers`


class Burgers(Problem):
    """`u_t + u u_x = viscosity u_xx`, `u(0, x) = -sin(pi x)`, `u(t, -1) = u(t, 1) = 0`.

    A front of thickness about `4 viscosity` forms at the centre near `t = 0.5`, then
    decays slowly. The initial and boundary conditions are hard constraints.

    Good values: `viscosity = 0.01 / pi`, the usual test, with a steepest slope of -152.
    With 1 / 1000 the slope is -495. The front is then thinner than the spacing of the
    reference, and published errors are ten times larger. Above 0.05 there is no front.

    `is_periodic` is the form of Toscano et al. (2025). The network is then periodic in
    `x` and has to learn the zero values at the ends.
    """

    viscosity: float = 0.01 / math.pi
    is_periodic: bool = False
    domain = Box(t=(0, 1), x=(-1, 1))

    def __check_init__(self):
        check_positive(viscosity=self.viscosity)

    @override
    def equations(self, u, t, x):
        return {"momentum": u.t + u * u.x - self.viscosity * u.xx}

    @override
    def conditions(self):
        if self.is_periodic:
            start = lambda t, x, N: -jnp.sin(jnp.pi * x) + t * N
            return [Periodic("x"), Ansatz(start)]
        return [Ansatz(lambda t, x, N: -jnp.sin(jnp.pi * x) + t * (1 - x**2) * N)]

    @override
    def reference(self) -> Reference:
        """Return the Cole-Hopf solution on 201 x 513 points.

        Its error is the difference from a coarser quadrature, plus the rounding error
        of the exponents.
        """
        t, x = np.linspace(0, 1, 201), np.linspace(-1, 1, 513)
        values = cole_hopf(t, x, self.viscosity, step=0.08)
        coarse = cole_hopf(t, x, self.viscosity, step=0.1)
        rounding = float(np.finfo(float).eps) / (math.pi * self.viscosity)
        error = relative_difference(coarse, values) + rounding
        return Reference({"t": t, "x": x}, values, error)


class InverseBurgers(Problem):
    """`u_t + advection u u_x = viscosity u_xx` with both coefficients unknown.

    Sensors at `num_places`, denser towards the front at the centre, measure `u` at
    `num_times`, with Gaussian noise of `noise` times the root mean square. The true
    values are `advection = 1` and `viscosity = 0.01 / pi`; training starts at 0.5 and
    0.01. The initial and boundary conditions of `Burgers` are hard constraints.

    Good values: 40 places, 50 times, `noise = 0.01`. Only the front depends on the
    viscosity: its standard error is 0.2 % with these sensors, and 3 % with 20 equally
    spaced places. The spread of the result over several `noise_seed`s is its
    uncertainty.
    """

    num_places: int = 40
    num_times: int = 50
    noise: float = 0.01
    noise_seed: int = 0
    domain = Burgers.domain
    unknowns = {
        "advection": Unknown(0.5),
        "viscosity": Unknown(0.01, is_positive=True),
    }

    def __check_init__(self):
        counts = (self.num_places, self.num_times)
        check_sensors(*counts, self.noise, self.noise_seed)

    @override
    def equations(self, u, t, x, advection, viscosity):
        return {"momentum": u.t + advection * u * u.x - viscosity * u.xx}

    @override
    def conditions(self):
        """Return the conditions of `Burgers` and the measurements."""
        solution_fn = lambda t, x: cole_hopf(t, x, _VISCOSITY, step=0.08)
        t = interior_points(0, 1, self.num_times)
        x = interior_points(-1, 1, self.num_places) ** 3
        data = read_sensors(solution_fn, t, x, self.noise, self.noise_seed)
        return [*Burgers(_VISCOSITY).conditions(), data]

    @override
    def reference(self) -> Reference:
        """Return the reference of `Burgers` with the true coefficients.

        The error is that of `Burgers`.
        """
        true = {"advection": 1.0, "viscosity": _VISCOSITY}
        return dataclasses.replace(Burgers(_VISCOSITY).reference(), unknowns=true)


def cole_hopf(
    t: Float[np.ndarray, " times"],
    x: Float[np.ndarray, " places"],
    viscosity: float,
    step: float,
) -> Float[np.ndarray, "times places"]:
    """Evaluate the solution as a ratio of integrals (Cole 1951, Hopf 1950).

    It is the mean `-<sin(pi y)>` over `s`, with `y = x - sqrt(4 viscosity t) s` and the
    weight `exp(-s^2 - cos(pi y) / (2 pi viscosity))`. The error of the trapezoidal rule
    falls like `exp(-2.4 / step^2)` or faster, because the narrowest peak of the weight
    is a Gaussian of variance `1 / (2 + 2 pi t)`.
    """
    sine, cosine = np.sin(np.pi * x), np.cos(np.pi * x)
    rows = []
    for time in t:
        # All peaks lie within |s| <= sqrt(t / (4 viscosity)). At a distance of seven
        # the weight has fallen to exp(-49) of the largest peak.
        limit = math.sqrt(time / (4 * viscosity)) + 7
        s = step * np.arange(-math.ceil(limit / step), math.ceil(limit / step) + 1)
        shift = np.pi * math.sqrt(4 * viscosity * time) * s
        cos_shift, sin_shift = np.cos(shift), np.sin(shift)
        height = np.outer(cosine, cos_shift) + np.outer(sine, sin_shift)
        exponent = -height / (2 * np.pi * viscosity) - s**2
        weight = np.exp(exponent - np.max(exponent, axis=1, keepdims=True))
        sums = weight @ np.stack([np.ones_like(s), cos_shift, sin_shift], axis=1)
        rows.append((cosine * sums[:, 2] - sine * sums[:, 1]) / sums[:, 0])
    return np.stack(rows)
