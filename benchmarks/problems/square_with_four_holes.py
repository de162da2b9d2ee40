"""A screened Poisson equation on a square with four round holes."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.special import k0, k1
from typing_extensions import override

from vrba.domains import Box, Disk
from vrba.problems import Dirichlet, Problem, Reference

_OUTER, _INNER = 0.2, 1.0  # boundary values
_SCREENING = 8.0
_SQUARE = Box(x=(-1, 1), y=(-1, 1))
_CIRCLES = (  # centre, radius, largest order of the multipoles about the centre
    (0.5 + 0.5j, 0.2, 24),
    (0.4 - 0.4j, 0.4, 56),
    (-0.2 - 0.7j, 0.1, 24),
    (-0.6 + 0.5j, 0.3, 40),
)
_FIRST, _SECOND, _THIRD, _FOURTH = (
    Disk(radius, x=centre.real, y=centre.imag) for centre, radius, _ in _CIRCLES
)
_HOLES = _FIRST | _SECOND | _THIRD | _FOURTH

_NEGLIGIBLE = 36.0  # terms are left out if they decay by more than e^-36
_MAX_TERMS = 20_000  # of the series, in its corners


class SquareWithFourHoles(Problem):
    """`-u_xx - u_yy + 64 u = 10 (17 + x^2 + y^2) sin(pi x) sin(4 pi y)` on the square
    from -1 to 1 without four disks, `u = 0.2` on the square and 1 on the disks.

    The disks have the centres (0.5, 0.5), (0.4, -0.4), (-0.2, -0.7), (-0.6, 0.5) and
    the radii 0.2, 0.4, 0.1, 0.3. The solution falls from the disks within a distance of
    1/8. Hao et al. (2023) pose this Poisson-Boltzmann problem.
    """

    domain = _SQUARE - _HOLES

    @override
    def equations(self, u, x, y):
        wave = jnp.sin(jnp.pi * x) * jnp.sin(4 * jnp.pi * y)
        source = 10 * (17 + x**2 + y**2) * wave
        return {"screening": _SCREENING**2 * u - u.xx - u.yy - source}

    @override
    def conditions(self):
        return [Dirichlet(_OUTER, on=_SQUARE), Dirichlet(_INNER, on=_HOLES)]

    @override
    def reference(self) -> Reference:
        """Return an expansion in multipoles on 151 x 151 points, NaN in the holes.

        The error is certified: the expansion satisfies the equation and the condition
        on the square, so by the maximum principle its error is largest on the circles.
        """
        coefficients = fit_multipoles()
        solution = lambda x, y: evaluate_solution(x, y, coefficients)
        found = Reference.from_function(self.domain, solution, (151, 151))
        circles = solution(*_circle_points(500))
        size = np.sqrt(np.nanmean(found.values**2))
        error = float(np.max(np.abs(circles - _INNER)) / size)
        return dataclasses.replace(found, error=error)


def evaluate_solution(x: Any, y: Any, coefficients: np.ndarray) -> np.ndarray:
    """Return the solution at points of the domain."""
    return _without_holes(x, y) + _multipoles(x, y) @ coefficients


def fit_multipoles() -> np.ndarray:
    """Return the coefficients for which the solution is one on the circles."""
    x, y = _circle_points(150)
    matrix, values = _multipoles(x, y), _INNER - _without_holes(x, y)
    return np.linalg.lstsq(matrix, values, rcond=1e-15)[0]


def _circle_points(num_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points on all circles, `num_points` on each."""
    turns = np.exp(2j * np.pi * (np.arange(num_points) + 0.5) / num_points)
    found = np.concatenate([centre + radius * turns for centre, radius, _ in _CIRCLES])
    return np.real(found), np.imag(found)


def _without_holes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the solution on the whole square, without the conditions on the holes."""
    sines = np.sin(np.pi * x), np.sin(4 * np.pi * y)
    total = 17 * np.pi**2 + _SCREENING**2
    constant = 17 + 4 / total - 136 * np.pi**2 / total**2
    slopes = x * np.pi * np.cos(np.pi * x) * sines[1]
    slopes += y * 4 * np.pi * np.cos(4 * np.pi * y) * sines[0]
    source_part = 10 / total * (constant + x**2 + y**2) * sines[0] * sines[1]
    source_part += 40 / total**2 * slopes
    # On the sides this is a sine, which the next terms remove.
    edges = np.pi * _odd(x, 4 * np.pi) * sines[1]
    edges -= 4 * np.pi * _odd(y, np.pi) * sines[0]
    return source_part + 40 / total**2 * edges + _OUTER * _unit_boundary(x, y)


def _odd(x: np.ndarray, wave: float) -> np.ndarray:
    """Return the odd function that grows from -1 to 1 and solves the equation when
    multiplied by a sine of the other coordinate."""
    rate = np.sqrt(_SCREENING**2 + wave**2)
    return np.sinh(rate * x) / np.sinh(rate)


def _unit_boundary(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Solve the equation without source on the whole square, one on its boundary.

    The solution is a function of one coordinate plus a sine series in it. The series
    decays exponentially with the distance from the sides in the other coordinate, which
    is the one farther from its sides.
    """
    near, far = np.sort(np.stack([1 - np.abs(x), 1 - np.abs(y)]), axis=0)
    found = _even(near, np.asarray(_SCREENING))
    is_open = near > 0
    for wave in np.pi * np.arange(0.5, _MAX_TERMS):
        if not np.any(is_open):
            break
        rate = np.sqrt(_SCREENING**2 + wave**2)
        size = 2 / wave * (_SCREENING / rate) ** 2
        term = np.sin(wave * near[is_open]) * _even(far[is_open], rate)
        found[is_open] += size * term
        is_open &= rate * far < _NEGLIGIBLE
    return found


def _even(distance: np.ndarray, rate: Any) -> np.ndarray:
    """Return `cosh(rate (1 - distance)) / cosh(rate)` without overflow."""
    total = np.exp(-rate * distance) + np.exp(-rate * (2 - distance))
    return total / (1 + np.exp(-2 * rate))


def _multipoles(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return functions that solve the equation without source, zero on the square.

    They are `K_n(8 r) cos(n angle)` and `K_n(8 r) sin(n angle)` about the centre of
    each hole, minus their mirror images at the sides. `K_n` is a modified Bessel
    function, scaled to one on the circle.
    """
    columns = []
    for centre, radius, order in _CIRCLES:
        found = np.zeros((order + 1, len(x)), complex)
        for image_x, sign_x in _images(x):
            for image_y, sign_y in _images(y):
                z = image_x + 1j * image_y - centre
                is_near = _SCREENING * (np.abs(z) - radius) < _NEGLIGIBLE
                if np.any(is_near):
                    part = _outgoing(z[is_near], radius, order)
                    found[:, is_near] += sign_x * sign_y * part
        columns += [np.real(found), np.imag(found)[1:]]
    return np.concatenate(columns).T


def _images(x: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Return the mirror images of a coordinate at -1 and 1, with their signs."""
    for shift in range(-8, 9, 4):
        yield shift + x, 1
        yield shift + 2 - x, -1


def _outgoing(z: np.ndarray, radius: float, order: int) -> np.ndarray:
    """Return `K_n(8 r) / K_n(8 radius) e^(i n angle)` for `n` from zero to `order`."""
    size = np.abs(z)
    argument, edge = _SCREENING * size, np.asarray(_SCREENING * radius)
    values, scales = [k0(argument), k1(argument)], [k0(edge), k1(edge)]
    for n in range(1, order):
        values.append(values[-2] + 2 * n / argument * values[-1])
        scales.append(scales[-2] + 2 * n / edge * scales[-1])
    turns = (z / size) ** np.arange(order + 1)[:, None]
    return np.stack(values) / np.stack(scales)[:, None] * turns
