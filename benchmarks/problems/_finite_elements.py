"""Quadratic finite elements in the plane, on meshes that follow curves.

For references on regions with curved boundaries or interfaces. The error in the mean
square falls like the cube of the spacing.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import contourpy
import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import splu
from scipy.spatial import Delaunay, KDTree

Array = np.ndarray
Sparse = Any  # a matrix of SciPy
Level = Callable[[Array, Array], Array]  # zero on the curve, negative inside

_CONTOUR_SIZE = 700
_SYMMETRIC = dict(permc_spec="MMD_AT_PLUS_A", options=dict(SymmetricMode=True))
_NUM_NEAR = 12  # triangles in which a point may be
# A rule for degree four (Dunavant 1985): place and weight of three points each.
_ORBITS = (
    (0.445948490915965, 0.223381589678011),
    (0.091576213509771, 0.109951743655322),
)


class Mesh(NamedTuple):
    """Triangles with six nodes: the corners, then the middles of the opposite sides.

    `side` is the sign of the interface's level in each triangle, or one. `edges` holds
    the boundary, as start, end and middle node.
    """

    nodes: Array
    triangles: Array
    side: Array
    edges: Array


def build_mesh(
    box: tuple[float, float, float, float],
    spacing: float,
    holes: Sequence[Level] = (),
    interface: Level | None = None,
) -> Mesh:
    """Fill a box `(x0, x1, y0, y1)` without holes by triangles of a size.

    Curves may leave the box. They must be smooth, and farther apart than `spacing`.
    """
    levels = [*holes, *([] if interface is None else [interface])]
    curves = [_curve_points(level, box, spacing) for level in levels]
    corners = np.array([[x, y] for x in box[:2] for y in box[2:]])
    corners = corners[_are_outside(corners, holes)]
    fixed = np.concatenate([*curves, corners])
    sides = _side_points(box, spacing, fixed, holes)
    fixed = np.concatenate([fixed, sides])
    points = np.concatenate([fixed, _lattice(box, spacing, fixed, holes)])
    points, finder = _relax(points, len(fixed))
    owner = np.full(len(points), -1)  # the curve of each point
    count = 0
    for number, curve in enumerate(curves):
        owner[count : count + len(curve)] = number
        count += len(curve)
    centres = np.mean(points[finder.simplices], axis=1)
    is_inside = _are_outside(centres, holes) & _are_fat(points[finder.simplices])
    corners_of = finder.simplices[is_inside]
    side = np.ones(len(corners_of))
    if interface is not None:
        side = np.sign(interface(*centres[is_inside].T))
    nodes, triangles, edges = _add_middles(points, corners_of, owner, side, levels)
    return Mesh(nodes, triangles, side, edges)


def project(points: Array, level: Level) -> Array:
    """Move points to the nearest zero of a level."""
    for _ in range(20):
        slope = _gradient(level, points)
        value = level(*points.T)[:, None]
        points = points - value * slope / np.sum(slope**2, axis=1, keepdims=True)
    return points


def _gradient(level: Level, points: Array) -> Array:
    x, y, step = *points.T, 1e-5
    along = (level(x + step, y) - level(x - step, y)) / (2 * step)
    across = (level(x, y + step) - level(x, y - step)) / (2 * step)
    return np.stack([along, across], axis=1)


def _curve_points(level: Level, box: tuple[float, ...], spacing: float) -> Array:
    """Return points on the zeros of a level in a box, at about equal distances."""
    ends = box[:2], box[2:]
    axes = [np.linspace(low, high, _CONTOUR_SIZE) for low, high in ends]
    x, y = np.meshgrid(*axes)
    found = []
    lines: Any = contourpy.contour_generator(x, y, level(x, y)).lines(0.0)
    for line in lines:
        lengths = np.hypot(*np.diff(line, axis=0).T)
        place = np.concatenate([[0], np.cumsum(lengths)])
        count = max(6, round(place[-1] / spacing))
        is_closed = np.allclose(line[0], line[-1])
        wanted = np.linspace(0, place[-1], count + 1)
        wanted = wanted[:-1] if is_closed else wanted
        points = np.stack([np.interp(wanted, place, part) for part in line.T], axis=1)
        moved = project(points, level)
        if not is_closed:  # the ends stay on the box
            moved[[0, -1]] = [_slide(end, level, box) for end in points[[0, -1]]]
        found.append(moved)
    return np.concatenate(found)


def _slide(end: Array, level: Level, box: tuple[float, ...]) -> Array:
    """Move a point along a side of the box to a zero of a level."""
    is_upright = min(abs(end[0] - box[0]), abs(end[0] - box[1])) < 1e-9
    axis = 1 if is_upright else 0
    point = end[None]
    for _ in range(20):
        slope = _gradient(level, point)[0, axis]
        point = point.copy()
        point[0, axis] -= level(*point.T)[0] / slope
    return point[0]


def _side_points(
    box: tuple[float, ...], spacing: float, fixed: Array, holes: Sequence[Level]
) -> Array:
    """Return points on the sides of a box, between the fixed ones there."""
    found = []
    for axis in (0, 1):
        for end in box[2 * axis : 2 * axis + 2]:
            on_side = fixed[np.abs(fixed[:, axis] - end) < 1e-9]
            marks = np.sort(on_side[:, 1 - axis])
            for low, high in zip(marks[:-1], marks[1:], strict=True):
                count = max(1, round((high - low) / spacing))
                points = np.full((count - 1, 2), float(end))
                points[:, 1 - axis] = np.linspace(low, high, count + 1)[1:-1]
                found.append(points[_are_outside(points, holes)])
    return np.concatenate(found)


def _lattice(
    box: tuple[float, ...], spacing: float, fixed: Array, holes: Sequence[Level]
) -> Array:
    """Return equal triangles' corners, away from the fixed points."""
    rows = np.arange(box[2], box[3], spacing * 0.75**0.5)
    columns = np.arange(box[0], box[1], spacing)
    x, y = np.meshgrid(columns, rows)
    x = x + spacing / 2 * (np.arange(len(rows)) % 2)[:, None]
    points = np.stack([np.ravel(x), np.ravel(y)], axis=1)
    distances = KDTree(fixed).query(points)[0]
    is_inside = (points > [box[0], box[2]]) & (points < [box[1], box[3]])
    is_free = np.all(is_inside, axis=1) & (distances > 0.7 * spacing)
    return points[is_free & _are_outside(points, holes)]


def _are_outside(points: Array, holes: Sequence[Level]) -> Array:
    found = np.ones(len(points), bool)
    for hole in holes:
        found &= hole(*points.T) > -1e-9
    return found


def _are_fat(corners: Array) -> Array:
    """Whether triangles are no slivers on a straight side."""
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
    return area > 1e-6 * np.max(area)


def _relax(points: Array, num_fixed: int) -> tuple[Array, Delaunay]:
    """Move the free points to the mean of their neighbours."""
    finder = Delaunay(points)
    for _ in range(5):
        starts, neighbours = finder.vertex_neighbor_vertices
        sums = np.add.reduceat(points[neighbours], starts[:-1], axis=0)
        means = sums / np.diff(starts)[:, None]
        points = np.concatenate([points[:num_fixed], means[num_fixed:]])
        finder = Delaunay(points)
    return points, finder


def _add_middles(
    points: Array,
    corners: Array,
    owner: Array,
    side: Array,
    levels: Sequence[Level],
) -> tuple[Array, Array, Array]:
    """Add the middle of each edge, moved to the curve if the edge is on one."""
    pairs = np.sort(corners[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1, 2), axis=1)
    edges, number, count = np.unique(
        pairs, axis=0, return_inverse=True, return_counts=True
    )
    number = number.reshape(-1)
    total = np.bincount(number, np.repeat(side, 3))
    is_boundary = count == 1
    is_curved = is_boundary | ((count == 2) & (total == 0))
    middles = np.mean(points[edges], axis=1)
    first, second = owner[edges].T
    for label, level in enumerate(levels):
        own = is_curved & (first == label) & (second == label)
        middles[own] = project(middles[own], level)
    triangles = np.concatenate([corners, len(points) + number.reshape(-1, 3)], axis=1)
    rows = np.nonzero(is_boundary)[0]
    boundary = np.concatenate([edges[rows], len(points) + rows[:, None]], axis=1)
    return np.concatenate([points, middles]), triangles, boundary


def shape_functions(r: Any, s: Any) -> tuple[Array, Array, Array]:
    """Return the six functions of a triangle, and their derivatives by `r` and `s`."""
    t = 1 - r - s
    values = [t * (2 * t - 1), r * (2 * r - 1), s * (2 * s - 1)]
    values += [4 * r * s, 4 * s * t, 4 * t * r]
    zero = 0 * r
    by_r = [1 - 4 * t, 4 * r - 1, zero, 4 * s, -4 * s, 4 * (t - r)]
    by_s = [1 - 4 * t, zero, 4 * s - 1, 4 * r, 4 * (t - s), -4 * r]
    return np.stack(values), np.stack(by_r), np.stack(by_s)


class Matrices(NamedTuple):
    """Stiffness with the coefficient, mass, and the integrals of a source."""

    stiffness: Sparse
    mass: Sparse
    load: Array


def assemble(
    mesh: Mesh,
    coefficient: Array,
    source: Callable[[Array, Array], Array] | None = None,
) -> Matrices:
    """Integrate over all triangles; the coefficient has a number for each."""
    size, count = len(mesh.nodes), len(mesh.triangles)
    corners = mesh.nodes[mesh.triangles]
    stiffness, mass = np.zeros((2, count, 6, 6))
    load = np.zeros((count, 6))
    for place, weight in _ORBITS:
        for r, s in ((place, place), (1 - 2 * place, place), (place, 1 - 2 * place)):
            values, by_r, by_s = shape_functions(r, s)
            along, across = by_r @ corners, by_s @ corners
            area = along[:, 0] * across[:, 1] - along[:, 1] * across[:, 0]
            flip = np.stack([across[:, 1], -along[:, 1]], 1) / area[:, None]
            turn = np.stack([-across[:, 0], along[:, 0]], 1) / area[:, None]
            slopes = np.stack([by_r, by_s])
            dx, dy = flip @ slopes, turn @ slopes
            scale = weight / 2 * np.abs(area)
            product = dx[:, :, None] * dx[:, None] + dy[:, :, None] * dy[:, None]
            stiffness += (scale * coefficient)[:, None, None] * product
            mass += scale[:, None, None] * np.outer(values, values)
            if source is not None:
                x, y = np.einsum("a,nad->dn", values, corners)
                load += (scale * source(x, y))[:, None] * values
    rows = np.repeat(mesh.triangles, 6, axis=1).ravel()
    columns = np.tile(mesh.triangles, 6).ravel()
    join = lambda part: coo_matrix(
        (part.ravel(), (rows, columns)), shape=(size, size)
    ).tocsc()
    total = np.bincount(mesh.triangles.ravel(), load.ravel(), size)
    return Matrices(join(stiffness), join(mass), total)


def assemble_boundary(
    mesh: Mesh,
    factor: Callable[[Array, Array], Array],
    value: Callable[[Array, Array], Array],
) -> tuple[Sparse, Array]:
    """Integrate `factor v w` and `value v` over the boundary."""
    ends = mesh.nodes[mesh.edges]
    points, weights = np.polynomial.legendre.leggauss(4)
    size, count = len(mesh.nodes), len(mesh.edges)
    products, load = np.zeros((count, 3, 3)), np.zeros((count, 3))
    for z, weight in zip(points, weights, strict=True):
        values = np.array([z * (z - 1) / 2, z * (z + 1) / 2, 1 - z**2])
        slopes = np.array([z - 0.5, z + 0.5, -2 * z])
        speed = weight * np.linalg.norm(slopes @ ends, axis=1)
        x, y = (values @ ends).T
        scale = speed * factor(x, y)
        products += scale[:, None, None] * np.outer(values, values)
        load += (speed * value(x, y))[:, None] * values
    rows = np.repeat(mesh.edges, 3, axis=1).ravel()
    columns = np.tile(mesh.edges, 3).ravel()
    matrix = coo_matrix((products.ravel(), (rows, columns)), shape=(size, size)).tocsc()
    return matrix, np.bincount(mesh.edges.ravel(), load.ravel(), size)


def interpolation(mesh: Mesh, points: Array, side: Array | None = None) -> Sparse:
    """Return the matrix that evaluates nodal values at points of the region.

    With an interface, `side` gives the sign of the level at each point.
    """
    is_wanted = np.ones(len(points)) if side is None else side
    number, place = np.zeros(len(points), int), np.zeros((2, len(points)))
    for sign in np.unique(is_wanted):
        own = np.nonzero(mesh.side == sign)[0]
        rows = np.nonzero(is_wanted == sign)[0]
        middles = np.mean(mesh.nodes[mesh.triangles[own, :3]], axis=1)
        best = np.full(len(rows), -np.inf)
        candidates: Any = KDTree(middles).query(points[rows], _NUM_NEAR)[1]
        for near in candidates.T:
            r, s = _locate(mesh.nodes[mesh.triangles[own[near]]], points[rows])
            depth = np.min([r, s, 1 - r - s], axis=0)
            better = depth > best
            best[better], number[rows[better]] = depth[better], own[near[better]]
            place[:, rows[better]] = r[better], s[better]
    values, *_ = shape_functions(*place)
    rows = np.repeat(np.arange(len(points)), 6)
    columns, shape = mesh.triangles[number].ravel(), (len(points), len(mesh.nodes))
    return coo_matrix((values.T.ravel(), (rows, columns)), shape=shape).tocsc()


def _locate(corners: Array, points: Array) -> tuple[Array, Array]:
    """Return the place of each point in its triangle, by Newton's method."""
    r = s = np.full(len(points), 1 / 3)
    for _ in range(8):
        values, by_r, by_s = shape_functions(r, s)
        gap = points - np.einsum("an,nad->nd", values, corners)
        along = np.einsum("an,nad->nd", by_r, corners)
        across = np.einsum("an,nad->nd", by_s, corners)
        area = along[:, 0] * across[:, 1] - along[:, 1] * across[:, 0]
        r = r + (gap[:, 0] * across[:, 1] - gap[:, 1] * across[:, 0]) / area
        s = s + (along[:, 0] * gap[:, 1] - along[:, 1] * gap[:, 0]) / area
        r, s = np.clip(r, -1, 2), np.clip(s, -1, 2)
    return r, s


def decay(
    matrices: Matrices, times: Array, right_fn: Callable[[complex], Array]
) -> Array:
    """Invert a Laplace transform: `(s mass + stiffness) v(s) = right_fn(s)`.

    All poles are on the negative real axis or zero. Times are positive and span at most
    a factor of 10. The contour is a hyperbola (Weideman and Trefethen 2007).
    """
    count, angle = 18, 1.0
    ratio = np.max(times) / np.min(times)
    reach = (np.pi - 2 * angle) * ratio + 4 * angle - np.pi
    width = np.arccosh(reach / ((4 * angle - np.pi) * np.sin(angle))) / count
    scale = (4 * np.pi * angle - np.pi**2) / (width * np.max(times))
    found = np.zeros((len(times), matrices.mass.shape[0]))
    for z in (np.arange(count) + 0.5) * width:
        s = scale * (1 + np.sin(1j * z - angle))
        slope = scale * 1j * np.cos(1j * z - angle)
        values = splu((s * matrices.mass + matrices.stiffness).tocsc(), **_SYMMETRIC)
        part = slope * values.solve(right_fn(s).astype(complex))
        growth = width / np.pi * np.exp(s * times)
        found += np.imag(growth[:, None] * part)
    return found
