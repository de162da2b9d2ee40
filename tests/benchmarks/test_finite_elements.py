"""The finite elements of references against exact solutions."""

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import spsolve

from benchmarks.problems import _finite_elements as elements

BOX = (-1.0, 1.0, -1.0, 1.2)


def hole(x, y):
    return np.hypot(x - 0.1, y - 0.2) - 0.5


def solve_with_exchange(mesh, coefficient, source, value):
    """Solve `-div(k grad u) = source`, `k du/dn + u = value` on the boundary."""
    matrices = elements.assemble(mesh, coefficient, source)
    ones = lambda x, y: 1 + 0 * x
    exchange, load = elements.assemble_boundary(mesh, ones, value)
    return spsolve((matrices.stiffness + exchange).tocsc(), matrices.load + load)


def normal_at(x, y):
    """The outward normal of the box with the hole."""
    radius = np.hypot(x - 0.1, y - 0.2)
    is_hole = radius < 0.6
    flat_x = np.where(np.abs(x) > 1 - 1e-9, np.sign(x), 0.0)
    flat_y = np.where(y > 1.2 - 1e-9, 1.0, np.where(y < -1 + 1e-9, -1.0, 0.0))
    return (
        np.where(is_hole, (0.1 - x) / radius, flat_x),
        np.where(is_hole, (0.2 - y) / radius, flat_y),
    )


def inside_points():
    points = np.random.default_rng(0).uniform((-1, -1), (1, 1.2), (2000, 2))
    return points[hole(*points.T) > 0]


def test_error_falls_like_the_cube_of_the_spacing():
    """`u = e^x sin(2 y)` around a hole."""
    exact = lambda x, y: np.exp(x) * np.sin(2 * y)

    def value(x, y):
        normal = normal_at(x, y)
        outward = normal[0] * exact(x, y) + 2 * normal[1] * np.exp(x) * np.cos(2 * y)
        return exact(x, y) + outward

    points, errors = inside_points(), []
    for spacing in (0.2, 0.1, 0.05):
        mesh = elements.build_mesh(BOX, spacing, [hole])
        ones = np.ones(len(mesh.triangles))
        source = lambda x, y: 3 * exact(x, y)
        nodal = solve_with_exchange(mesh, ones, source, value)
        found = elements.interpolation(mesh, points) @ nodal
        errors.append(np.sqrt(np.mean((found - exact(*points.T)) ** 2)))
    assert errors[-1] < 1e-5 and np.log2(errors[0] / errors[2]) / 2 > 2.7


def test_coefficient_may_jump_at_an_interface():
    """`-div(k grad u) = 4`: `u = -r^2 / k` and a constant on each side of a circle."""
    sizes = np.array([1.0, 12.0])

    def exact(x, y):
        square = (x - 0.1) ** 2 + (y - 0.2) ** 2
        inner = 0.25 / sizes[0] - 0.25 / sizes[1] - square / sizes[0]
        return np.where(square < 0.25, inner, -square / sizes[1])

    def value(x, y):
        normal = np.stack(normal_at(x, y))
        return exact(x, y) - 2 * (normal[0] * (x - 0.1) + normal[1] * (y - 0.2))

    errors = []
    points = np.random.default_rng(0).uniform((-1, -1), (1, 1.2), (2000, 2))
    side = np.sign(hole(*points.T))
    for spacing in (0.2, 0.1):
        mesh = elements.build_mesh(BOX, spacing, interface=hole)
        coefficient = np.where(mesh.side < 0, *sizes)
        source = lambda x, y: 4 + 0 * x
        nodal = solve_with_exchange(mesh, coefficient, source, value)
        found = elements.interpolation(mesh, points, side) @ nodal
        errors.append(np.max(np.abs(found - exact(*points.T))))
    assert errors[1] < 1e-4 and errors[0] / errors[1] > 6


def test_meshes_have_the_area_and_the_perimeter_of_the_region():
    mesh = elements.build_mesh(BOX, 0.1, [hole])
    area = elements.assemble(mesh, np.ones(len(mesh.triangles))).mass.sum()
    assert area == pytest.approx(4.4 - np.pi / 4, abs=1e-5)
    ones = lambda x, y: 1 + 0 * x
    exchange, load = elements.assemble_boundary(mesh, ones, ones)
    assert exchange.sum() == pytest.approx(8.4 + np.pi, abs=2e-5)
    assert load.sum() == pytest.approx(exchange.sum(), rel=1e-12)


def test_contour_gives_decaying_exponentials():
    rates = np.array([0.0, 0.1, 1.0, 10.0, 1e4])
    matrices = elements.Matrices(
        sparse.diags(rates).tocsc(), sparse.identity(5, format="csc"), rates
    )
    for times in (np.array([0.1, 0.4, 1.0]), np.array([1.0, 2.0, 3.0])):
        found = elements.decay(matrices, times, lambda s: np.ones(5))
        expected = np.exp(-np.outer(times, rates))
        np.testing.assert_allclose(found, expected, atol=1e-7)
