"""The choice of a step of the linear stage, against dense least squares by NumPy."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from vrba.optim import PointTerm, StreamedQR
from vrba.pinn import Candidate, Choice, Halves, choose_step

polish_choice = vrba.pinn.polish_choice
data_noise, RIDGES = polish_choice.data_noise, polish_choice.RIDGES

NUM_COLUMNS, FEW = 12, 4
PLACES = np.linspace(-1, 1, 101)
START = jnp.zeros(NUM_COLUMNS)


def functions(x):
    """The columns: Legendre polynomials."""
    return np.polynomial.legendre.legvander(x, NUM_COLUMNS - 1)


def values_fn(params):
    """The field, compared at all places."""
    return functions(PLACES) @ np.asarray(params)


def cubic(x):
    """The exact solution; the first four columns contain it."""
    return 1 + x - 2 * x**3


def random_rows(num_rows, noise, seed=0):
    """Residuals of zero, and the matrix, at random points."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, num_rows)
    return noise * generator.standard_normal(num_rows) - cubic(x), functions(x)


def factorise(*parts):
    """The factorisation of all rows of some pairs `(residual, matrix)`."""
    return StreamedQR.empty(parts[0][1].shape[1]).absorb(parts)


def halves_of(residual, matrix):
    first, second = (factorise((residual[k::2], matrix[k::2])) for k in (0, 1))
    return Halves(first, second, first.merge(second))


def solve(residual, matrix, count=NUM_COLUMNS, ridge=0.0):
    """The step of the leading columns with damping, by the SVD of scaled columns."""
    norms = np.linalg.norm(matrix[:, :count], axis=0)
    stacked = np.vstack([matrix[:, :count] / norms, ridge * np.eye(count)])
    right = np.concatenate([-residual, np.zeros(count)])
    found = np.zeros(matrix.shape[1])
    found[:count] = np.linalg.lstsq(stacked, right, rcond=None)[0] / norms
    return found


def expected_errors(residual, matrix, count, ridge, fn):
    """Half the distance of the solutions of both halves, and that from all columns."""
    target = fn(solve(residual, matrix))
    first, second = (
        fn(solve(residual[k::2], matrix[k::2], count, ridge)) for k in (0, 1)
    )
    sizes = (first - second) / 2, fn(solve(residual, matrix, count, ridge)) - target
    return [np.linalg.norm(each) / np.linalg.norm(target) for each in sizes]


# The choice of a step.


def test_the_undamped_candidate_is_the_least_squares_solution():
    """From any solution, since the residual is linear."""
    residual, matrix = random_rows(400, noise=1e-4)
    start = np.random.default_rng(1).standard_normal(NUM_COLUMNS)
    halves = halves_of(residual + matrix @ start, matrix)
    found = choose_step(
        halves, jnp.asarray(start), (FEW, NUM_COLUMNS), values_fn, np.zeros(101)
    )
    assert found.candidates == [found.candidate] and found.is_accepted
    assert (found.candidate.num_columns, found.candidate.ridge) == (12, RIDGES[0])
    expected = solve(residual, matrix)
    np.testing.assert_allclose(found.candidate.params, expected, atol=1e-11)
    target = values_fn(expected)
    distance = np.linalg.norm(values_fn(start) - target) / np.linalg.norm(target)
    assert found.estimate == pytest.approx(distance, rel=1e-9)
    noise, _ = expected_errors(residual, matrix, NUM_COLUMNS, 0.0, values_fn)
    assert found.noise == found.total == pytest.approx(noise, rel=1e-6)


def test_noise_in_further_columns_leads_to_fewer_columns():
    """Every half has hardly more rows than columns; the solution needs only four."""
    residual, matrix = random_rows(2 * NUM_COLUMNS + 6, noise=0.05)
    halves, counts = halves_of(residual, matrix), (FEW, 8, NUM_COLUMNS)
    found = choose_step(halves, START, counts, values_fn, np.zeros(101))
    pairs = itertools.product(counts, RIDGES)
    expected = {p: expected_errors(residual, matrix, *p, values_fn) for p in pairs}
    assert len(found.candidates) == len(expected)
    for one in found.candidates:
        errors = expected[one.num_columns, one.ridge]
        np.testing.assert_allclose((one.noise, one.distance), errors, 1e-5, 1e-6)
    noise = expected[NUM_COLUMNS, RIDGES[0]][0]
    totals = {p: a + max(0, b - noise) for p, (a, b) in expected.items()}
    assert found.total == pytest.approx(min(totals.values()), rel=1e-5)
    assert found.candidate.num_columns == FEW
    step = np.asarray(found.candidate.params)
    np.testing.assert_allclose(step, solve(residual, matrix, FEW), atol=1e-6)
    error = lambda params: np.linalg.norm(values_fn(params) - cubic(PLACES))
    assert error(step) < error(solve(residual, matrix))


def test_columns_that_the_solution_needs_are_not_left_out():
    """With the same points in both halves, fewer columns always have less noise."""
    matrix = np.repeat(random_rows(NUM_COLUMNS + 3, noise=0.0)[1], 2, axis=0)
    noise = 0.05 * np.random.default_rng(1).standard_normal(len(matrix))
    residual = noise - matrix @ solve(*random_rows(100, noise=0.0))
    halves, counts = halves_of(residual, matrix), (2, FEW, NUM_COLUMNS)
    found = choose_step(halves, START, counts, values_fn, np.zeros(101))
    sizes = {one.num_columns: one.noise for one in found.candidates}
    assert sizes[2] < sizes[FEW] < sizes[NUM_COLUMNS]
    assert found.candidate.num_columns >= FEW


def test_noise_along_dependent_columns_leads_to_more_damping():
    """The last two columns differ by so little that noise decides between them."""
    residual, matrix = random_rows(200, noise=1e-3)
    matrix[:, -1] = matrix[:, -2] + 1e-7 * matrix[:, -1]
    halves = halves_of(residual, matrix)
    as_they_are = lambda params: np.asarray(params)
    found = choose_step(halves, START, (NUM_COLUMNS,), as_they_are, np.zeros(12))
    assert found.candidate.ridge == RIDGES[-1]
    expected = solve(residual, matrix, NUM_COLUMNS, RIDGES[-1])
    np.testing.assert_allclose(found.candidate.params, expected, rtol=1e-6)
    assert np.linalg.norm(expected) < 1e-3 * np.linalg.norm(solve(residual, matrix))


def test_the_change_by_the_last_round_is_noise_too():
    residual, matrix = random_rows(400, noise=1e-4)
    halves, target = halves_of(residual, matrix), values_fn(solve(residual, matrix))
    choose = lambda change: choose_step(halves, START, (12,), values_fn, change)
    small, large = choose(1e-9 * target), choose(0.02 * target)
    assert small.noise == choose(0 * target).noise > 1e-9
    assert large.noise == large.total == pytest.approx(0.01, rel=1e-6)


# Acceptance.


@pytest.mark.parametrize(
    ("estimate", "noise", "total", "is_accepted"),
    [
        (1.0, 0.1, 0.2, True),
        (1.0, 0.49, 0.1, True),
        (1.0, 0.5, 0.1, False),
        (1.0, 0.1, 0.5, False),
        (1.0, 2.0, 0.1, False),
        (0.0, 0.0, 0.0, False),
        (math.nan, 0.1, 0.1, False),
        (1.0, math.nan, 0.1, False),
        (1.0, 0.1, math.nan, False),
        (math.inf, 0.1, 0.1, False),
    ],
)
def test_a_step_must_be_expected_to_halve_the_error(
    estimate, noise, total, is_accepted
):
    candidate = Candidate(NUM_COLUMNS, RIDGES[0], None, noise, 0.0)
    choice = Choice(candidate, estimate, noise, total, [candidate])
    assert choice.is_accepted == is_accepted


def test_a_solution_as_good_as_the_rows_allow_is_kept():
    """The solution of other rows with the same noise is as good as that of these."""
    rows, others = random_rows(60, 0.05), random_rows(60, 0.05, seed=1)
    present = solve(*others)
    halves = halves_of(rows[0] + rows[1] @ present, rows[1])
    found = choose_step(
        halves, jnp.asarray(present), (NUM_COLUMNS,), values_fn, np.zeros(101)
    )
    assert found.noise > 0.5 * found.estimate and not found.is_accepted


def test_residuals_that_are_no_numbers_are_refused():
    residual, matrix = random_rows(60, 0.05)
    residual[7] = math.nan
    halves = halves_of(residual, matrix)
    found = choose_step(halves, START, (FEW, 12), values_fn, np.zeros(101))
    assert not found.is_accepted and not found.is_reliable


# Halves of the rows.


def term_of(residual, matrix, block_size):
    """A term with these rows as they are."""
    row_fn = lambda params, point: point[0] @ params + point[1]
    points = (jnp.asarray(matrix), jnp.asarray(residual))
    weight = jnp.asarray(float(len(residual)))
    return PointTerm(row_fn, points, weight=weight, block_size=block_size)


def assert_has_rows(triangle, *parts):
    """A factorisation has these rows `(factor, residual, matrix)`: `R'R` is known."""
    rows = [a * np.column_stack([matrix, residual]) for a, residual, matrix in parts]
    rows = np.concatenate(rows)
    found = triangle.triangle.T @ triangle.triangle
    np.testing.assert_allclose(found, rows.T @ rows, atol=1e-12 * len(rows))


def test_blocks_alternate_between_halves_and_both_have_all_shared_rows():
    residual, matrix = random_rows(60, 0.1)
    shared = random_rows(10, 0.1, seed=1)

    def block(*numbers):
        rows = np.ravel([np.arange(15 * k, 15 * k + 15) for k in numbers])
        return 1.0, residual[rows], matrix[rows]

    terms, before = [term_of(residual, matrix, 15)], Halves.empty(NUM_COLUMNS, float)
    once = before.absorb(terms, factorise(shared), START)
    part = (math.sqrt(0.5), *shared)
    assert_has_rows(once.first, block(0, 2), part)
    assert_has_rows(once.second, block(1, 3), part)
    everything = (1.0, residual, matrix), (1.0, *shared)
    assert_has_rows(once.both, *everything)
    plain = before.absorb(terms, None, START)
    assert_has_rows(plain.first, block(0, 2))
    assert_has_rows(plain.both, block(0, 1, 2, 3))
    twice = once.absorb(terms, factorise(shared), START)
    assert_has_rows(twice.first, block(0, 2), part, block(0, 2), part)
    assert_has_rows(twice.both, *everything, *everything)
    assert_has_rows(once.both, *everything)
    np.testing.assert_array_equal(before.both.triangle, 0)


def test_the_merged_halves_solve_for_all_rows():
    residual, matrix = random_rows(60, 0.1)
    shared, before = random_rows(10, 0.1, seed=1), Halves.empty(NUM_COLUMNS, float)
    halves = before.absorb([term_of(residual, matrix, 15)], factorise(shared), START)
    pairs = zip((residual, matrix), shared, strict=True)
    rows = (np.concatenate(each) for each in pairs)
    found = halves.both.damped().step()
    np.testing.assert_allclose(found, solve(*rows), atol=1e-11)


# The noise of data.


def error_by_signs(sampled, data, num_repeats, count, num_signs=2000):
    """Mean size of the change by other signs of what is left of the data."""
    pairs = zip(sampled, data, strict=True)
    whole = [np.concatenate([a, *[b] * num_repeats]) for a, b in pairs]
    now = solve(*whole, count)
    left = data[0] + data[1] @ now
    signs = np.random.default_rng(5).choice((-1.0, 1.0), (num_signs, left.size))
    squares = []
    for row in signs:
        changed = [np.zeros(len(sampled[0])), *[row * left] * num_repeats]
        change = solve(np.concatenate(changed), whole[1], count)
        squares.append(np.sum(values_fn(change) ** 2))
    return math.sqrt(np.mean(squares)) / np.linalg.norm(values_fn(now))


@pytest.mark.parametrize("count", [FEW, NUM_COLUMNS])
def test_the_noise_of_data_is_that_of_random_signs(count):
    sampled, data = random_rows(40, 0.0), random_rows(45, 0.3, seed=1)
    num_repeats = 2
    halves = halves_of(*sampled)
    both = factorise(sampled, *[data] * num_repeats)
    halves = Halves(halves.first, halves.second, both)
    params = jnp.asarray(both.damped(count, RIDGES[0]).step())
    candidate = Candidate(count, RIDGES[0], params, 0.0, 0.0)
    terms = [term_of(*data, block_size=15)]
    found = [
        data_noise(terms, halves, num_repeats, START, candidate, values_fn, generator)
        for generator in map(np.random.default_rng, range(20))
    ]
    expected = error_by_signs(sampled, data, num_repeats, count)
    # Four signs each: single results scatter, their mean square does not.
    assert expected / 3 < min(found) and max(found) < 3 * expected
    mean = math.sqrt(np.mean(np.square(found)))
    assert mean == pytest.approx(expected, rel=0.2)


def test_data_without_noise_cause_no_error():
    data = random_rows(45, 0.0)
    halves = halves_of(*data)
    params = jnp.asarray(halves.both.damped(None, RIDGES[0]).step())
    candidate = Candidate(NUM_COLUMNS, RIDGES[0], params, 0.0, 0.0)
    terms, generator = [term_of(*data, block_size=15)], np.random.default_rng(0)
    found = data_noise(terms, halves, 1, START, candidate, values_fn, generator)
    assert found < 1e-13
