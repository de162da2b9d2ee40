"""Burgers with unknown coefficients, found from noisy sensors."""

import dataclasses
import math

from ._base import Problem
from ._sensors import between, check_sensors, read_sensors
from .burgers import Burgers, cole_hopf
from .reference import Reference
from .unknown import Unknown

_VISCOSITY = 0.01 / math.pi


class InverseBurgers(Problem):
    """`u_t + advection u u_x = viscosity u_xx` with both coefficients sought.

    Sensors at `num_places`, closer together towards the front at the centre, read `u`
    at `num_times`, with Gaussian noise of `noise` times its root mean square. The truth
    is `advection = 1`, `viscosity = 0.01 / pi`; the search begins at half and at about
    three times that. The initial and boundary values of `Burgers` are known and hold
    exactly.

    Good values: 40 places, 50 times, a noise of 0.01. Only the front tells the
    viscosity: by these readings it can be known to 0.2 % (one standard error), by 20
    evenly spread places to 3 %. Another `noise_seed` draws other noise: the spread of
    what is found over several of them is its uncertainty.
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
        """Settings in range."""
        counts = (self.num_places, self.num_times)
        check_sensors(*counts, self.noise, self.noise_seed)

    def equations(self, u, t, x, advection, viscosity):
        """The balance of momentum."""
        return {"momentum": u.t + advection * u * u.x - viscosity * u.xx}

    def conditions(self):
        """What is known, exactly; what was measured."""
        truth_fn = lambda t, x: cole_hopf(t, x, _VISCOSITY, step=0.08)
        t, x = between(0, 1, self.num_times), between(-1, 1, self.num_places) ** 3
        readings = read_sensors(truth_fn, t, x, self.noise, self.noise_seed)
        return [*Burgers(_VISCOSITY).conditions(), readings]

    def reference(self) -> Reference:
        """That of `Burgers`, with the true coefficients."""
        true = {"advection": 1.0, "viscosity": _VISCOSITY}
        return dataclasses.replace(Burgers(_VISCOSITY).reference(), unknowns=true)
