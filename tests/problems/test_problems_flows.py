"""Flows and plates: references and known parts against independent computations."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.polynomial.chebyshev import cheb2poly

from vrba import problems
from vrba.fields import Field, coordinate_jets, downward_closure, propagate
from vrba.models import MLP
from vrba.pinn import Evaluator, Recipe, default_recipe, relative_error
from vrba.problems import (
    Ansatz,
    Burgers,
    Cavity,
    ClassicalCavity,
    Constraint,
    Formulation,
    LShape,
    PlateWithHole,
    Reference,
)

cavity = problems.cavity
kirsch = problems.plate_with_hole.kirsch
inner_part = problems.l_shape.inner_part
relative_difference = problems._spectral.relative_difference
automatic_derivatives = problems._stream.automatic_derivatives
solve_flow = problems._stream.solve_flow

AXIS = np.linspace(0, 1, 41)


def jets(fns, points, order):
    """Derivatives of functions of `x` and `y` at each point, by index."""
    wanted = downward_closure([(i, order - i) for i in range(order + 1)])

    def at(point):
        zero = jnp.zeros((), point.dtype)
        found = [propagate(fn, coordinate_jets(point, 2), wanted) for fn in fns]
        return [{i: jet.get(i, zero) for i in wanted} for jet in found]

    return jax.jit(jax.vmap(at))(jnp.asarray(points))


def fields(found):
    """Fields of a problem at one point, from their derivatives."""
    return [Field("field", ("x", "y"), jet.__getitem__) for jet in found]


def residuals(problem, fns, points):
    """The equations of a problem for given functions, at each point."""

    def at(found, point):
        return jnp.stack([*problem.equations(*fields(found), *point).values()])

    return jax.vmap(at)(jets(fns, points, 2), jnp.asarray(points))


def outputs(problem, points):
    """The fields of the ansatz, with a network that is no solution, at each point."""
    fn = next(c.fn for c in problem.conditions() if isinstance(c, Ansatz))

    def at(point):
        x, y = point
        network = [jnp.cos(3 * x + k) + y + 1 for k in range(len(problem.fields))]
        found = fn(x, y, *network)
        return jnp.stack(found if isinstance(found, tuple) else [found])

    return np.asarray(jax.vmap(at)(jnp.asarray(points)))


def walls(num_points):
    """Random points on the bottom, left, right and upper side of the unit square."""
    share = np.random.default_rng(0).uniform(size=num_points)
    zero, one = np.zeros(num_points), np.ones(num_points)
    sides = [(share, zero), (zero, share), (one, share), (share, one)]
    return [np.stack(side, axis=1) for side in sides]


def inside(problem, num_points, seed=0):
    return problem.domain.sample(num_points, seed=seed)


@functools.cache
def flow(is_classical, size):
    known = cavity.classical_stream if is_classical else cavity.smooth_lid_stream
    return solve_flow(automatic_derivatives(known), 100.0, size)


# References may be of some fields, and of a part of a grid.


def test_reference_may_leave_out_a_field_but_not_name_another():
    problem, axes = Cavity(), {"x": AXIS, "y": AXIS}
    values = np.zeros((41, 41))
    found = Reference(axes, {"v": values}).check(problem.domain, problem.fields)
    assert list(found.values) == ["v"]
    for wrong in ({"w": values}, {}, values):
        with pytest.raises(ValueError, match="for each field to compare"):
            Reference(axes, wrong).check(problem.domain, problem.fields)


def test_error_is_over_the_fields_of_the_reference():
    recipe = Recipe(MLP(width=3, depth=1), num_points=8, pool_size=8, num_held_out=8)
    evaluator = Evaluator(Formulation(Cavity()), recipe, 0)
    params, axes = evaluator.initial_params(), {"x": AXIS[::10], "y": AXIS[::8]}
    points = jnp.asarray(Reference(axes, None).points())
    found = {
        n: np.reshape(v, (5, 6)) for n, v in evaluator.fields(params, points).items()
    }
    names = evaluator.formulation.problem.fields
    check = lambda values: Reference(axes, values).check(Cavity.domain, names)
    double = check({"v": 2 * found["v"]})
    assert relative_error(evaluator, params, double) == 0.5
    both = check({"v": found["v"], "u": found["u"]})
    assert relative_error(evaluator, params, both) == 0


def test_several_equations_share_the_residuals_of_a_step():
    points = lambda problem: default_recipe(Formulation(problem), 3).num_points
    assert 8000 < 3 * points(Cavity()) <= points(Burgers()) == 8192


def test_reference_counts_inside_the_domain_only():
    problem, axis = LShape(), np.linspace(-1, 1, 5)
    values = np.ones((5, 5))
    found = Reference({"x": axis, "y": axis}, values)
    found = found.check(problem.domain, problem.fields).values["u"]
    is_outside = np.isnan(found)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    np.testing.assert_array_equal(is_outside, (x > 0) & (y < 0))
    values[0, 0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        Reference({"x": axis, "y": axis}, values).check(problem.domain, ("u",))
    with pytest.raises(ValueError, match="outside"):
        Reference({"x": 2 * axis, "y": axis}, values).check(problem.domain, ("u",))


# The cavity.


def test_clamped_polynomials_vanish_at_the_ends_with_their_slope():
    basis = problems._stream.ClampedBasis.build(12)
    for order in (0, 1):
        np.testing.assert_allclose(basis.at(np.array([0.0, 1.0]), order), 0, atol=1e-13)
    for order in range(5):
        for row, found in zip(
            basis.coefficients, basis.at(basis.nodes, order).T, strict=True
        ):
            powers = Polynomial(cheb2poly(row), domain=[0, 1]).deriv(order)
            np.testing.assert_allclose(found, powers(basis.nodes), atol=1e-9)


def test_rigid_rotation_needs_no_polynomial_part():
    """Rigid rotation solves the equations by itself."""
    known = lambda x, y: x**2 + y**2
    found = solve_flow(automatic_derivatives(known), 100.0, 8)
    np.testing.assert_allclose(found.rest, 0, atol=1e-9)
    u, v = found.velocity(AXIS, AXIS[:5])
    np.testing.assert_allclose(u, np.broadcast_to(2 * AXIS[:5], u.shape), atol=1e-12)
    np.testing.assert_allclose(v, -np.broadcast_to(2 * AXIS[:, None], v.shape))


def test_cavity_reference_converges_fast():
    values = {n: np.stack(flow(False, n).velocity(AXIS, AXIS)) for n in (8, 16, 24)}
    errors = [relative_difference(values[n], values[24]) for n in (8, 16)]
    assert errors[0] < 1e-2 and errors[1] < errors[0] / 30 and errors[1] < 5e-5


def test_cavity_reference_is_a_flow():
    """Vorticity is carried and spread: differences of the velocity on a fine grid."""
    step = 2e-3
    for x, y in ((0.3, 0.8), (0.7, 0.5)):
        offsets = step * np.arange(-3, 4)
        u, v = flow(False, 24).velocity(x + offsets, y + offsets)
        mass = np.gradient(u, step, axis=0) + np.gradient(v, step, axis=1)
        assert abs(mass[3, 3]) < 1e-4
        w = np.gradient(v, step, axis=0) - np.gradient(u, step, axis=1)
        w_x, w_y = np.gradient(w, step)
        spread = np.gradient(w_x, step, axis=0) + np.gradient(w_y, step, axis=1)
        carried = u[3, 3] * w_x[3, 3] + v[3, 3] * w_y[3, 3]
        assert carried == pytest.approx(spread[3, 3] / 100, abs=2e-3)
        assert abs(carried) > 0.1


@pytest.mark.parametrize("problem", [Cavity(), ClassicalCavity()])
def test_cavity_walls_hold_exactly(problem):
    *still, lid = (outputs(problem, side)[:, :2] for side in walls(50))
    for side in still:
        np.testing.assert_allclose(side, 0, atol=1e-14)
    x = walls(50)[3][:, 0]
    speed = cavity.lid(x) if isinstance(problem, Cavity) else np.ones(50)
    np.testing.assert_allclose(lid[:, 0], speed, atol=1e-14)
    np.testing.assert_allclose(lid[:, 1], 0, atol=1e-14)


def test_cavity_ansatz_is_the_known_stream_function_where_the_network_is_zero():
    fn = next(c.fn for c in Cavity().conditions() if isinstance(c, Ansatz))
    zero = jnp.zeros(())
    for x, y in inside(Cavity(), 5):
        slopes = jax.grad(cavity.smooth_lid_stream, (0, 1))(x, y)
        u, v, _ = fn(jnp.asarray(x), jnp.asarray(y), zero, zero, zero)
        assert u == pytest.approx(slopes[1]) and v == pytest.approx(-slopes[0])


def test_cavity_equations_hold_for_poiseuille_flow():
    fns = [
        lambda x, y: y * (1 - y),
        lambda x, y: 0 * x,
        lambda x, y: -2 * x / 7,
    ]
    found = residuals(Cavity(7.0), fns, inside(Cavity(), 20))
    np.testing.assert_allclose(found, 0, atol=1e-14)


@pytest.mark.parametrize("kind", [Cavity, ClassicalCavity])
def test_cavity_refuses_flow_without_viscosity(kind):
    with pytest.raises(ValueError, match="reynolds"):
        kind(-1.0)


# The classical cavity.


def test_corner_flow_is_slow_flow_with_its_pressure():
    """`lap(u) = p_x` and `lap(v) = p_y`."""
    points = np.array([[0.3, -0.2], [0.05, -0.4], [0.9, -0.1]])
    fns = [cavity.corner_stream, cavity._corner_pressure]
    psi, p = jets(fns, points, 3)
    np.testing.assert_allclose(psi[2, 1] + psi[0, 3], p[1, 0], rtol=1e-12)
    np.testing.assert_allclose(-psi[3, 0] - psi[1, 2], p[0, 1], rtol=1e-12)


def test_known_pressure_cancels_the_singularity():
    """Towards a corner the residual of momentum grows like inertia, one over the
    distance, and not like the viscous terms, its square."""
    fns = [
        lambda x, y: jax.grad(cavity.classical_stream, 1)(x, y),
        lambda x, y: -jax.grad(cavity.classical_stream, 0)(x, y),
        lambda x, y: cavity.classical_pressure(x, y) / 100,
    ]
    distance = np.array([1e-2, 1e-4])[:, None]
    points = [distance * [0.8, -0.6] + [0, 1], distance * [-0.8, -0.6] + [1, 1]]
    found = np.abs(residuals(ClassicalCavity(), fns, np.concatenate(points)))
    # The equations have a factor, the distances to both corners.
    for far, near in (found[:2, :2], found[2:, :2]):
        assert np.all(near < 2 * far + 1e-3) and np.all(near < 1)


def test_classical_cavity_has_the_extrema_of_botella_and_peyret():
    """Their spectral solution (1998, Reynolds number 100): on the centre lines the
    smallest `u` is -0.2140424, the extrema of `v` 0.1795728 and -0.2538030."""
    fine, half = np.linspace(0, 1, 2001)[1:-1], np.array([0.5])
    u = flow(True, 32).velocity(half, fine)[0]
    v = flow(True, 32).velocity(fine, half)[1]
    assert np.min(u) == pytest.approx(-0.2140424, abs=5e-6)
    assert np.max(v) == pytest.approx(0.1795728, abs=5e-6)
    assert np.min(v) == pytest.approx(-0.2538030, abs=3e-5)


def test_classical_reference_converges():
    axis = (np.arange(40) + 0.5) / 40
    values = {n: np.stack(flow(True, n).velocity(axis, axis)) for n in (8, 16, 32)}
    errors = [relative_difference(values[n], values[32]) for n in (8, 16)]
    assert errors[1] < errors[0] / 3 and errors[1] < 1e-2


def test_distance_of_ghia_from_the_converged_flow():
    """Their table is as far off as its method of second order leaves it."""
    table, half = ClassicalCavity.ghia(), np.array([0.5])
    (at_u, u), (at_v, v) = table["u"], table["v"]
    assert np.all(at_u[:, 0] == 0.5) and np.all(at_v[:, 1] == 0.5)
    off_u = u - flow(True, 32).velocity(half, at_u[:, 1])[0][0]
    off_v = v - flow(True, 32).velocity(at_v[:, 0], half)[1][:, 0]
    assert 0.005 < np.max(np.abs(off_u)) < 0.0051
    assert 0.009 < np.max(np.abs(off_v)) < 0.0093
    assert np.sqrt(np.mean(np.concatenate([off_u, off_v]) ** 2)) < 0.0038
    # The entry that lies off the curve through its neighbours.
    low = at_u[:, 1] < 0.11
    assert at_u[low][np.argmax(np.abs(off_u[low])), 1] == 0.0703
    assert np.sort(np.abs(off_u[low]))[-2] < 1e-4 < 1e-3 < np.max(np.abs(off_u[low]))


# The L-shaped domain.


def test_inner_part_solves_the_equation_and_vanishes_on_both_edges():
    problem = LShape()
    fns = [lambda x, y: inner_part(jnp, x, y)]
    found = residuals(problem, fns, inside(problem, 50))
    np.testing.assert_allclose(found, 0, atol=1e-12)
    r = np.linspace(0, 1, 9)
    np.testing.assert_allclose(inner_part(np, r, 0 * r), 0, atol=1e-15)
    np.testing.assert_allclose(inner_part(np, 0 * r, -r), 0, atol=1e-15)


def test_corner_part_is_the_singular_function():
    points = inside(LShape(), 100)
    x, y = points.T
    angle = np.arctan2(y, x) % (2 * np.pi)
    exact = np.hypot(x, y) ** (2 / 3) * np.sin(2 * angle / 3)
    found = jax.vmap(problems.l_shape.corner_part)(jnp.asarray(x), jnp.asarray(y))
    np.testing.assert_allclose(found, exact, atol=1e-14)


def test_l_shape_ansatz_vanishes_on_the_boundary_and_is_finite_in_the_corner():
    problem = LShape()
    points, _ = problem.domain.boundary(200, seed=0)
    np.testing.assert_allclose(outputs(problem, points), 0, atol=1e-12)
    assert np.all(outputs(problem, np.zeros((1, 2))) == 0)


@pytest.mark.parametrize("number", [0, 1, 3, 4, 8])
def test_l_shape_singular_functions(number):
    """Times the function that the ansatz has at the corner, they are solutions."""
    singular = problems.l_shape.singular_functions()[number]
    r, phi = np.meshgrid([0.1, 0.5, 0.9], np.linspace(0.02, 0.98, 7) * singular.opening)
    z = np.ravel(r * np.exp(1j * (phi + singular.start)))
    points = np.stack([z.real, z.imag], axis=1) + np.array(singular.at)

    def product(x, y):
        along, across = x - singular.at[0], y - singular.at[1]
        cosine, sine = np.cos(singular.start), np.sin(singular.start)
        along, across = along * cosine + across * sine, across * cosine - along * sine
        factor = -2 / np.pi * along * across
        if singular.at == (0, 0):
            factor = problems.l_shape.corner_part(x, y)
        return factor * singular(x, y)

    [found] = jets([product], points, 2)
    laplacian = found[2, 0] + found[0, 2]
    expected = 0.0 if singular.at == (0, 0) else -1.0
    np.testing.assert_allclose(laplacian, expected, atol=1e-8)


def test_l_shape_certificate():
    """The misfit on the boundary bounds the distance of two solutions everywhere."""
    coarse, fine = (problems.l_shape.Membrane.solve(*n) for n in ((20, 2), (60, 9)))
    z = inside(LShape(), 200) @ np.array([1, 1j])
    distance = np.max(np.abs(coarse(z) - fine(z)))
    bound = coarse.boundary_error(500) + fine.boundary_error(500)
    assert distance < bound < 1e-4 and fine.boundary_error(500) < 1e-12
    r = np.linspace(0, 1, 9)
    for edge in (r + 0j, -1j * r):
        np.testing.assert_allclose(fine(edge), 0, atol=1e-10)


def test_l_shape_reference_solves_the_equation():
    """By differences, away from the corner, and by the mean value about a point."""
    found = LShape().reference().check(LShape().domain, ("u",))
    u, step = found.values["u"], 0.01
    lap = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) / step**2
    lap = lap - 4 * u[1:-1, 1:-1] / step**2
    x, y = np.meshgrid(found.axes["x"], found.axes["y"], indexing="ij")
    is_far = np.hypot(x, y)[1:-1, 1:-1] > 0.3
    is_far &= np.max(np.abs([x, y]), axis=0)[1:-1, 1:-1] < 0.8
    is_far &= np.isfinite(lap)
    assert np.sum(is_far) > 10_000
    np.testing.assert_allclose(lap[is_far], -1, atol=1e-3)
    assert 0 < found.error < 1e-12


# The plate with a hole.


def test_kirsch_is_in_equilibrium_and_leaves_the_hole_free():
    problem = PlateWithHole(0.25)
    fns = [
        lambda x, y: kirsch(x, y, 0.25)[0],
        lambda x, y: kirsch(x, y, 0.25)[1],
    ]
    found = residuals(problem, fns, inside(problem, 50))
    np.testing.assert_allclose(found, 0, atol=1e-13)
    terms = [c for c in problem.conditions() if isinstance(c, Constraint)]
    rows = [term.sample(problem.domain, 20, seed=0) for term in terms]
    found = jets(fns, np.concatenate([points for points, _ in rows]), 1)
    for k, (term, (points, normals)) in enumerate(zip(terms, rows, strict=True)):
        own = jax.tree.map(lambda leaf, k=k: leaf[20 * k : 20 * (k + 1)], found)
        left = term.value(*fields(own), *points.T, normals.T)
        np.testing.assert_allclose(left, 0, atol=1e-13)


def test_kirsch_concentrates_the_stress_threefold_and_fades_to_tension():
    fns = [
        lambda x, y: kirsch(x, y, 0.3)[0],
        lambda x, y: kirsch(x, y, 0.3)[1],
    ]
    points = np.array([[0.0, 1.0], [1.0, 0.0], [3e4, 4e4]])
    exact = [[3, 0, 1], [0, -1, 0], [0, 0, 0]]
    stresses = jax.vmap(
        lambda found: jnp.stack(PlateWithHole().stresses(*fields(found)))
    )
    found = stresses(jets(fns, points, 1)).T
    np.testing.assert_allclose(found, exact, atol=1e-8)


def test_plate_ansatz_holds_on_outer_edges_and_symmetries():
    problem = PlateWithHole()
    for on, at in (("x", 4.0), ("y", 4.0)):
        points, _ = problem.domain.boundary(50, seed=0, on=on)
        points = points[points[:, ("x", "y").index(on)] == at]
        exact = np.stack(kirsch(*points.T, 0.3), axis=1)
        np.testing.assert_allclose(outputs(problem, points), exact, atol=1e-13)
    for k, on in enumerate(("x", "y")):
        points = problem.domain.sample_face(50, on, 0.0, seed=0)
        np.testing.assert_allclose(outputs(problem, points)[:, k], 0, atol=1e-14)


def test_plate_reference_fits_and_refuses_a_bad_ratio():
    problem = PlateWithHole()
    found = problem.reference().check(problem.domain, problem.fields)
    x, y = np.meshgrid(*found.axes.values(), indexing="ij")
    np.testing.assert_array_equal(np.isnan(found.values["u"]), np.hypot(x, y) < 1)
    stretched = found.values["u"][-1, 0] / 4
    assert stretched == pytest.approx(
        problems.plate_with_hole.displacement_ratios(4.0, 0.0, 0.3)[0]
    )
    with pytest.raises(ValueError, match="poisson"):
        PlateWithHole(1.0)
