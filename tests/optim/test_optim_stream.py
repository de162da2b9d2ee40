"""A new objective for every step, carried through one compiled loop."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vrba import Status
from vrba.optim import (
    AbstractObjectiveStream,
    Adam,
    AfterSteps,
    Backtracking,
    Cholesky,
    HostCholesky,
    LeastSquares,
    LevenbergMarquardt,
    Objective,
    PrecomputedObjective,
    QuasiNewton,
    Sequence,
    Stage,
    StoppingCriteria,
    VectorTerm,
    advance_stream,
    lbfgs,
)

# Only the user's compiler gives a loop and a single step the same bits.
pytestmark = pytest.mark.usefixtures("users_compiler")

START = {"x": jnp.array([2.0, -1.0, 0.5]), "name": "kept"}
WEIGHT = jnp.array([1.0, 4.0, 9.0])


def quadratic(params, target):
    return jnp.sum(WEIGHT * (params["x"] - target) ** 2)


class NoisyQuadratic(AbstractObjectiveStream):
    """A quadratic around a random target; the state is a key and a sum of losses.

    With `is_precomputed` it finds the gradient itself, together with the loss.
    """

    noise: float
    is_precomputed: bool = False
    traces: list = eqx.field(default_factory=list, static=True)

    def next_objective(self, stream_state, params):
        self.traces.append(1)
        key, total = stream_state
        key, subkey = jax.random.split(key)
        target = self.noise * jax.random.normal(subkey, (3,))
        objective = Objective(quadratic, (target,))
        value, gradient = objective.value_and_gradient(params)
        if self.is_precomputed:
            objective = PrecomputedObjective(params, value, gradient)
        return objective, (key, total + value)


def begin(optimizer, stream=None):
    """Optimizer state and stream state before the first step."""
    objective = Objective(quadratic, (jnp.zeros(3),))
    if stream is not None and stream.is_precomputed:
        objective = PrecomputedObjective(START)
    return optimizer.init(objective, START), (jax.random.key(7), jnp.zeros(()))


def unrolled(optimizer, stream, num_steps):
    """The same steps in Python, each compiled on its own."""

    @eqx.filter_jit
    def make_step(params, state, stream_state):
        objective, stream_state = stream.next_objective(stream_state, params)
        state = optimizer.objective_changed(objective, params, state)
        params, state, info = optimizer.step(objective, params, state)
        return params, state, stream_state, info.value

    params, (state, stream_state), values = START, begin(optimizer, stream), []
    for _ in range(num_steps):
        params, state, stream_state, value = make_step(params, state, stream_state)
        values.append(value)
    return params, state, stream_state, np.stack(values)


OPTIMIZERS = {"adam": Adam(0.05), "broyden": QuasiNewton(search=Backtracking())}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_stream_equals_a_loop_in_python_bit_for_bit(name):
    optimizer, stream = OPTIMIZERS[name], NoisyQuadratic(0.1)
    state, stream_state = begin(optimizer)
    params, state, stream_state, info = advance_stream(
        optimizer, stream, START, state, stream_state, 4, capacity=8
    )
    assert int(info.num_steps) == 4 and info.status == Status.ok
    first = np.asarray(info.values[:4])
    num_traces = len(stream.traces)
    params, state, stream_state, info = advance_stream(
        optimizer, stream, params, state, stream_state, 7, capacity=8
    )
    assert len(stream.traces) == num_traces  # the loop was compiled once
    expected = unrolled(optimizer, stream, 11)
    assert eqx.tree_equal(params, expected[0])
    assert eqx.tree_equal(state, expected[1])
    assert eqx.tree_equal(stream_state, expected[2])
    values = np.concatenate([first, info.values[:7]])
    np.testing.assert_array_equal(values, expected[3])
    assert np.isnan(info.values[7]) and params["name"] == "kept"


def test_a_precomputed_gradient_gives_the_same_steps():
    optimizer, ends = Adam(0.05), []
    for is_precomputed in (False, True):
        stream = NoisyQuadratic(0.1, is_precomputed)
        state, stream_state = begin(optimizer, stream)
        ends.append(advance_stream(optimizer, stream, START, state, stream_state, 9))
    (params, _, (_, total), info), (expected, *_) = ends
    assert eqx.tree_equal(params, expected)
    np.testing.assert_allclose(total, np.sum(info.values), rtol=1e-14)


def test_a_precomputed_gradient_belongs_to_one_point():
    stream = NoisyQuadratic(0.1, is_precomputed=True)
    with pytest.raises(ValueError, match="without a line search"):
        begin(QuasiNewton(), stream)
    state, stream_state = begin(lbfgs(), stream)
    with pytest.raises(ValueError, match="without a line search"):
        advance_stream(lbfgs(), stream, START, state, stream_state, 1)


class Replay(AbstractObjectiveStream):
    """Targets one after another; the state counts them."""

    targets: jax.Array

    def next_objective(self, stream_state, params):
        target = self.targets[stream_state]
        return Objective(quadratic, (target,)), stream_state + 1


def replay(optimizer, targets, **settings):
    """All targets in one call; a step for each unless it ends early."""
    state, _ = begin(optimizer)
    first = jnp.zeros((), jnp.int32)
    stream = Replay(jnp.asarray(targets))
    return advance_stream(
        optimizer, stream, START, state, first, len(targets), **settings
    )


def test_a_loss_that_is_not_finite_ends_the_call():
    targets = np.zeros((6, 3))
    targets[3] = np.nan
    params, state, stream_state, info = replay(Adam(0.05), targets)
    assert info.status == Status.nonfinite_objective
    assert int(info.num_steps) == 4 and int(stream_state) == 4
    expected, old_state, *_ = replay(Adam(0.05), targets[:3])
    assert eqx.tree_equal(params, expected)
    assert eqx.tree_equal(state, old_state)


def test_the_gradient_of_one_objective_stops_only_if_asked():
    targets = np.zeros((6, 3))
    targets[2:4] = [[1.0, 1.0, 1.0]]
    starts_flat = np.concatenate([[START["x"]], targets])
    *_, info = replay(Adam(0.05), starts_flat)
    assert int(info.num_steps) == 7 and info.status == Status.ok
    stop = StoppingCriteria(gradient_tolerance=1e-9)
    params, _, stream_state, info = replay(Adam(0.05), starts_flat, stop=stop)
    assert info.status == Status.converged and int(stream_state) == 1
    assert eqx.tree_equal(params, START)


def test_a_stream_goes_from_stage_to_stage():
    second = QuasiNewton(search=Backtracking())
    optimizer = Sequence(Stage(Adam(0.05), AfterSteps(3)), second)
    stream = NoisyQuadratic(0.1)
    state, stream_state = begin(optimizer)
    params, counts = START, []
    for _ in range(2):
        params, state, stream_state, info = advance_stream(
            optimizer, stream, params, state, stream_state, 5
        )
        counts.append(int(info.num_steps))
    assert counts == [3, 5] and state.stage == 1
    state, stream_state = begin(Adam(0.05))
    expected, _, stream_state, _ = advance_stream(
        Adam(0.05), stream, START, state, stream_state, 3
    )
    objective, _ = stream.next_objective(stream_state, expected)
    state = second.init(objective, expected)
    expected, *_ = advance_stream(second, stream, expected, state, stream_state, 5)
    np.testing.assert_allclose(params["x"], expected["x"], rtol=1e-12)


class MovingCurve(AbstractObjectiveStream):
    """Residuals of a curve at other points in every step; all vanish at (2, 1)."""

    def next_objective(self, stream_state, params):
        places = jnp.linspace(0, 1, 5) + 0.1 * stream_state
        fn = lambda c, x: c[0] * jnp.exp(-c[1] * x) - 2 * jnp.exp(-x)
        return LeastSquares(VectorTerm(fn, (places,))), stream_state + 1.0


def test_steps_in_python_take_a_stream_too():
    ends, start = [], jnp.array([1.0, 0.5])
    for solver in (Cholesky(), HostCholesky()):
        optimizer, stream = LevenbergMarquardt(solver=solver), MovingCurve()
        objective, _ = stream.next_objective(jnp.zeros(()), start)
        state = optimizer.init(objective, start)
        params, _, stream_state, info = advance_stream(
            optimizer, stream, start, state, jnp.zeros(()), 4
        )
        assert float(stream_state) == int(info.num_steps) == 4
        np.testing.assert_allclose(params, [2.0, 1.0], rtol=1e-6)
        ends.append(info.values)
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6, atol=1e-24)


def test_the_number_of_steps_is_checked():
    with pytest.raises(ValueError, match="`num_steps` must be between 1 and"):
        replay(Adam(0.05), np.zeros((6, 3)), capacity=5)
