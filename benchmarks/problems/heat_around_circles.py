"""PINNacle's heat equation around many circles, with exchange on all boundaries."""

import numpy as np
from typing_extensions import override

from vrba.domains import Box, Disk, Product
from vrba.problems import Initial, Problem, Reference, Robin

if __package__:
    from ._finite_elements import (
        assemble,
        assemble_boundary,
        build_mesh,
        decay,
        interpolation,
    )
else:  # as a file of the command line
    from _finite_elements import (
        assemble,
        assemble_boundary,
        build_mesh,
        decay,
        interpolation,
    )

_WIDTH, _HEIGHT, _END = 8.0, 12.0, 3.0
_LARGE = [(x, y) for x in (-4, 4) for y in (-9, -3, 3, 9)] + [(0, -6), (0, 0), (0, 6)]
_SMALL = [(x, y) for x in (-3.2, 3.2) for y in (-6, 0, 6)]
_RADII = 1.0, 0.4
_OUTSIDE, _HOT, _WARM = 0.1, 5.0, 1.0  # temperatures beyond each boundary


def _union(centres, radius):
    """Join disks in pairs: a long chain of unions would be slow to sample."""
    if len(centres) == 1:
        ((x, y),) = centres
        return Disk(radius, x=x, y=y)
    half = len(centres) // 2
    return _union(centres[:half], radius) | _union(centres[half:], radius)


_RECTANGLE = Box(x=(-_WIDTH, _WIDTH), y=(-_HEIGHT, _HEIGHT))
_LARGE_HOLES, _SMALL_HOLES = _union(_LARGE, _RADII[0]), _union(_SMALL, _RADII[1])


class HeatAroundCircles(Problem):
    """`u_t = u_xx + u_yy` on the rectangle from (-8, -12) to (8, 12) without 17 disks,
    for `t` from 0 to 3, `u(0, x, y) = 0`.

    Heat enters and leaves through all boundaries: `du/dn = 5 - u` on the eleven disks
    of radius 1, `du/dn = 1 - u` on the six of radius 0.4, `du/dn = 0.1 - u` on the
    rectangle. The slopes jump from zero at the start. This is Heat2d-CG of Hao et al.
    (2023).
    """

    domain = Product(Box(t=(0, _END)), _RECTANGLE - (_LARGE_HOLES | _SMALL_HOLES))

    @override
    def equations(self, u, t, x, y):
        return {"heat": u.t - u.xx - u.yy}

    @override
    def conditions(self):
        return [
            Initial(0.0),
            Robin(_HOT, on=_LARGE_HOLES),
            Robin(_WARM, on=_SMALL_HOLES),
            Robin(_OUTSIDE, on=_RECTANGLE),
        ]

    @override
    def reference(self) -> Reference:
        """Return quadratic finite elements of size 0.16 on 31 x 33 x 49 points.

        The error is the difference from the size 0.24. There are no time steps: the
        Laplace transform is inverted.
        """
        found, coarse = solve_heat(0.16), solve_heat(0.24)
        is_inside = np.isfinite(found.values)
        gap = np.linalg.norm((found.values - coarse.values)[is_inside])
        error = float(gap / np.linalg.norm(found.values[is_inside]))
        return Reference(found.axes, found.values, error)


def solve_heat(spacing: float) -> Reference:
    """Solve on a quarter of the rectangle, which is symmetric about both axes."""
    large, small = (
        lambda x, y, c=c, r=r: np.min([np.hypot(x - a, y - b) - r for a, b in c], 0)
        for c, r in zip((_LARGE, _SMALL), _RADII, strict=True)
    )

    def is_exchanging(x, y):  # not on the axes of symmetry
        is_cut = np.minimum(np.abs(x), np.abs(y)) < 1e-9
        is_hole = np.minimum(large(x, y), small(x, y)) < 1e-9
        return np.where(is_cut & ~is_hole, 0.0, 1.0)

    def heat(x, y):
        is_large, is_small = (np.abs(f(x, y)) < spacing**2 / 4 for f in (large, small))
        warm = np.where(is_small, _WARM, _OUTSIDE)
        return is_exchanging(x, y) * np.where(is_large, _HOT, warm)

    mesh = build_mesh((0, _WIDTH, 0, _HEIGHT), spacing, [large, small])
    matrices = assemble(mesh, np.ones(len(mesh.triangles)))
    exchange, load = assemble_boundary(mesh, is_exchanging, heat)
    matrices = matrices._replace(stiffness=(matrices.stiffness + exchange).tocsc())
    times = np.linspace(0, _END, 31)
    windows = times[1:11], times[11:]
    parts = [decay(matrices, part, lambda s: load / s) for part in windows]
    nodal = np.concatenate([np.zeros((1, len(load))), *parts])

    def values(t, x, y):
        rows, place = np.unique(np.abs([x, y]).T, axis=0, return_inverse=True)
        at_points = nodal @ interpolation(mesh, rows).T
        return at_points[np.round(10 * t).astype(int), place.reshape(-1)]

    return Reference.from_function(HeatAroundCircles.domain, values, (31, 33, 49))
