"""Operators: rows, losses, batches, and runs that can be stopped."""

import dataclasses
import signal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import vrba
from vrba import adapt, data
from vrba.operators import (
    DataLayout,
    Drawn,
    Epochs,
    MeanSquare,
    OperatorRecipe,
    OperatorTrainer,
    Relative,
    Samples,
    Scaling,
    Sobolev,
    fingerprint,
    is_same_data,
    relative_errors,
    train_operator,
)
from vrba.runs import AbstractCallback, Silent

pytestmark = pytest.mark.xdist_group("operators")


class Net(eqx.Module):
    """A small network of one's own: `sum_k branch_k(f) trunk_k(x)`."""

    branch: jax.Array
    trunk: jax.Array
    shift: jax.Array

    def __call__(self, function, places):
        modes = jnp.tanh(places @ self.trunk + self.shift[None])
        return modes @ (self.branch @ function)


def net(seed=0, num_in=12, dim=1, width=8):
    keys = jax.random.split(jax.random.key(seed), 3)
    normal = lambda key, *shape: jax.random.normal(key, shape, jnp.float64)
    return Net(
        normal(keys[0], width, num_in) / num_in**0.5,
        normal(keys[1], dim, width),
        normal(keys[2], width),
    )


def integrals(num_funcs=30, num_points=12):
    """Random sums of sines and their integrals from zero."""
    random = np.random.default_rng(0)
    x = np.linspace(0, 1, num_points)
    waves = np.arange(1, 4) * np.pi
    sizes = random.normal(size=(num_funcs, 3)) * 10.0 ** random.uniform(
        -1, 1, (num_funcs, 1)
    )
    inputs = sizes @ np.sin(waves[:, None] * x)
    outputs = sizes @ ((1 - np.cos(waves[:, None] * x)) / waves[:, None])
    counts = (num_funcs - 10, 5, 5)
    return data.Pairs(
        inputs[..., None], outputs[..., None], ("x",), (x,), None, *counts
    )


def recipe(**settings):
    usual = {
        "optimizer": vrba.optim.Adam(1e-2),
        "batch_size": 5,
        "max_steps": 20,
        "check_every": 5,
        "dtype": "float64",
    }
    return OperatorRecipe(net(), **(usual | settings))


UNIFORM = {"policy": adapt.presets.uniform(), "batches": Epochs()}
ARMS = {
    "uniform": UNIFORM,
    "quadratic": {"policy": adapt.Hybrid(adapt.Quadratic())},
    "weighed in epochs": {
        "policy": adapt.Hybrid(adapt.Exponential()),
        "batches": Epochs(),
    },
    "by function": {"policy": adapt.presets.rad(), "batches": Drawn()},
}


def same(first, second):
    """Bit for bit."""
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


class Stop(AbstractCallback):
    """Ctrl-C at the first check."""

    def on_start(self, plan):
        pass

    def on_check(self, entry, seconds_left):
        if entry["step"] == 5:
            signal.raise_signal(signal.SIGINT)

    def on_end(self, sentence):
        pass


def killed(*arguments):
    raise KeyboardInterrupt


def worse(trainer, state, num_steps, advance=OperatorTrainer.advance):
    """Steps that end far from where they should."""
    state, info = advance(trainer, state, num_steps)
    far = jax.tree.map(lambda leaf: leaf + 1, state.params)
    return eqx.tree_at(lambda s: s.params, state, far), info


@pytest.mark.parametrize("name", ARMS)
def test_a_resumed_run_is_the_unbroken_run(name, tmp_path):
    pairs, settings = integrals(), recipe(**ARMS[name])
    given, quiet = (pairs, settings, 3), {"callback": Silent()}
    whole = train_operator(*given, run=tmp_path / "whole", **quiet)
    broken = train_operator(*given, run=tmp_path / "broken", callback=Stop())
    assert broken.result["step"] == 5
    again = train_operator(*given, run=tmp_path / "broken", resume=True, **quiet)
    assert same(whole.last_params, again.last_params)
    assert same(whole.params, again.params)
    load = lambda name: np.load(tmp_path / name / "checkpoint" / "latest.npz")
    first, second = load("whole"), load("broken")
    leaves = [key for key in first if key != "header"]
    assert len(leaves) > 10
    for key in leaves:  # the policy's weights and the sampler's state among them
        np.testing.assert_array_equal(first[key], second[key])
    assert [e["error"] for e in whole.record] == [e["error"] for e in again.record]
    assert again.result["errors"] == whole.result["errors"]


def test_an_end_that_was_the_best_is_not_lost(tmp_path, monkeypatch):
    """Only the end has looked at it: not when a resumed run is killed at once, nor when
    what comes is worse."""
    pairs, settings = integrals(), recipe(**UNIFORM, max_steps=7)
    longer = dataclasses.replace(settings, max_steps=20)
    quiet = {"run": tmp_path / "run", "callback": Silent()}
    ended = train_operator(pairs, settings, 3, **quiet)
    assert ended.result["selected_step"] == 7
    with monkeypatch.context() as patch:
        patch.setattr(OperatorTrainer, "advance", killed)
        with pytest.raises(KeyboardInterrupt):
            train_operator(pairs, longer, 3, resume=True, **quiet)
    loaded = vrba.Operator.load(tmp_path / "run", settings)
    assert same(loaded.params, ended.params) and loaded.result["errors"]
    with monkeypatch.context() as patch:
        patch.setattr(OperatorTrainer, "advance", worse)
        again = train_operator(pairs, longer, 3, resume=True, **quiet)
    assert same(again.params, ended.params) and again.result["selected_step"] == 7
    assert again.result["last_score"] > again.result["score"] == ended.result["score"]


def test_another_recipe_seed_or_data_cannot_go_on(tmp_path):
    pairs, settings = integrals(), recipe(**UNIFORM)
    quiet = {"run": tmp_path / "run", "callback": Silent()}
    train_operator(pairs, settings, 3, **quiet)
    with pytest.raises(ValueError, match="already holds a run"):
        train_operator(pairs, settings, 3, **quiet)
    with pytest.raises(ValueError, match="another `seed`"):
        train_operator(pairs, settings, 4, resume=True, **quiet)
    other = dataclasses.replace(settings, batch_size=4)
    with pytest.raises(ValueError, match="another `recipe`"):
        train_operator(pairs, other, 3, resume=True, **quiet)
    with pytest.raises(ValueError, match="another `data`"):
        train_operator(integrals(40), settings, 3, resume=True, **quiet)
    for row in (-1, -6):  # a function to test with, and one to choose by
        outputs = np.array(pairs.outputs)
        outputs[row] *= 2
        with pytest.raises(ValueError, match="another `data`"):
            given = dataclasses.replace(pairs, outputs=outputs)
            train_operator(given, settings, 3, resume=True, **quiet)


def test_data_are_told_by_their_numbers_not_by_their_name():
    pairs = integrals()
    first, second = fingerprint(pairs, "a.h5"), fingerprint(pairs, "b.h5")
    assert first["name"] != second["name"] and is_same_data(first, second)
    older = {key: part for key, part in first.items() if key != "held_out"}
    assert is_same_data(older, second)
    assert not is_same_data(first, fingerprint(integrals(40), "a.h5"))


def test_uniform_epochs_are_plain_adam():
    """Against a loop written out with optax, batch after batch."""
    pairs = integrals()
    settings = recipe(**(UNIFORM | {"batches": Epochs(shuffles=False)}))
    trainer = OperatorTrainer(pairs, settings, 0)
    state = trainer.init()
    for _ in range(3):  # epochs of four steps, and one step
        state, _ = trainer.advance(trainer.resample(state), 4)
    inputs, outputs = pairs.load("train")
    x = (pairs.places - pairs.places.mean()) / pairs.places.std()
    scaled = [(a - a.mean()) / a.std() for a in (inputs, outputs)]
    rate = optax.exponential_decay(1e-2, 5000, 0.9)
    adam, params = optax.adam(rate), net()
    moments = adam.init(params)

    def loss(network, rows):
        found = jnp.stack([network(f, x) for f in scaled[0][rows]])
        return jnp.mean((found - scaled[1][rows]) ** 2)

    with jax.numpy_dtype_promotion("standard"):
        for k in range(12):
            rows = slice(5 * (k % 4), 5 * (k % 4) + 5)
            gradient = jax.grad(loss)(params, rows)
            update, moments = adam.update(gradient, moments)
            params = optax.apply_updates(params, update)
    for got, expected in zip(
        jax.tree.leaves(state.params), jax.tree.leaves(params), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_the_weighed_loss_is_that_of_the_policy():
    """A step of the quadratic tilt against the policy called by hand."""
    pairs = integrals()
    policy = adapt.Hybrid(adapt.Quadratic())
    settings = recipe(policy=policy, batches=Epochs(shuffles=False))
    trainer = OperatorTrainer(pairs, settings, 0)
    begun = trainer.resample(trainer.init())
    state, steps = trainer.advance(begun, 1)
    ids = jnp.arange(5, dtype=jnp.int32)
    functions, places, targets = trainer.train.take(ids)
    residual = jax.vmap(net(), (0, None))(functions, places) - targets
    after = policy.update(policy.init((20, 12), dtype="float64"), residual, ids)
    np.testing.assert_allclose(
        steps.info.value, policy.loss(after, residual, ids), rtol=1e-12
    )
    np.testing.assert_allclose(state.policy.weight, after.weight, rtol=1e-12)
    assert not np.allclose(after.weight[:5], after.weight[5:10])


def test_no_function_twice_in_a_batch_and_hard_ones_more_often():
    pairs = integrals()
    settings = recipe(policy=adapt.Hybrid(adapt.Quadratic()), resample_every=1)
    trainer = OperatorTrainer(pairs, settings, 0)
    mass = jnp.ones(20).at[3].set(60.0)
    count = np.zeros(20)
    drawn = settings.batches.ids(settings.policy, mass, 200, 5, key=jax.random.key(0))
    for ids in np.asarray(drawn):
        assert len(set(ids)) == 5
        count[ids] += 1
    assert count[3] > 190 and np.all(count[np.arange(20) != 3] < 90)
    assert trainer.resample_every == 1


def test_an_epoch_has_every_function_once():
    policy, mass, key = adapt.presets.uniform(), jnp.ones(20), jax.random.key(1)
    ids = np.asarray(Epochs().ids(policy, mass, 4, 5, key=key)).ravel()
    assert sorted(ids) == list(range(20))
    assert not np.array_equal(ids, np.arange(20))
    ids = Epochs(shuffles=False).ids(policy, mass, 3, 6, key=key)
    np.testing.assert_array_equal(ids, np.arange(18).reshape(3, 6))


def test_errors_are_those_of_numpy():
    pairs = integrals()
    operator = train_operator(pairs, recipe(), callback=Silent())
    inputs, outputs = pairs.load("test")
    miss = np.asarray(operator(inputs)) - outputs
    mean = pairs.load("train")[1].mean()
    expected = np.linalg.norm(miss[..., 0], axis=1) / np.linalg.norm(
        outputs[..., 0] - mean, axis=1
    )
    np.testing.assert_allclose(operator.errors(pairs), expected, rtol=1e-8)
    found = operator.result["errors"]
    assert found["p50"] == pytest.approx(np.median(expected))
    assert found["max"] == pytest.approx(np.max(expected))


def test_architectures_are_built_for_the_data():
    """From the seed: the same for every arm, another for another seed."""
    small = vrba.MLP(6, 1)
    settings = dataclasses.replace(
        recipe(**UNIFORM), model=vrba.DeepONet(branch=small, trunk=small, latent=4)
    )
    made = [
        OperatorTrainer(integrals(), settings, seed).initial_params()
        for seed in (0, 0, 1)
    ]
    assert same(made[0], made[1]) and not same(made[0], made[2])
    operator = train_operator(integrals(), settings, callback=Silent())
    errors = [entry["error"] for entry in operator.record]
    assert errors[-1] < errors[0]
    assert operator(np.zeros((2, 12))).shape == (2, 12, 1)


def test_times_can_be_split():
    random = np.random.default_rng(1)
    axes = (np.linspace(0, 1, 3), np.linspace(0, 2, 4))
    outputs = random.normal(size=(6, 3, 4, 2))
    pairs = data.Pairs(
        random.normal(size=(6, 3, 1)), outputs, ("x", "t"), axes, None, 4, 1, 1
    )
    scaling = Scaling.from_pairs(pairs, "float64")
    rows = Samples.from_pairs(
        pairs, "train", DataLayout.from_pairs(pairs, scaling, "t")
    )
    assert rows.num_rows == 16
    functions, places, targets = rows.take(jnp.asarray([6, 9]))
    np.testing.assert_allclose(
        scaling.unscaled_outputs(targets[0]), outputs[1, :, 2], rtol=1e-12
    )
    np.testing.assert_allclose(
        scaling.unscaled_outputs(targets[1]), outputs[2, :, 1], rtol=1e-12
    )
    seen = [(axis - axis.mean()) / axis.std() for axis in axes]
    np.testing.assert_allclose(places[0, :, 1], seen[1][2], rtol=1e-12)
    np.testing.assert_allclose(places[0, :, 0], seen[0], atol=1e-12)
    whole = Samples.from_pairs(
        pairs, "train", DataLayout.from_pairs(pairs, scaling, None)
    )
    np.testing.assert_allclose(functions[1], whole.inputs[2])


def test_losses_agree_with_numpy():
    random = np.random.default_rng(2)
    predicted, target = jnp.asarray(random.normal(size=(2, 3, 6, 1)))
    weight = random.uniform(0.5, 2, (3, 6))
    gaps = (0.2,)
    loss = lambda loss_fn: float(
        loss_fn.loss(jnp.asarray(weight), loss_fn.residual(predicted, target, gaps))
    )
    miss = weight * (predicted - target)[..., 0]
    assert loss(MeanSquare()) == pytest.approx(np.mean(miss**2))
    size = np.linalg.norm(target[..., 0], axis=1)
    relative = np.linalg.norm(miss, axis=1) / size
    assert loss(Relative()) == pytest.approx(np.mean(relative))
    slope = lambda field: np.gradient(field[..., 0], 0.2, axis=1)
    missed = weight * (slope(predicted) - slope(target))
    top = np.sum(miss**2 + missed**2, axis=1)
    bottom = np.sum(target[..., 0] ** 2 + slope(target) ** 2, axis=1)
    assert loss(Sobolev()) == pytest.approx(np.mean(np.sqrt(top / bottom)))
    with pytest.raises(ValueError, match="regular grid"):
        Sobolev().residual(predicted, target, None)


def test_uneven_points_weigh_by_their_share():
    """The mean square over uneven points is an integral, to the accuracy of it."""
    axis = np.array([0.0, 0.02, 0.05, 0.3, 1.0])
    random = np.random.default_rng(3)
    pairs = data.Pairs(
        random.normal(size=(8, 12, 1)),
        random.normal(size=(8, 5, 1)),
        ("x",),
        (axis,),
        None,
        6,
        1,
        1,
    )
    for policy in (adapt.Hybrid(adapt.Linear()), adapt.presets.uniform()):
        settings = recipe(policy=policy, batch_size=6)
        trainer = OperatorTrainer(pairs, settings, 0)
        state = trainer.resample(trainer.init())
        _, steps = trainer.advance(state, 1)
        rows = trainer.train
        found = jax.vmap(net(), (0, None))(rows.inputs, rows.layout.places)
        squares = np.asarray(found - rows.targets)[..., 0] ** 2
        expected = np.mean(np.trapezoid(squares, axis, axis=1))
        assert float(steps.info.value) == pytest.approx(expected, rel=1e-9)
    size = np.trapezoid(np.asarray(rows.targets)[..., 0] ** 2, axis, axis=1)
    errors = relative_errors(net(), rows, 4)
    ratios = np.trapezoid(squares, axis, axis=1) / size
    np.testing.assert_allclose(errors, np.sqrt(ratios), rtol=1e-9)


def test_a_constant_channel_stays_constant():
    """Also where its mean cannot be written in single precision."""
    random = np.random.default_rng(4)
    inputs = np.stack([np.full((8, 12), 0.1), random.normal(size=(8, 12))], axis=-1)
    pairs = data.Pairs(
        inputs,
        random.normal(size=(8, 5, 1)),
        ("x",),
        (np.arange(5.0),),
        None,
        6,
        1,
        1,
    )
    scaling = Scaling.from_pairs(pairs, "float32")
    seen = np.asarray(scaling.inputs(inputs))
    assert np.max(np.abs(seen[..., 0])) < 1e-7 and np.std(seen[:6, ..., 1]) > 0.9


def test_training_ends_early_without_improvement():
    """At a rate that only makes things worse."""
    worse = {"optimizer": vrba.optim.Adam(10.0), "max_steps": 500}
    settings = recipe(**worse, patience=3)
    operator = train_operator(integrals(), settings, callback=Silent())
    assert operator.result["step"] < 500
    assert operator.result["stop_reason"] == "no_improvement"


def test_training_compiles_once():
    pairs = integrals()
    count = [0]

    class Counted(eqx.Module):
        inner: Net

        def __call__(self, function, places):
            count[0] += 1
            return self.inner(function, places)

    settings = dataclasses.replace(recipe(), model=Counted(net()))
    trainer = OperatorTrainer(pairs, settings, 0)
    state = trainer.resample(trainer.init())
    state, _ = trainer.advance(state, 1)
    traced = count[0]
    for num_steps in (2, 3, 4):
        state, _ = trainer.advance(trainer.resample(state), num_steps)
    assert count[0] == traced


def test_it_works_as_in_the_docs(capsys):
    """Single precision, lines on standard error, times split; a call has the axes of
    the data."""
    random = np.random.default_rng(1)
    axes = (np.linspace(0, 1, 3), np.linspace(0, 2, 4))
    pairs = data.Pairs(
        100 + random.normal(size=(12, 3, 1)),
        5000 + random.normal(size=(12, 3, 4, 1)),
        ("x", "t"),
        axes,
        None,
        8,
        2,
        2,
    )
    small = vrba.MLP(6, 1)
    model = vrba.DeepONet(branch=small, trunk=small, latent=4)
    usual = {"batch_size": 4, "max_steps": 20, "check_every": 10}
    operator = train_operator(pairs, OperatorRecipe(model, split_axis="t", **usual))
    told = capsys.readouterr().err
    assert "batches of 4 of 32 samples" in told and "step     20" in told
    assert {leaf.dtype for leaf in jax.tree.leaves(operator.params)} == {
        np.dtype("float32")
    }
    inputs, outputs = pairs.load("test")
    found = operator(inputs)
    assert found.shape == outputs.shape
    mean = np.float32(pairs.load("train")[1].mean()).astype(float)  # as it is kept
    miss = np.sqrt(np.sum((found - outputs) ** 2, axis=(1, 2, 3)))
    size = np.sqrt(np.sum((outputs - mean) ** 2, axis=(1, 2, 3)))
    errors = operator.errors(pairs)
    np.testing.assert_allclose(errors, miss / size, rtol=1e-5)
    raw = miss / np.sqrt(np.sum(outputs**2, axis=(1, 2, 3)))
    assert operator.result["errors"]["raw"] == pytest.approx(np.mean(raw), rel=1e-5)
    known = operator.errors(pairs, "train")[: pairs.num_test]
    train = operator.result["errors"]["train"]
    assert train == pytest.approx(np.mean(known), rel=1e-5)


def test_a_loss_that_is_not_finite_ends_the_run():
    """Single precision, at a rate whose square it cannot hold."""
    small = vrba.MLP(6, 1)
    settings = dataclasses.replace(
        recipe(optimizer=vrba.optim.Adam(1e25), dtype="float32"),
        model=vrba.DeepONet(branch=small, trunk=small, latent=4),
    )
    operator = train_operator(integrals(), settings, callback=Silent())
    assert operator.result["stop_reason"] == "not_finite"
    assert operator.result["status"] == "diverged"
    assert operator.result["step"] < 20


MISTAKES = {
    "`batch_size` is 21, more than the 20 samples": {"batch_size": 21},
    "learning rate is zero from step 9": {
        "optimizer": vrba.optim.Adam(schedule=vrba.optim.Cosine(9))
    },
    "only the weights of `Hybrid` have gradients": {
        "policy": adapt.presets.uniform(),
        "detach_weights": False,
    },
    "`split_axis` is 't', but the coordinates": {"split_axis": "t"},
    "`dtype` must be": {"dtype": "float16"},
    "`optimizer` is LevenbergMarquardt": {"optimizer": vrba.optim.LevenbergMarquardt()},
    "`optimizer` is Sequence": {
        "optimizer": vrba.optim.Sequence(
            vrba.optim.Stage(vrba.optim.Adam(), vrba.optim.AfterSteps(3)),
            vrba.optim.Adam(),
        )
    },
    "without a line search": {"optimizer": vrba.optim.QuasiNewton()},
    "`batch_size` must divide the 20 samples": {
        "batches": Epochs(shuffles=False),
        "batch_size": 6,
    },
    "`resample_every` is 2, but with `Epochs`": {
        "batches": Epochs(),
        "resample_every": 2,
    },
    "`policy` has a `correction`": {
        "policy": adapt.presets.vrba_sampling(correction=adapt.Unbiased())
    },
    "FirstPowerLoss, which is not a mean of squares": {
        "policy": adapt.Hybrid(adapt.Quadratic(), objective=adapt.FirstPowerLoss())
    },
}


def test_draws_that_are_not_corrected_are_taken():
    policy = adapt.presets.vrba_sampling(correction=adapt.Unbiased(0))
    assert (
        OperatorTrainer(integrals(), recipe(policy=policy), 0).recipe.policy == policy
    )


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_told(message):
    with pytest.raises(ValueError, match=message):
        OperatorTrainer(integrals(), recipe(**MISTAKES[message]), 0).init()


def test_a_search_of_lines_is_refused():
    trainer = OperatorTrainer(integrals(), recipe(optimizer=vrba.optim.lbfgs()), 0)
    with pytest.raises(ValueError, match="without a line search"):
        trainer.advance(trainer.resample(trainer.init()), 1)


def test_parts_must_be_there_and_finite():
    pairs = integrals()
    none = dataclasses.replace(pairs, num_valid=0)
    with pytest.raises(ValueError, match="no functions in the part `valid`"):
        OperatorTrainer(none, recipe(), 0)
    with pytest.raises(ValueError, match="no functions in the part `test`"):
        train_operator(dataclasses.replace(pairs, num_test=0), recipe())
    outputs = pairs.outputs.copy()
    outputs[22, 3] = np.nan
    with pytest.raises(ValueError, match="outputs of the part `valid` are not finite"):
        OperatorTrainer(dataclasses.replace(pairs, outputs=outputs), recipe(), 0)


@pytest.mark.parametrize("detach_weights", [True, False])
def test_weights_are_constants_only_if_they_are_detached(detach_weights):
    """The step of plain gradient descent, against the loss differentiated by hand."""
    pairs, policy = integrals(), adapt.Hybrid(adapt.Quadratic())
    descent = vrba.optim.FromOptax(optax.sgd(1.0))
    settings = recipe(
        policy=policy,
        batches=Epochs(shuffles=False),
        optimizer=descent,
        detach_weights=detach_weights,
    )
    trainer = OperatorTrainer(pairs, settings, 0)
    state, _ = trainer.advance(trainer.resample(trainer.init()), 1)
    ids, begun = jnp.arange(5, dtype=jnp.int32), net()
    functions, places, targets = trainer.train.take(ids)

    def loss(network):
        residual = jax.vmap(network, (0, None))(functions, places) - targets
        size = jnp.abs(residual[..., 0])
        size = jax.lax.stop_gradient(size) if detach_weights else size
        share = 0.9 * size + 0.1 * jnp.mean(size)  # the mix, on the scale of the size
        kept = 0.99 + 0.1 * share / jnp.max(size)  # from one, which weights start at
        weight = kept / jnp.mean(kept, axis=1, keepdims=True)
        return jnp.mean((weight * residual[..., 0]) ** 2)

    slope = jax.grad(loss)(begun)
    for got, start, down in zip(
        *map(jax.tree.leaves, (state.params, begun, slope)), strict=True
    ):
        np.testing.assert_allclose(got, start - down, rtol=1e-9, atol=1e-12)


def test_runs_of_operators_are_no_solutions(tmp_path):
    quiet = {"run": tmp_path / "run", "callback": Silent()}
    numbers = {"seed": np.int64(3), "minutes": np.float32(9)}  # of numpy
    train_operator(integrals(), recipe(**UNIFORM, max_steps=1), **quiet, **numbers)
    with pytest.raises(ValueError, match="is a run of `vrba train`"):
        vrba.Solution.load(tmp_path / "run")
    with pytest.raises(ValueError, match="is a run of `vrba train`"):
        vrba.solve(resume=True, **quiet)


def test_an_operator_can_be_loaded(tmp_path):
    small = vrba.MLP(6, 1)
    model = vrba.DeepONet(branch=small, trunk=small, latent=4)
    settings = dataclasses.replace(recipe(), model=model)
    pairs, run = integrals(), tmp_path / "run"
    operator = train_operator(pairs, settings, 3, run=run, callback=Silent())
    again = vrba.Operator.load(run)
    inputs, _ = pairs.load("test")
    np.testing.assert_array_equal(again(inputs), operator(inputs))
    assert again.recipe == settings and again.result["errors"]["max"] > 0
    own = tmp_path / "own"
    mine = train_operator(pairs, recipe(), 3, run=own, callback=Silent())
    with pytest.raises(ValueError, match="cannot be rebuilt from a file"):
        vrba.Operator.load(own)
    loaded = vrba.Operator.load(own, recipe())
    np.testing.assert_array_equal(loaded(inputs), mine(inputs))
    saved = vrba.Operator.load(operator.save(tmp_path / "saved"))
    np.testing.assert_array_equal(saved(inputs), operator(inputs))
    assert saved.record == operator.record and repr(saved) == repr(operator)
    with pytest.raises(ValueError, match="already holds a run"):
        operator.save(run)


def test_an_operator_at_places_of_ones_own():
    pairs = integrals()
    operator = train_operator(pairs, recipe(), callback=Silent())
    inputs, _ = pairs.load("test")
    there = operator(inputs)
    np.testing.assert_allclose(operator(inputs[..., 0], pairs.places), there)
    between = np.asarray([[0.03], [0.5], [0.97]])
    found = operator(inputs, between)
    assert found.shape == (5, 3, 1)
    scaling, network = operator.layout.scaling, operator.network()
    by_hand = network(scaling.inputs(inputs)[2], scaling.places(jnp.asarray(between)))
    np.testing.assert_allclose(found[2], scaling.unscaled_outputs(by_hand), rtol=1e-12)


@pytest.mark.parametrize(
    ("functions", "places", "message"),
    [
        (np.ones((12, 1)), None, r"\[funcs, 12, 1\], got \(12, 1\)"),
        (np.ones((3, 11, 1)), None, r"got \(3, 11, 1\)"),
        (np.ones((3, 12, 2)), np.ones((4, 1)), r"got \(3, 12, 2\)"),
        (np.ones((3, 12, 1)), np.ones(4), r"`places` must have shape \[..., 1\]"),
        (1j * np.ones((3, 12, 1)), None, "`functions` must hold real numbers, got c"),
    ],
)
def test_an_operator_tells_what_it_takes(functions, places, message, as_a_user):
    operator = train_operator(integrals(), recipe(max_steps=1), callback=Silent())
    with pytest.raises(ValueError, match=message):
        operator(functions, places)


def test_scattered_and_split_places_come_back(tmp_path):
    """The frame of an operator, from the folder of its run."""
    random = np.random.default_rng(1)
    axes = (np.linspace(0, 1, 3), np.linspace(0, 2, 4))
    grid = data.Pairs(
        random.normal(size=(12, 3, 1)),
        random.normal(size=(12, 3, 4, 1)),
        ("x", "t"),
        axes,
        None,
        8,
        2,
        2,
    )
    places = random.uniform(size=(5, 2))
    cloud = data.Pairs(
        random.normal(size=(12, 3, 1)),
        random.normal(size=(12, 5, 1)),
        ("x", "y"),
        None,
        places,
        8,
        2,
        2,
    )
    small = vrba.MLP(6, 1)
    model = vrba.DeepONet(branch=small, trunk=small, latent=4)
    for name, pairs, splits in (("grid", grid, "t"), ("cloud", cloud, None)):
        settings = dataclasses.replace(
            recipe(max_steps=3), model=model, split_axis=splits
        )
        run = tmp_path / name
        operator = train_operator(pairs, settings, run=run, callback=Silent())
        again = vrba.Operator.load(run)
        assert eqx.tree_equal(again.layout, operator.layout)
        np.testing.assert_array_equal(again.errors(pairs), operator.errors(pairs))
