"""References of the cavities: iterative solution, and inertia at the corners."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import Chebyshev

from vrba import problems
from vrba.problems import Cavity, ClassicalCavity

cavity = problems.cavity
corner = problems._corner
relative_difference = problems._spectral.relative_difference
automatic_derivatives = problems._stream.automatic_derivatives
solve_flow = problems._stream.solve_flow
refine = problems._refinement.refine


@functools.cache
def fine_flow(is_classical, size, reynolds=100.0):
    """With all known parts, as for the references."""
    stream = cavity.classical_stream if is_classical else cavity.smooth_lid_stream
    known = slow = automatic_derivatives(stream)
    if is_classical:
        inertia = cavity.corner_inertia(reynolds)
        known = problems._stream.add_derivatives(slow, inertia)
    return refine(solve_flow(slow, reynolds, 24), known, reynolds, size)


@pytest.mark.parametrize("is_classical", [False, True])
def test_refined_flow_is_that_of_elimination(is_classical):
    known = cavity.classical_stream if is_classical else cavity.smooth_lid_stream
    known, axis = automatic_derivatives(known), np.linspace(0.02, 0.98, 25)
    found = refine(solve_flow(known, 100.0, 16), known, 100.0, 28).velocity(axis, axis)
    exact = solve_flow(known, 100.0, 28).velocity(axis, axis)
    assert relative_difference(np.stack(found), np.stack(exact)) < 1e-12


def test_a_failure_of_gmres_is_an_error():
    """The flow at 100 is no start for a hundred times that Reynolds number."""
    known = automatic_derivatives(cavity.smooth_lid_stream)
    coarse = solve_flow(known, 100.0, 8)
    text = "GMRES did not converge at `reynolds=10000`. Use a smaller Reynolds number"
    with pytest.raises(RuntimeError, match=text):
        refine(coarse, known, 1e4, 28)


@pytest.mark.parametrize(("kind", "bound"), [(Cavity, 1e-10), (ClassicalCavity, 1e-9)])
def test_cavity_error_is_confirmed_by_smaller_sizes(kind, bound):
    """The corners make the convergence algebraic, with a power of more than six."""
    found = kind().reference()
    values = np.stack([found.values[name] for name in ("u", "v")])
    axis = found.axes["x"]
    flows = [fine_flow(kind is ClassicalCavity, n) for n in (40, 64)]
    errors = [
        relative_difference(np.stack(f.velocity(axis, axis)), values) for f in flows
    ]
    assert found.error < min(bound, errors[1])
    assert errors[1] < 10 * bound and errors[1] < (40 / 64) ** 6 * errors[0]


def test_fine_classical_flow_has_all_digits_of_botella_and_peyret():
    near = lambda place: place + np.linspace(-3e-4, 3e-4, 61)
    half, found = np.array([0.5]), fine_flow(True, 64)
    u = found.velocity(half, near(0.4581))[0]
    v = found.velocity(near(0.2370), half)[1], found.velocity(near(0.8104), half)[1]
    assert np.min(u) == pytest.approx(-0.2140424, abs=6e-8)
    assert np.max(v[0]) == pytest.approx(0.1795728, abs=6e-8)
    assert np.min(v[1]) == pytest.approx(-0.2538030, abs=6e-8)


def test_derivatives_of_powers_against_a_polynomial():
    """The real part of `z^3` is `x^3 - 3 x y^2`."""
    orders = [(i, j) for i in range(4) for j in range(4 - i)]
    x, y = np.array([[0.3, 0.8]]), np.array([[-0.2, -0.9]])
    cosine = Chebyshev.interpolate(lambda angle: np.cos(3 * angle), 30, (-np.pi / 2, 0))
    found = corner.power_derivatives(cosine, 3, x, y, orders)
    table = {(0, 0): x**3 - 3 * x * y**2, (1, 0): 3 * (x**2 - y**2), (0, 1): -6 * x * y}
    table |= {(2, 0): 6 * x, (1, 1): -6 * y, (0, 2): -6 * x}
    table |= {(3, 0): 6 + 0 * x, (2, 1): 0 * x, (1, 2): -6 + 0 * x, (0, 3): 0 * x}
    for index in orders:
        np.testing.assert_allclose(found[index], table[index], atol=1e-9)


def test_inertia_at_a_corner_solves_the_equation_up_to_its_order():
    """After four powers of `r`, the residual grows like `r` itself."""
    reynolds, orders = 50.0, [(i, j) for i in range(5) for j in range(5 - i)]

    def slow(angle):
        points = jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
        return np.asarray(jax.vmap(lambda p: cavity.corner_stream(*p))(points))

    angular = Chebyshev.interpolate(slow, 18, (-np.pi / 2, 0))
    terms = [angular, *corner.inertial_terms(slow, 3)]
    residuals = []
    for r in (0.002, 0.001):
        angle = np.linspace(-1.4, -0.2, 7)[None]
        point = r * np.cos(angle), r * np.sin(angle)
        psi = dict.fromkeys(orders, 0.0)
        for k, term in enumerate(terms, 1):
            part = corner.power_derivatives(term, k, *point, orders)
            psi = {i: psi[i] + reynolds ** (k - 1) * part[i] for i in orders}
        carried = psi[0, 1] * (psi[3, 0] + psi[1, 2])
        carried -= psi[1, 0] * (psi[2, 1] + psi[0, 3])
        spread = psi[4, 0] + 2 * psi[2, 2] + psi[0, 4]
        residuals.append(np.max(np.abs(spread - reynolds * carried)))
        assert residuals[-1] < 1e-5 * np.max(np.abs(reynolds * carried))
    assert residuals[0] / residuals[1] == pytest.approx(2, rel=0.05)
    for term in terms[1:]:
        ends = np.array([-np.pi / 2, 0.0])
        np.testing.assert_allclose(term(ends), 0, atol=1e-15)
        np.testing.assert_allclose(term.deriv()(ends), 0, atol=1e-14)


def test_inertia_at_the_corners_is_known_at_a_large_reynolds_number():
    axis = np.linspace(0.02, 0.98, 25)
    flows = [fine_flow(True, size, 400.0).velocity(axis, axis) for size in (40, 56)]
    assert relative_difference(*map(np.stack, flows)) < 1e-4
