"""Levenberg-Marquardt: exact steps, blocks, weights, dampings, tiny dampings."""

import equinox as eqx
import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.optimize import least_squares

from tests.optim.cases import CASES, NUM_ROWS, index_of, residual_of, start_of
from tests.rooms import concrete
from vrba import Status
from vrba.core import flatten
from vrba.optim import (
    AbstractSolver,
    Cholesky,
    ConjugateGradients,
    ExactSecond,
    FiniteDifference,
    HostCholesky,
    LeastSquares,
    LevenbergMarquardt,
    NielsenDamping,
    NoAcceleration,
    Objective,
    PointTerm,
    QuasiNewton,
    SmallestDamping,
    VectorTerm,
    advance,
    minimise,
)

SOLVERS = {cls.__name__: cls() for cls in concrete("vrba.optim", AbstractSolver)}
EACH_SOLVER = pytest.mark.parametrize("name", sorted(SOLVERS))


# Known minima.


def test_more_garbow_hillstrom():
    optimizer = LevenbergMarquardt(solver=Cholesky())
    residual = jax.jit(residual_of)
    for case in CASES:
        args = (index_of(case),)
        run = minimise(
            residual_of,
            start_of(case),
            optimizer,
            args=args,
            max_steps=300,
            steps_per_call=300,
            gradient_tolerance=1e-12,
        )
        ends = (Status.converged, Status.no_descent)  # the floor, where it is not zero
        assert run.status in ends, case
        loss, minima = NUM_ROWS * float(run.loss), CASES[case].minima
        distance = min(abs(loss - m) / m if m else loss for m in minima)
        assert distance < 1e-5, f"{case}: {loss} is none of {minima}"
        theirs = least_squares(residual, np.asarray(run.params), args=args, xtol=1e-15)
        assert loss <= 2 * theirs.cost * (1 + 1e-9) + 1e-12, case


# The step itself, on a linear problem whose answer is known.


def matrix_and_side(rows=37, size=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, size)), rng.normal(size=rows)


def linear_residual(params, point):
    row, side = point
    return jnp.vdot(row, jnp.concatenate([params["a"], params["b"]])) - side


def linear_objective(block_size=8, weights=None, weight=1.0):
    matrix, side = matrix_and_side()
    points = (jnp.asarray(matrix), jnp.asarray(side))
    return LeastSquares(
        PointTerm(linear_residual, points, weights, weight, block_size=block_size)
    )


PARAMS = {"a": jnp.array([1.0, -2.0]), "b": jnp.array([0.5, 3.0, -1.0])}


@EACH_SOLVER
@pytest.mark.parametrize("damping", [1e-3, 10.0])
def test_a_step_solves_the_damped_normal_equations(name, damping):
    matrix, side = matrix_and_side()
    point = np.concatenate([PARAMS["a"], PARAMS["b"]])
    scaled = matrix / np.sqrt(len(side))
    rest = scaled @ point - side / np.sqrt(len(side))
    solver, mu = SOLVERS[name], jnp.asarray(damping)
    system = solver.assemble(linear_objective(), PARAMS, jnp.asarray(1.0))
    np.testing.assert_allclose(system.half_gradient, scaled.T @ rest, rtol=1e-12)
    factor = solver.factor(system, mu)
    damped = scaled.T @ scaled + damping * np.eye(5)
    tolerance = 1e-5 if name == "ConjugateGradients" else 1e-12
    expected = -np.linalg.solve(damped, scaled.T @ rest)
    np.testing.assert_allclose(solver.step(factor), expected, rtol=tolerance)
    vector = jnp.arange(1.0, 6.0)
    expected = np.linalg.solve(damped, vector)
    np.testing.assert_allclose(solver.solve(factor, vector), expected, rtol=tolerance)


@EACH_SOLVER
def test_a_linear_problem_is_solved(name):
    matrix, side = matrix_and_side()
    optimizer = LevenbergMarquardt(solver=SOLVERS[name])
    run = minimise(
        linear_objective(), PARAMS, optimizer, max_steps=12, steps_per_call=12
    )
    expected = np.linalg.lstsq(matrix, side)[0]
    np.testing.assert_allclose(flatten(run.params)[0], expected, rtol=1e-6)


def valley(x):
    return jnp.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])


def test_the_host_and_the_compiled_solver_take_the_same_steps():
    start = jnp.array([-1.2, 1.0])
    runs = [
        minimise(valley, start, LevenbergMarquardt(solver=solver), max_steps=5)
        for solver in (Cholesky(), HostCholesky())
    ]
    floor = 1e-24  # residuals of 1e-12: what is left of differences of numbers of ten
    np.testing.assert_allclose(runs[1].values, runs[0].values, rtol=1e-6, atol=floor)
    assert runs[0].num_evaluations == runs[1].num_evaluations


def ill_conditioned(size, rows, smallest, block_size=5, dtype=float):
    """A matrix, its left singular vectors, and a term with `matrix x + side`."""
    rng = np.random.default_rng(1)
    left, _ = np.linalg.qr(rng.normal(size=(rows, size)))
    right, _ = np.linalg.qr(rng.normal(size=(size, size)))
    matrix = (left * np.geomspace(1, smallest, size) @ right).astype(dtype)

    def term(side):
        data = jnp.asarray(matrix), jnp.asarray(side, dtype)
        value = lambda x, point: jnp.vdot(point[0], x) + point[1]
        return PointTerm(value, data, weight=float(rows), block_size=block_size)

    return matrix, left, term


def test_tiny_damping_is_solved_by_qr():
    """Condition 1e10: squared, it is beyond float64."""
    size = 6
    matrix, _, term = ill_conditioned(size, 24, 1e-10)
    answer = np.random.default_rng(2).normal(size=size)
    objective = LeastSquares(term(-matrix @ answer))
    for solver in (Cholesky(), HostCholesky()):
        tiny = jnp.asarray(1e-28)
        system = solver.assemble(objective, jnp.zeros(size), tiny)
        step = solver.step(solver.factor(system, tiny))
        np.testing.assert_allclose(step, answer, rtol=1e-4)
    normal = matrix.T @ matrix + 1e-28 * np.eye(size)
    squared = np.linalg.pinv(normal) @ (matrix.T @ (matrix @ answer))
    assert np.abs(squared - answer).max() > 1e-2  # what the normal equations give


@pytest.mark.parametrize("solver", [Cholesky, HostCholesky])
def test_a_matrix_that_is_too_large_is_refused(solver):
    _, _, term = ill_conditioned(6, 24, 1.0)
    objective, start = LeastSquares(term(jnp.ones(24))), jnp.zeros(6)
    made = lambda most: LevenbergMarquardt(solver=solver(max_params=most))
    solve = lambda most: minimise(objective, start, made(most), max_steps=1)
    assert solve(6).loss < objective.value(start)
    with pytest.raises(ValueError, match=r"6 numbers.*ConjugateGradients.*max_params"):
        solve(5)


@pytest.mark.parametrize("solver", [Cholesky, HostCholesky])
def test_a_run_switches_to_qr_when_the_damping_is_tiny(solver):
    """Without QR the damping cannot fall below the rounding of `J'J`."""
    size = 6
    matrix, _, term = ill_conditioned(size, 24, 1e-10)
    answer = np.random.default_rng(2).normal(size=size)
    objective, start = LeastSquares(term(-matrix @ answer)), jnp.zeros(size)
    distance = {}
    for limit in (None, 0.0):
        optimizer = LevenbergMarquardt(solver=solver(qr_below=limit))
        run = minimise(objective, start, optimizer, max_steps=40, steps_per_call=40)
        distance[limit] = np.abs(run.params - answer).max()
    assert distance[None] < 1e-3 < distance[0.0]


@pytest.mark.parametrize("solver", [Cholesky(), HostCholesky()], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0.5, 1.0, 10.0])
def test_a_damping_of_the_precision_needs_no_qr(solver, dtype, share):
    """With a damping of the machine precision, normal equations are accurate enough.

    Rounding of `J'J` changes the step in directions where `J` is small. The residual
    lies in these directions only. The step still lowers the damped model by as much as
    the exact step (by mpmath), up to 1 %. The predicted decrease, which gains are
    relative to, is off by less than a tenth.
    """
    size, rows, first = 24, 60, 16
    eps = float(np.finfo(dtype).eps)
    matrix, left, term = ill_conditioned(size, rows, eps**0.6, 7, dtype)
    rest = left[:, first:] @ np.random.default_rng(2).normal(size=size - first)
    damping = jnp.asarray(share * eps * np.sum(matrix**2), dtype)
    start, relative = jnp.zeros(size, dtype), jnp.asarray(share * eps, dtype)
    system = solver.assemble(LeastSquares(term(rest)), start, relative)
    assert bool(system.is_triangle) is (share < 1)
    assert float(solver.min_damping(system)) < (eps**1.5 if share < 1 else eps)
    step = solver.step(solver.factor(system, damping))
    foreseen = damping * jnp.vdot(step, step) - jnp.vdot(step, system.half_gradient)
    with mpmath.workdps(50):
        side = mpmath.matrix(rest.astype(dtype).tolist())
        jacobian = mpmath.matrix(matrix.tolist())
        pulled, normal = jacobian.T * side, jacobian.T * jacobian
        model = lambda d: -(2 * (pulled.T * d) + d.T * normal * d)[0]
        damped = lambda d: model(d) - float(damping) * (d.T * d)[0]
        exact = mpmath.lu_solve(normal + float(damping) * mpmath.eye(size), -pulled)
        ours = mpmath.matrix(np.asarray(step, float).tolist())
        assert 0.99 < damped(ours) / damped(exact) <= 1
        assert float(foreseen) == pytest.approx(float(model(exact)), rel=0.1)


# Terms.


@pytest.mark.parametrize("block_size", [1, 8, 37, 1000])
def test_blocks_add_up_to_the_whole(block_size):
    matrix, side = matrix_and_side()
    weights = np.linspace(0.5, 2, len(side))
    objective = linear_objective(block_size, jnp.asarray(weights), 3.0)

    def plain(params):
        rest = matrix @ jnp.concatenate([params["a"], params["b"]]) - side
        return 3.0 * jnp.mean((weights * rest) ** 2)

    value, gradient = eqx.filter_jit(objective.value_and_gradient)(PARAMS)
    expected, slope = jax.value_and_grad(plain)(PARAMS)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(objective.value(PARAMS), expected, rtol=1e-13)
    for part in ("a", "b"):
        np.testing.assert_allclose(gradient[part], slope[part], rtol=1e-12)


def test_several_terms_equations_and_complex_residuals_add_up():
    points = jnp.linspace(0, 1, 7)
    inside = lambda c, x: jnp.stack([c[0] * x - 1, c[1] * x**2])
    wave = lambda c: jax.lax.complex(c[0], c[1]) * jnp.array([1.0 + 0j, 2.0])
    spiral = lambda c, x: jax.lax.complex(c[0] * x, c[1] - x)
    objective = LeastSquares(
        PointTerm(inside, points, weight=2.0, block_size=3),
        VectorTerm(wave, weight=0.5),
        PointTerm(spiral, points, 1 + points, block_size=4),
    )
    c = jnp.array([0.7, -0.3])
    expected = 2.0 * jnp.mean(jax.vmap(inside, (None, 0))(c, points) ** 2)
    expected += 0.5 * jnp.mean(jnp.abs(wave(c)) ** 2)
    turns = jax.vmap(spiral, (None, 0))(c, points)
    expected += jnp.mean((1 + points) ** 2 * jnp.abs(turns) ** 2)
    np.testing.assert_allclose(objective.value(c), expected, rtol=1e-13)
    for term in objective.terms:
        rows, jacobian = term.jacobian(c, 0)
        np.testing.assert_allclose(rows, term.residual(c, 0), rtol=1e-14)
        numeric = jax.jacfwd(lambda c, term=term: term.residual(c, 0))(c)
        np.testing.assert_allclose(jacobian, numeric, rtol=1e-13)


def test_weights_carry_no_gradient():
    points = jnp.linspace(0.1, 1, 5)

    def loss(weights):
        term = PointTerm(lambda c, x: c * x - 1, points, weights)
        return LeastSquares(term).value(jnp.asarray(0.5))

    slope = jax.grad(loss)(jnp.ones(5))
    np.testing.assert_array_equal(slope, np.zeros(5))


def curve(c, point):
    x, y = point
    return c[0] * jnp.exp(-c[1] * x) + c[2] * jnp.sin(c[3] * x) - y


START = jnp.array([1.5, 1.2, 0.5, 2.6])


def curve_points(key, count=60):
    x = jax.random.uniform(key, (count,), float, 0, 3)
    true = jnp.array([2.0, 1.5, 0.7, 3.0])
    return x, curve(true, (x, 0.0))


@EACH_SOLVER
def test_points_and_weights_may_change_between_steps(name, keys):
    """Resampled points, one compilation, the true coefficients."""
    num_traces = 0

    def counted(c, point):
        nonlocal num_traces
        num_traces += 1
        return curve(c, point)

    optimizer, params = LevenbergMarquardt(solver=SOLVERS[name]), START
    counts, state = [], None
    for _ in range(5):
        points = curve_points(next(keys))
        weights = jnp.asarray(1 + np.abs(points[1]))
        objective = LeastSquares(PointTerm(counted, points, weights, block_size=16))
        if state is None:
            state = optimizer.init(objective, params)
        state = optimizer.objective_changed(objective, params, state)
        before = num_traces
        expected = objective.value(params)
        num_traces = before  # that was this test's own
        np.testing.assert_allclose(state.value, expected, rtol=1e-12, atol=1e-30)
        params, state, _ = advance(optimizer, objective, params, state, 4)
        counts.append(num_traces)
    np.testing.assert_allclose(params, [2.0, 1.5, 0.7, 3.0], rtol=1e-6)
    assert counts[1:] == [counts[1]] * 4  # by then the way by QR is compiled too


def test_quasi_newton_takes_least_squares_too(keys):
    points = curve_points(next(keys))
    objective = LeastSquares(PointTerm(curve, points, block_size=16))
    run = minimise(objective, START, QuasiNewton(), max_steps=200, target_loss=1e-20)
    assert run.status == Status.target_reached
    np.testing.assert_allclose(run.params, [2.0, 1.5, 0.7, 3.0], rtol=1e-6)


@EACH_SOLVER
@pytest.mark.parametrize("end", ["floor", "nan"])
def test_a_failed_step_leaves_the_state_usable(name, end, keys):
    optimizer = LevenbergMarquardt(solver=SOLVERS[name])
    points = curve_points(next(keys))
    make = lambda points: LeastSquares(PointTerm(curve, points, block_size=16))
    run = minimise(make(points), START, optimizer, max_steps=60, steps_per_call=60)
    params, state = run.params, run.state
    if end == "nan":
        bad = make((points[0], np.nan * points[1]))
        state = optimizer.objective_changed(bad, params, state)
        params, state, steps = advance(optimizer, bad, params, state, 3, capacity=60)
        assert steps.status == Status.nonfinite_objective
        assert int(steps.num_steps) == 1 and int(steps.num_evaluations) == 1
    else:
        assert run.status in (Status.no_descent, Status.converged)
    new = make((points[0], 1.5 * points[1]))
    state = optimizer.objective_changed(new, params, state)
    before = state.value
    params, state, _ = advance(optimizer, new, params, state, 25, capacity=60)
    assert state.value < 1e-3 * before


def test_the_damping_follows_the_scale_of_the_objective(keys):
    points, optimizer = curve_points(next(keys)), LevenbergMarquardt(solver=Cholesky())
    ends = []
    for factor in (1.0, 2.0**20):
        params, state = START, None
        for weight in (1.0, factor):
            term = PointTerm(curve, points, weight=weight, block_size=16)
            objective = LeastSquares(term)
            state = optimizer.init(objective, params) if state is None else state
            state = optimizer.objective_changed(objective, params, state)
            params, state, _ = advance(optimizer, objective, params, state, 2)
        ends.append(params)
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-8)


@pytest.mark.parametrize("name", ["Cholesky", "HostCholesky"])
def test_a_resumed_run_is_the_unbroken_run(name, keys, tmp_path):
    optimizer = LevenbergMarquardt(solver=SOLVERS[name])
    objective = LeastSquares(PointTerm(curve, curve_points(next(keys)), block_size=16))
    go = lambda params, steps, state=None: minimise(
        objective, params, optimizer, max_steps=steps, state=state
    )
    whole, first = go(START, 6), go(START, 2)
    eqx.tree_serialise_leaves(tmp_path / "run.eqx", (first.params, first.state))
    blank = START, optimizer.init(objective, START)
    params, state = eqx.tree_deserialise_leaves(tmp_path / "run.eqx", blank)
    rest = go(params, 4, state)
    assert eqx.tree_equal(whole.params, rest.params)
    assert eqx.tree_equal(whole.state, rest.state)


# Acceleration and damping.


def test_accelerations_agree_with_the_second_derivative(keys):
    objective = LeastSquares(PointTerm(curve, curve_points(next(keys)), block_size=16))
    c, velocity = jnp.array([1.0, 1.2, 0.5, 2.0]), jnp.array([0.3, -0.2, 0.1, 0.4])
    residual = lambda c: jnp.concatenate(
        [objective.terms[0].residual(c, i) for i in range(4)]
    )
    second = jax.hessian(residual)(c)
    expected = jax.jacfwd(residual)(c).T @ jnp.einsum(
        "rij,i,j->r", second, velocity, velocity
    )
    exact = ExactSecond().second_order_term(objective, c, velocity)
    np.testing.assert_allclose(exact, expected, rtol=1e-12)
    near = FiniteDifference(1e-4).second_order_term(objective, c, velocity)
    np.testing.assert_allclose(near, expected, rtol=1e-3)
    assert not NoAcceleration().second_order_term(objective, c, velocity).any()


def test_acceleration_saves_steps_in_a_curved_valley():
    counts = {}
    for acceleration in (FiniteDifference(), NoAcceleration()):
        optimizer = LevenbergMarquardt(acceleration=acceleration, solver=Cholesky())
        run = minimise(
            valley, jnp.array([-1.2, 1.0]), optimizer, max_steps=200, target_loss=1e-20
        )
        assert run.status == Status.target_reached
        counts[type(acceleration)] = run.num_steps
    assert counts[FiniteDifference] < counts[NoAcceleration]


def try_gains(rule, gains, first=1.0):
    """The dampings tried and kept for given gains, from `first`."""
    state = eqx.tree_at(lambda s: s.damping, rule.init(float), jnp.asarray(first))
    smallest = jnp.asarray(1e-20)
    state = rule.begin_step(state, smallest)
    tried, kept = [], None
    for gain in gains:
        if state.is_done:
            break
        tried.append(float(state.damping))
        state = rule.update(state, jnp.asarray(gain), smallest)
        kept = tried[-1] if state.is_kept else kept
    return tried, kept, state


def test_smallest_damping_falls_while_trials_gain_and_rises_until_one_does():
    rule = SmallestDamping()
    tried, kept, state = try_gains(rule, [0.9, 0.2, 0.05])
    np.testing.assert_allclose(tried, [1, 1 / 3, 1 / 9])
    assert state.is_done and kept == tried[1]
    np.testing.assert_allclose(state.damping, kept)  # where the next step begins
    tried, kept, state = try_gains(rule, [-1.0, -np.inf, 0.5])
    np.testing.assert_allclose(tried, [1, 3, 9])
    assert state.is_done and kept == tried[2]
    tried, kept, _ = try_gains(rule, [0.9] * 20)
    assert len(tried) == 1 + rule.max_lower and kept == tried[-1]
    tried, kept, state = try_gains(rule, [np.nan] * 100)
    assert state.is_done and kept is None and tried[-1] > 1e20


def test_nielsen_damping_follows_the_gain():
    tried, kept, state = try_gains(NielsenDamping(), [-1.0, -1.0, 1.0])
    assert tried == [1, 2, 8] and kept == 8
    np.testing.assert_allclose(state.damping, 8 / 3)
    _, _, state = try_gains(NielsenDamping(), [0.5])
    np.testing.assert_allclose(state.damping, 1.0)


# What goes wrong says so.


@EACH_SOLVER
def test_residuals_that_are_not_finite_give_a_status(name):
    optimizer = LevenbergMarquardt(solver=SOLVERS[name])
    start = jnp.array([1.0, 2.0])
    run = minimise(lambda x: jnp.log(-x), start, optimizer, max_steps=5)
    assert run.status == Status.nonfinite_objective
    np.testing.assert_array_equal(run.params, start)


def test_float32_stays_float32():
    for solver in (Cholesky(), HostCholesky()):
        run = minimise(
            valley,
            jnp.array([-1.2, 1.0], jnp.float32),
            LevenbergMarquardt(solver=solver),
            max_steps=30,
        )
        assert run.params.dtype == jnp.float32 and run.loss < 1e-10


def test_bad_input_is_named():
    points = jnp.zeros(3)
    residual = lambda c, x: c * x
    optimizer = LevenbergMarquardt(solver=HostCholesky())
    objective = LeastSquares(PointTerm(residual, points))
    for make, words in [
        (lambda: PointTerm(residual, (points, jnp.zeros(4))), "got shapes"),
        (lambda: PointTerm(residual, jnp.zeros(0)), "got shapes"),
        (lambda: PointTerm(residual, jnp.zeros(())), "got shapes"),
        (lambda: Cholesky(qr_below=-1.0), "qr_below"),
        (lambda: LevenbergMarquardt(min_linear_gain=0.0), "min_linear_gain"),
        (lambda: PointTerm(residual, points, jnp.ones(2)), "point_weights"),
        (lambda: PointTerm(residual, points, block_size=0), "block_size"),
        (lambda: LeastSquares(), "give at least one term"),
        (lambda: LevenbergMarquardt(max_acceleration=0.0), "max_acceleration"),
        (lambda: SmallestDamping(factor=1.0), "factor"),
        (lambda: SmallestDamping(max_trials=0), "max_trials"),
        (lambda: NielsenDamping(initial=0.0), "initial"),
        (lambda: FiniteDifference(0.0), "`h`"),
        (lambda: ConjugateGradients(tolerance=2.0), "tolerance"),
        (lambda: optimizer.init(Objective(jnp.sum), points), "LeastSquares"),
        (lambda: minimise(Objective(jnp.sum), points, optimizer, max_steps=1), "needs"),
        (lambda: minimise(objective, points, optimizer, max_steps=1, args=(1,)), "arg"),
    ]:
        with pytest.raises(ValueError, match=words):
            make()


def test_host_solver_cannot_be_compiled():
    optimizer = LevenbergMarquardt(solver=HostCholesky())
    objective = LeastSquares(VectorTerm(lambda x: x - 1))
    state = optimizer.init(objective, jnp.zeros(2))
    with pytest.raises(ValueError, match=r"solver=Cholesky\(\)"):
        eqx.filter_jit(optimizer.step)(objective, jnp.zeros(2), state)
