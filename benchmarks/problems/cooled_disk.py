"""A heated disk with three holes, and three kinds of boundary conditions."""

import numpy as np
from typing_extensions import override

from vrba.domains import Disk
from vrba.problems import Dirichlet, Neumann, Problem, Reference, Robin

_OUTER = Disk(2.0, x=0, y=0)
_HOT = Disk(0.5, x=-0.9, y=0.3)
_INSULATED = Disk(0.4, x=0.7, y=0.8)
_HEATED = Disk(0.3, x=0.4, y=-0.9)
_HOT_VALUE, _FLUX, _TRANSFER = 1.0, 2.0, 3.0
_CIRCLES = (  # centre, radius, factor of u, factor of du/dn, value
    (0j, 2.0, _TRANSFER, 1.0, 0.0),
    (-0.9 + 0.3j, 0.5, 1.0, 0.0, _HOT_VALUE),
    (0.7 + 0.8j, 0.4, 0.0, 1.0, 0.0),
    (0.4 - 0.9j, 0.3, 0.0, 1.0, _FLUX),
)


class CooledDisk(Problem):
    """`-u_xx - u_yy = 1` on the disk of radius 2 without three disks, with
    `du/dn + 3 u = 0` on the outer circle.

    The holes have the centres (-0.9, 0.3), (0.7, 0.8), (0.4, -0.9) and the radii 0.5,
    0.4, 0.3. On the first `u = 1`, on the second `du/dn = 0`, on the third
    `du/dn = 2`. The temperature is largest at the third, where heat flows in.
    """

    domain = _OUTER - (_HOT | _INSULATED | _HEATED)

    @override
    def equations(self, u, x, y):
        return {"heat": u.xx + u.yy + 1}

    @override
    def conditions(self):
        return [
            Robin(0.0, on=_OUTER, factor=_TRANSFER),
            Dirichlet(_HOT_VALUE, on=_HOT),
            Neumann(0.0, on=_INSULATED),
            Neumann(_FLUX, on=_HEATED),
        ]

    @override
    def reference(self) -> Reference:
        """Return a sum of 40 powers about each centre on 151 x 151 points.

        The error is the difference from 30 powers.
        """
        found, coarse = (self._powers(order) for order in (40, 30))
        is_inside = np.isfinite(found.values)
        values = found.values[is_inside]
        gap = np.linalg.norm(values - coarse.values[is_inside])
        error = max(float(gap / np.linalg.norm(values)), float(np.finfo(float).eps))
        return Reference(found.axes, found.values, error)

    def _powers(self, order: int) -> Reference:
        coefficients = fit_powers(order)
        fn = lambda x, y: evaluate_temperature(x, y, coefficients)
        return Reference.from_function(self.domain, fn, (151, 151))


def evaluate_temperature(
    x: np.ndarray, y: np.ndarray, coefficients: np.ndarray
) -> np.ndarray:
    """Return the solution at points of the domain."""
    order = (len(coefficients) - 4) // 8
    values, _ = _harmonics(x + 1j * y, order)
    return values @ coefficients - (x**2 + y**2) / 4


def fit_powers(order: int) -> np.ndarray:
    """Return the coefficients with which the conditions hold on all circles."""
    turns = np.exp(2j * np.pi * (np.arange(8 * order) + 0.5) / (8 * order))
    rows, right = [], []
    for number, (centre, radius, factor, slope, value) in enumerate(_CIRCLES):
        z = centre + radius * turns
        normal = turns if number == 0 else -turns
        values, slopes = _harmonics(z, order)
        outward = np.real(slopes * normal[:, None])
        rows.append(factor * values + slope * outward)
        known = -(np.abs(z) ** 2) / 4
        known_slope = -np.real(np.conj(z) * normal) / 2
        right.append(value - factor * known - slope * known_slope)
    matrix, values = np.concatenate(rows), np.concatenate(right)
    return np.linalg.lstsq(matrix, values, rcond=1e-15)[0]


def _harmonics(z: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return harmonic functions, and `d/dx - i d/dy` of each.

    They are powers of `z` inside the outer circle, and a logarithm and inverse powers
    about the centre of each hole, scaled to one on their circles.
    """
    values, slopes = [np.ones(z.shape)], [np.zeros(z.shape, complex)]
    powers = np.arange(1, order + 1)
    for number, (centre, radius, *_) in enumerate(_CIRCLES):
        ratio = ((z - centre) / radius)[:, None]
        sign = 1 if number == 0 else -1
        terms = ratio ** (sign * powers)
        derivatives = sign * powers * ratio ** (sign * powers - 1) / radius
        if number:
            values.append(np.log(np.abs(ratio[:, 0])))
            slopes.append(1 / (z - centre))
        values += [*terms.real.T, *terms.imag.T]
        slopes += [*derivatives.T, *(-1j * derivatives).T]
    return np.stack(values, axis=1), np.stack(slopes, axis=1)
