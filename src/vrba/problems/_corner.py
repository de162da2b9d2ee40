"""The flow near the upper corners of the classical cavity, on the host."""

from collections.abc import Callable
from math import comb

import numpy as np
from jaxtyping import Complex
from numpy.polynomial import Chebyshev, Polynomial

from ..fields import Index, downward_closure
from ._stream import Axis, Derivatives, Matrix

_ANGLES = (-np.pi / 2, 0.0)  # of the wall and of the lid
_DEGREE = 18


def inertial_stream(
    terms: list[Chebyshev], fade: Polynomial, reynolds: float
) -> Derivatives:
    """Return a stream function of the `inertial_terms` at both upper corners.

    `fade` goes from one at zero to zero at one. At the right corner the flow is
    reversed, which changes the sign of the Reynolds number.
    """

    def left(x: Axis, y: Axis, orders: list[Index], signed: float) -> dict:
        grid = np.meshgrid(x, y - 1, indexing="ij")
        near = {index: np.zeros(grid[0].shape) for index in orders}
        for power, term in enumerate(terms, 2):
            found = power_derivatives(term, power, grid[0], grid[1], orders)
            near = {i: near[i] + signed ** (power - 1) * found[i] for i in orders}
        by_x = [fade.deriv(n)(x)[:, None] for n in range(5)]
        by_y = [(-1) ** n * fade.deriv(n)(1 - y) for n in range(5)]
        return {
            (i, j): sum(
                comb(i, a) * comb(j, b) * by_x[i - a] * by_y[j - b] * near[a, b]
                for a, b in np.ndindex(i + 1, j + 1)
            )
            for i, j in orders
        }

    def derivatives(x: Axis, y: Axis, orders: list[Index]) -> dict[Index, Matrix]:
        needed = sorted(downward_closure(orders))
        one = left(x, y, needed, reynolds)
        other = left(1 - x, y, needed, -reynolds)
        return {(i, j): one[i, j] + (-1) ** i * other[i, j] for i, j in orders}

    return derivatives


def inertial_terms(slow_fn: Callable[[Axis], Axis], num_terms: int) -> list[Chebyshev]:
    """Return `f_2`, `f_3`, ... of the stream function `sum of Re^(k-1) r^k f_k(angle)`.

    `slow_fn` is `f_1`, the angular part of slow flow. Each power of `r` in the equation
    gives a linear equation for `f_k`, which vanishes with its slope at the lid and the
    wall (Hancock, Lewis and Moffatt 1981):

    `(D^2 + k^2) (D^2 + (k-2)^2) f_k = sum of (j-2) f_i' w_j - i f_i w_j'` over
    `i + j = k`, with the vorticities `w_j = j^2 f_j + f_j''`.
    """
    found = [Chebyshev.interpolate(slow_fn, _DEGREE, _ANGLES)]
    identity = np.eye(_DEGREE + 1)
    basis = [Chebyshev(row, _ANGLES) for row in identity]
    count = _DEGREE - 3
    share = (1 + np.cos(np.pi * (np.arange(count) + 0.5) / count)) / 2
    angles = _ANGLES[0] * share
    ends = np.array(_ANGLES)
    for k in range(2, num_terms + 2):
        load = np.zeros(count)
        for i, f in enumerate(found, 1):
            j, g = k - i, found[k - i - 1]
            vorticity = j**2 * g + g.deriv(2)
            load += (j - 2) * f.deriv()(angles) * vorticity(angles)
            load -= i * f(angles) * vorticity.deriv()(angles)
        total, product = k**2 + (k - 2) ** 2, (k * (k - 2)) ** 2
        rows = [p.deriv(4) + total * p.deriv(2) + product * p for p in basis]
        matrix = np.stack(
            [
                np.concatenate([row(angles), p(ends), p.deriv()(ends)])
                for row, p in zip(rows, basis, strict=True)
            ],
            axis=1,
        )
        solution = np.linalg.solve(matrix, np.concatenate([load, np.zeros(4)]))
        found.append(Chebyshev(solution, _ANGLES))
    return found[1:]


def power_derivatives(
    angular: Chebyshev, power: int, x: Matrix, y: Matrix, orders: list[Index]
) -> dict[Index, Matrix]:
    """Differentiate `r^power angular(angle)` by `x` and `y`.

    By `z = x + i y` and by its conjugate, the derivatives of `r^p exp(-i l angle) h`
    are `r^(p-1) / 2` times `exp(-i (l+1) angle) ((p - l) h - i h')` and
    `exp(-i (l-1) angle) ((p + l) h + i h')`.
    """
    z = x + 1j * y
    r, angle = np.abs(z), np.angle(z)
    highest = max(i + j for i, j in orders)
    parts = [angular.deriv(m)(angle) for m in range(highest + 1)]

    def mixed(a: int, b: int) -> Complex[np.ndarray, "_ _"]:
        factors = np.ones(1)  # of the derivatives of the angular part
        for n in range(a):
            factors = np.convolve(factors, [power - 2 * n, -1j])
        for n in range(b):
            factors = np.convolve(factors, [power - 2 * n, 1j])
        weighted = [c * part for c, part in zip(factors, parts, strict=False)]
        turn = np.exp(-1j * (a - b) * angle) / 2 ** (a + b)
        return np.sum(weighted, axis=0) * turn * r ** float(power - a - b)

    pairs = [(a, n - a) for n in range(highest + 1) for a in range(n + 1)]
    known = {pair: mixed(*pair) for pair in pairs}

    def combine(i: int, j: int) -> Matrix:
        total = np.zeros(z.shape, complex)
        for p, q in np.ndindex(i + 1, j + 1):
            factor = comb(i, p) * comb(j, q) * (-1) ** q
            total += factor * known[i + j - p - q, p + q]
        return np.real(1j**j * total)

    return {(i, j): combine(i, j) for i, j in orders}
