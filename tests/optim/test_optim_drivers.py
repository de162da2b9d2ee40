"""Optax transforms, sequences of optimizers, `advance` and `minimise`."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import vrba.optim as optim
from tests.optim.cases import rosenbrock
from tests.rooms import concrete
from vrba import Status
from vrba.core import flatten, flatten_gradient, to_jax_arrays
from vrba.optim import (
    AfterSteps,
    Backtracking,
    BelowLoss,
    FromOptax,
    LevenbergMarquardt,
    Objective,
    OnStall,
    QuasiNewton,
    Sequence,
    Stage,
    StoppingCriteria,
    advance,
    lbfgs,
    minimise,
)

START = jnp.array([-1.2, 1.0])
ADAM = FromOptax(optax.adam(1e-2))
SECOND = QuasiNewton(search=Backtracking())  # the quickest to compile


# optax.


def test_a_transform_gives_the_same_as_its_own_loop():
    run = minimise(rosenbrock, START, ADAM, max_steps=30, steps_per_call=10)
    params, state = START, ADAM.transform.init(START)
    with jax.numpy_dtype_promotion("standard"):
        step = jax.jit(ADAM.transform.update).lower(params, state, params).compile()
    gradient_fn = jax.jit(jax.value_and_grad(rosenbrock))
    for value in run.values:
        expected, gradient = gradient_fn(params)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        updates, state = step(gradient, state, params)
        params = optax.apply_updates(params, updates)
    np.testing.assert_allclose(run.params, params, rtol=1e-12)
    assert run.num_evaluations == 30


EACH = {"adam": ADAM, "lbfgs": lbfgs(), "broyden": SECOND, "lm": LevenbergMarquardt()}


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("number", [jnp.nan, jnp.inf])
def test_a_loss_that_is_not_finite_is_not_converged(name, number):
    """The gradient of this loss is zero everywhere."""
    constant = lambda x: number + 0 * jnp.sum(jax.lax.stop_gradient(x))
    fn = (lambda x: constant(x)[None]) if name == "lm" else constant
    run = minimise(fn, START, EACH[name], max_steps=5)
    assert run.status == Status.nonfinite_objective


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("params", [{"a": jnp.arange(3)}, {"a": 3.0}])
def test_nothing_to_train_is_refused(name, params):
    fn = lambda p: jnp.sum(jnp.asarray(p["a"], float) ** 2)[None]
    loss = fn if name == "lm" else lambda p: fn(p)[0]
    with pytest.raises(ValueError, match="no floating array to train"):
        minimise(loss, params, EACH[name], max_steps=2)


def test_residuals_are_floating_numbers():
    fn = lambda x: jnp.arange(3)
    with pytest.raises(ValueError, match="floating numbers as residuals, got int"):
        minimise(fn, START, LevenbergMarquardt(), max_steps=2)


def test_complex_parameters_descend():
    fn = lambda z: jnp.abs(z - (3 - 4j)) ** 2
    run = minimise(fn, jnp.zeros((), complex), FromOptax(optax.sgd(0.1)), max_steps=100)
    np.testing.assert_allclose(run.params, 3 - 4j, rtol=1e-6)


def test_lbfgs_converges_and_reuses_the_last_evaluation_of_its_search():
    start = jnp.asarray(np.random.default_rng(0).uniform(-2, 2, 10))
    run = minimise(rosenbrock, start, lbfgs(), max_steps=300, gradient_tolerance=1e-8)
    assert run.status == Status.converged
    assert np.linalg.norm(jax.grad(rosenbrock)(run.params)) <= 1e-8
    assert run.num_evaluations < 2.5 * run.num_steps


def test_lbfgs_forgets_the_loss_of_an_old_objective():
    optimizer, fn = lbfgs(), lambda x, scale: scale * rosenbrock(x)
    old, new = (Objective(fn, (jnp.asarray(c),)) for c in (1.0, 100.0))
    state = optimizer.init(old, START)
    params, state, _ = advance(optimizer, old, START, state, 3)
    state = optimizer.objective_changed(new, params, state)
    *_, steps = advance(optimizer, new, params, state, 1, capacity=3)
    np.testing.assert_allclose(steps.values[0], new.value(params), rtol=1e-12)


def test_lbfgs_descends_in_complex_parameters():
    weight = jnp.array([1.0, 5.0])
    fn = lambda z: jnp.sum(weight * jnp.abs(z - (3 - 4j)) ** 2)
    run = minimise(fn, jnp.zeros(2, complex), lbfgs(), max_steps=20)
    np.testing.assert_allclose(run.params, [3 - 4j] * 2, rtol=1e-9)


def test_parameters_may_be_called_anything():
    start = {"value": jnp.ones(2), "grad": jnp.ones(1), "info": jnp.zeros(1)}
    fn = lambda p: jnp.sum((p["value"] - 2) ** 2 + p["grad"] ** 2 + p["info"] ** 2)
    for optimizer in (lbfgs(), FromOptax(optax.adam(0.1))):
        run = minimise(fn, start, optimizer, max_steps=20)
        assert run.num_steps > 1 and run.loss < fn(start)


@pytest.mark.parametrize(
    "transform",
    [
        optax.adam(optax.warmup_cosine_decay_schedule(0.0, 0.1, 5, 40)),
        optax.MultiSteps(optax.adam(0.1), 4),
    ],
    ids=["warm-up", "accumulation"],
)
def test_an_update_of_zero_is_not_the_end(transform):
    run = minimise(rosenbrock, START, FromOptax(transform), max_steps=20)
    assert run.num_steps == 20 and run.loss < rosenbrock(START)


def test_a_resumed_lbfgs_run_is_the_unbroken_run(tmp_path):
    optimizer = lbfgs()
    go = lambda params, steps, state=None: minimise(
        rosenbrock, params, optimizer, max_steps=steps, state=state
    )
    whole, first = go(START, 9), go(START, 4)
    eqx.tree_serialise_leaves(tmp_path / "run.eqx", (first.params, first.state))
    blank = START, optimizer.init(Objective(rosenbrock), START)
    params, state = eqx.tree_deserialise_leaves(tmp_path / "run.eqx", blank)
    rest = go(params, 5, state)
    np.testing.assert_array_equal(rest.params, whole.params)


def test_a_loss_that_is_not_finite_changes_nothing():
    run = minimise(lambda x: jnp.sum(jnp.log(x)), START, ADAM, max_steps=20)
    assert run.status == Status.nonfinite_objective and run.num_steps == 1
    np.testing.assert_array_equal(run.params, START)
    assert int(optax.tree.get(run.state, "count")) == 0


# Sequences.


def staged(until):
    return Sequence(Stage(ADAM, until), SECOND)


def test_a_sequence_is_its_parts_one_after_another():
    run = minimise(rosenbrock, START, staged(AfterSteps(25)), max_steps=40)
    first = minimise(rosenbrock, START, ADAM, max_steps=25)
    second = minimise(rosenbrock, first.params, SECOND, max_steps=15)
    np.testing.assert_allclose(run.params, second.params, rtol=1e-6)
    joined = np.concatenate([first.values, second.values])
    np.testing.assert_allclose(run.values, joined, rtol=1e-6)
    assert run.num_steps == 40 and run.state.stage == 1


def test_stages_end_by_loss_or_by_stall():
    run = minimise(rosenbrock, START, staged(BelowLoss(4.1)), max_steps=200)
    switched = int(np.argmax(run.values <= 4.1))
    assert run.state.stage == 1 and 0 < switched < 200
    alone = minimise(rosenbrock, START, ADAM, max_steps=switched + 1)
    np.testing.assert_allclose(run.values[: switched + 1], alone.values, rtol=1e-12)
    flat = lambda x: jnp.sum(x**2) + 1.0  # Adam crawls, never a tenth lower
    run = minimise(flat, START * 1e-3, staged(OnStall(7, 0.1)), max_steps=20)
    assert run.state.stage == 1
    assert run.loss == 1.0


def test_a_stage_that_is_stuck_ends():
    kink = lambda x: jnp.sum(jnp.where(x > 0.1, x - 0.1, 0.2 - 2 * x))
    first = Stage(QuasiNewton(search=Backtracking()), AfterSteps(1000))
    run = minimise(kink, START, Sequence(first, ADAM), max_steps=300)
    assert run.state.stage == 1 and run.num_steps == 300


def test_stalls_are_seen_in_negative_losses():
    switch, states = OnStall(3, 0.1), []
    state = switch.init()
    for value in (-10.0, -9.0, -8.0, -7.0):
        info = optim.FromOptaxInfo(
            jnp.asarray(value),
            jnp.asarray(1.0),
            jnp.asarray(1, jnp.int32),
            jnp.asarray(False),
            Status.ok,
        )
        state = switch.update(state, info)
        states.append(bool(switch.is_over(state)))
    assert states == [False, False, False, True]
    assert not switch.is_over(
        switch.update(state, eqx.tree_at(_value, info, jnp.asarray(-12.0)))
    )


def _value(info):
    return info.value


def test_advance_goes_from_stage_to_stage():
    optimizer, objective = staged(AfterSteps(3)), Objective(rosenbrock)
    params, state = START, optimizer.init(objective, START)
    counts = []
    for _ in range(3):
        params, state, steps = advance(optimizer, objective, params, state, 5)
        counts.append(int(steps.num_steps))
    assert counts == [3, 5, 5] and state.stage == 1


def test_a_sequence_is_resumed_within_any_stage(tmp_path):
    optimizer, objective = staged(AfterSteps(5)), Objective(rosenbrock)
    whole = minimise(rosenbrock, START, optimizer, max_steps=12)
    for pause in (3, 5, 8):
        first = minimise(rosenbrock, START, optimizer, max_steps=pause)
        saved = first.params, first.state
        eqx.tree_serialise_leaves(tmp_path / "run.eqx", saved)
        like = START, optimizer.init_stage(first.state.stage, objective, START)
        params, state = eqx.tree_deserialise_leaves(tmp_path / "run.eqx", like)
        rest = minimise(
            rosenbrock, params, optimizer, max_steps=12 - pause, state=state
        )
        np.testing.assert_array_equal(rest.params, whole.params)


def test_least_squares_work_in_all_stages():
    valley = lambda x: jnp.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])
    optimizer = Sequence(Stage(ADAM, AfterSteps(5)), LevenbergMarquardt())
    assert optimizer.needs_residuals
    run = minimise(valley, START, optimizer, max_steps=40, target_loss=1e-20)
    assert run.status == Status.target_reached
    np.testing.assert_allclose(run.params, 1, rtol=1e-8)


def test_a_new_objective_reaches_the_current_stage():
    optimizer, fn = staged(AfterSteps(3)), lambda x, scale: scale * rosenbrock(x)
    run = minimise(fn, START, optimizer, args=(jnp.asarray(1.0),), max_steps=8)
    new = Objective(fn, (jnp.asarray(10.0),))
    changed = optimizer.objective_changed(new, run.params, run.state)
    np.testing.assert_allclose(
        changed.optimizer.value, new.value(run.params), rtol=1e-12
    )


# The driver.


def test_a_callback_sees_progress_and_can_stop():
    seen = []

    def callback(progress):
        seen.append(progress.num_steps)
        return progress.num_steps >= 20

    run = minimise(
        rosenbrock, START, ADAM, max_steps=1000, steps_per_call=10, callback=callback
    )
    assert seen == [10, 20] and run.status == Status.interrupted
    assert run.num_steps == 20


def test_an_interrupt_keeps_what_was_reached():
    def interrupt(progress):
        if progress.num_steps == 20:
            raise KeyboardInterrupt

    go = lambda params, steps, **more: minimise(
        rosenbrock, params, ADAM, max_steps=steps, steps_per_call=10, **more
    )
    first = go(START, 1000, callback=interrupt)
    assert first.status == Status.interrupted and first.num_steps == 20
    rest = go(first.params, 10, state=first.state)
    np.testing.assert_array_equal(rest.params, go(START, 30).params)


def test_a_callback_may_return_an_array():
    run = minimise(
        rosenbrock,
        START,
        ADAM,
        max_steps=100,
        steps_per_call=10,
        callback=lambda progress: progress.info.value < 1e9,
    )
    assert run.status == Status.interrupted and run.num_steps == 10


def test_an_interrupt_of_the_python_loop_keeps_earlier_steps(monkeypatch):
    valley = lambda x: jnp.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])
    num_calls, assemble = 0, optim.HostCholesky.assemble

    def interrupted(self, *args):
        nonlocal num_calls
        num_calls += 1
        if num_calls == 4:
            raise KeyboardInterrupt
        return assemble(self, *args)

    monkeypatch.setattr(optim.HostCholesky, "assemble", interrupted)
    optimizer = LevenbergMarquardt(solver=optim.HostCholesky())
    run = minimise(valley, START, optimizer, max_steps=50)
    assert run.status == Status.interrupted and run.num_steps == 3
    assert run.loss < rosenbrock(START) / 2


def test_stopping_for_an_old_gradient_undoes_the_step():
    """SGD reports the gradient before a step: the parameters there are the result."""
    fn = lambda x: jnp.sum((x - 1) ** 2)
    run = minimise(
        fn, START, FromOptax(optax.sgd(0.3)), max_steps=200, gradient_tolerance=1e-3
    )
    assert run.status == Status.converged
    assert 1e-4 < np.linalg.norm(jax.grad(fn)(run.params)) <= 1e-3
    np.testing.assert_allclose(run.values[-1], run.loss, rtol=1e-12)


def test_no_steps_only_evaluate():
    run = minimise(rosenbrock, START, ADAM, max_steps=0)
    assert run.num_steps == 0
    np.testing.assert_allclose(run.loss, rosenbrock(START), rtol=1e-14)
    assert run.status == Status.num_steps_reached and run.values.shape == (0,)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FromOptax(1e-3), "optax transform"),
        (lambda: lbfgs(memory=0), "memory"),
        (lambda: Sequence(), "last of `stages`"),
        (lambda: Sequence(ADAM, ADAM), "Stage"),
        (lambda: AfterSteps(0), "num_steps"),
        (lambda: OnStall(decrease=2.0), "decrease"),
        (lambda: staged(AfterSteps(1)).init_stage(3, None, None), "stage"),
        (lambda: minimise(rosenbrock, START, ADAM, max_steps=-1), "max_steps"),
        (
            lambda: minimise(rosenbrock, START, ADAM, max_steps=1, steps_per_call=0),
            "steps_per_call",
        ),
        (lambda: minimise({}, START, ADAM, max_steps=1), "fn"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


# Every optimizer, found by looking.

CASES = {  # settings that suit the small problems below, or that have no default
    "Adam": optim.Adam(0.05),
    "FromOptax": FromOptax(optax.adam(0.05)),
    "QuasiNewton": SECOND,
    "Sequence": Sequence(Stage(FromOptax(optax.adam(0.05)), AfterSteps(30)), lbfgs()),
}
FOUND = concrete("vrba.optim", optim.AbstractOptimizer)
OPTIMIZERS = {
    cls.__name__: CASES[cls.__name__] if cls.__name__ in CASES else cls()
    for cls in FOUND
}


KNOWN = CASES.keys() | {"LevenbergMarquardt"}  # a new one need only descend


def test_optimizers_are_found_by_looking():
    assert OPTIMIZERS.keys() >= KNOWN


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_every_optimizer_lowers_a_loss_by_step_and_by_loop(name):
    optimizer = OPTIMIZERS[name]
    residual = lambda params: jnp.append(params["a"] - 1.0, 3 * params["b"][0] ** 2)
    loss = lambda params: jnp.mean(residual(params) ** 2)
    start = to_jax_arrays({"a": np.zeros(2), "b": (np.ones(1), "kept")})
    fn = residual if optimizer.needs_residuals else loss
    run = minimise(fn, start, optimizer, max_steps=25)
    assert run.loss < (0.5 if name in KNOWN else 1.0) * loss(start)
    assert run.params["b"][1] == "kept"
    objective = optim.as_objective(fn, (), optimizer)
    params, state = start, optimizer.init(objective, start)
    step = optimizer.step
    step = eqx.filter_jit(step) if optimizer.is_compiled(state) else step
    for _ in range(3):
        before = params
        params, state, info = step(objective, params, state)
        at = before if info.value_is_old else params
        np.testing.assert_allclose(info.value, loss(at), rtol=1e-9)
        at = before if info.gradient_is_old else params
        gradient = flatten_gradient(eqx.filter_grad(loss)(at))
        np.testing.assert_allclose(
            info.gradient_norm, np.linalg.norm(gradient), rtol=1e-6
        )
    assert not bool(info.is_stuck) and info.status == Status.ok
    assert int(StoppingCriteria().status(info) == Status.ok)


SCHEDULES = {
    "decaying": (optim.Decaying(0.5, 4), optax.exponential_decay(0.1, 4, 0.5)),
    "cosine": (optim.Cosine(7), optax.cosine_decay_schedule(0.1, 7)),
}


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("name", SCHEDULES)
def test_adam_is_optax_with_a_schedule(name, l2):
    loss = lambda x: jnp.sum(jnp.cos(x) + 0.1 * x**2)
    start, (schedule, rate) = jnp.array([0.5, 2.0]), SCHEDULES[name]
    found = minimise(loss, start, optim.Adam(0.1, schedule, l2), max_steps=9)
    transform, params = optax.adam(rate), start
    state = transform.init(params)
    with jax.numpy_dtype_promotion("standard"):
        for _ in range(9):
            gradient = jax.grad(loss)(params) + l2 * params
            updates, state = transform.update(gradient, state)
            params = optax.apply_updates(params, updates)
    np.testing.assert_allclose(found.params, params, rtol=1e-14)


def test_settings_of_adam_are_checked():
    with pytest.raises(ValueError, match="`learning_rate` must be positive"):
        optim.Adam(0.0)
    with pytest.raises(ValueError, match="`l2` must not be negative or infinite"):
        optim.Adam(l2=-1.0)
    with pytest.raises(ValueError, match="`num_steps`"):
        optim.Cosine(0)


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_every_optimizer_works_in_float32(name):
    optimizer = OPTIMIZERS[name]
    start = jnp.array([0.0, 0.5], jnp.float32)
    residual = lambda x: jnp.stack([x[0] - 1, 3 * x[1] ** 2])
    fn = residual if optimizer.needs_residuals else lambda x: jnp.mean(residual(x) ** 2)
    run = minimise(fn, start, optimizer, max_steps=40)
    assert run.params.dtype == run.loss.dtype == run.values.dtype == jnp.float32
    assert run.loss < (0.1 if name in KNOWN else 1.0) * jnp.mean(residual(start) ** 2)


def test_flatten_can_be_inverted():
    tree = {"w": np.ones((2, 3)), "z": np.array([1 + 2j, 3 - 4j]), "n": 5, "f": abs}
    vector, rebuild = flatten(tree)
    np.testing.assert_array_equal(vector, [1, 3, 2, -4, *[1] * 6][4:] + [1, 3, 2, -4])
    back = rebuild(2 * vector)
    np.testing.assert_array_equal(back["z"], 2 * tree["z"])
    np.testing.assert_array_equal(back["w"], 2 * tree["w"])
    assert back["n"] == 5 and back["f"] is abs
