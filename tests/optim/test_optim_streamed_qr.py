"""The streamed QR solves least squares as NumPy does, block by block."""

import numpy as np
import pytest

from vrba import InputError
from vrba.optim import StreamedQR

NUM_ROWS, NUM_COLUMNS = 90, 12
PARTS = ((0, 7), (7, 40), (40, 90))


@pytest.fixture
def rows():
    generator = np.random.default_rng(0)
    matrix = generator.standard_normal((NUM_ROWS, NUM_COLUMNS))
    matrix *= np.logspace(-6, 6, NUM_COLUMNS)  # columns of very different norms
    return generator.standard_normal(NUM_ROWS), matrix


def solve(matrix, right):
    """Solve with the SVD, on columns of norm one, which it needs to be accurate."""
    norms = np.linalg.norm(matrix, axis=0)
    return np.linalg.lstsq(matrix / norms, right, rcond=None)[0] / norms


def factorise(residual, matrix, parts=PARTS):
    blocks = ((residual[a:b], matrix[a:b]) for a, b in parts)
    return StreamedQR.empty(matrix.shape[1]).absorb(blocks)


def test_the_step_is_the_least_squares_solution(rows):
    residual, matrix = rows
    expected = solve(matrix, -residual)
    step = factorise(residual, matrix).damped().step()
    np.testing.assert_allclose(step, expected, rtol=1e-10)


@pytest.mark.parametrize("count", [1, 5, NUM_COLUMNS])
def test_leading_columns_need_no_other_factorisation(rows, count):
    residual, matrix = rows
    expected = solve(matrix[:, :count], -residual)
    step = factorise(residual, matrix).damped(count).step()
    np.testing.assert_allclose(step[:count], expected, rtol=1e-10)
    assert not step[count:].any()


@pytest.mark.parametrize("ridge", [1e-3, 1.0])
def test_the_ridge_scales_with_the_column_norms(rows, ridge):
    residual, matrix = rows
    norms = np.linalg.norm(matrix, axis=0)
    stacked = np.vstack([matrix, ridge * np.diag(norms)])
    right = np.concatenate([-residual, np.zeros(NUM_COLUMNS)])
    expected = solve(stacked, right)
    step = factorise(residual, matrix).damped(ridge=ridge).step()
    np.testing.assert_allclose(step, expected, rtol=1e-10)


def test_halves_merge_to_the_whole(rows):
    residual, matrix = rows
    first = factorise(residual, matrix, PARTS[:2])
    second = factorise(residual, matrix, PARTS[2:])
    whole = factorise(residual, matrix)
    merged = first.merge(second)
    np.testing.assert_allclose(
        merged.damped().step(), whole.damped().step(), rtol=1e-10
    )
    np.testing.assert_allclose(merged.square_sum, np.sum(residual**2), rtol=1e-12)
    np.testing.assert_allclose(
        merged.column_norms, np.linalg.norm(matrix, axis=0), rtol=1e-12
    )


def test_pulled_directions_give_the_leverage(rows):
    residual, matrix = rows
    exact = np.sum(np.linalg.qr(matrix)[0] ** 2, axis=1)
    normal = np.random.default_rng(1).standard_normal((NUM_COLUMNS, 4000))
    directions = factorise(residual, matrix).damped().pull(normal)
    found = np.mean((matrix @ directions) ** 2, axis=1)
    # 4,000 samples of a scaled chi-squared variable: a relative error of 0.022.
    np.testing.assert_allclose(found, exact, rtol=6 * np.sqrt(2 / 4000))


@pytest.mark.parametrize("count", [3, NUM_COLUMNS])
def test_responses_are_steps_for_other_residuals(rows, count):
    """The minimiser is linear in the residual, which enters as `J' r` alone."""
    residual, matrix = rows
    changes = np.random.default_rng(2).standard_normal((len(residual), 4))
    solver = factorise(residual, matrix).damped(count, 1e-3)
    found = solver.respond(matrix.T @ changes)
    for change, response in zip(changes.T, found.T, strict=True):
        moved = factorise(residual + change, matrix).damped(count, 1e-3)
        np.testing.assert_allclose(response, moved.step() - solver.step(), atol=1e-12)


def test_absorbing_leaves_the_factorisation_as_it_was(rows):
    residual, matrix = rows
    before = factorise(residual, matrix, PARTS[:2])
    step = before.damped().step()
    before.absorb([(residual[40:], matrix[40:])])
    before.merge(before)
    np.testing.assert_array_equal(before.damped().step(), step)


def test_ill_conditioned_columns_keep_the_digits_of_qr():
    """Normal equations would lose twice as many digits: here, all of them."""
    x = np.linspace(-1, 1, 200)
    matrix = np.vander(x, 20, increasing=True)[:, ::-1] + 0.0
    matrix = np.hstack([matrix, matrix[:, :1] * (1 + 1e-9 * x[:, None] ** 3)])
    truth = np.random.default_rng(2).standard_normal(21)
    residual = -(matrix @ truth)
    step = factorise(residual, matrix, ((0, 100), (100, 200))).damped().step()
    assert np.linalg.norm(matrix @ step + residual) < 1e-12 * np.linalg.norm(residual)


def test_a_column_of_zeros_is_named_singular_by_nan_and_a_ridge_helps(rows):
    residual, matrix = rows
    matrix[:, 3] = 0
    found = factorise(residual, matrix)
    assert np.isnan(found.damped().step()).any()
    assert np.isfinite(found.damped(ridge=1e-13).step()).all()


def test_wrong_shapes_are_refused(rows):
    residual, matrix = rows
    with pytest.raises(InputError, match=r"\(90, 11\) for 90 residuals and 12 columns"):
        StreamedQR.empty(NUM_COLUMNS).absorb([(residual, matrix[:, 1:])])
    with pytest.raises(InputError, match="`num_columns` must be between 1 and 12"):
        factorise(residual, matrix).damped(13)
