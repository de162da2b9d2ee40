"""Weights follow the residual's shape; policies and states are plain pytrees."""

import dataclasses
import io
import subprocess
import sys
import textwrap

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

import vrba
from vrba.adapt import residual_norm
from vrba.core import InputError

N = 12
RESIDUAL = jnp.asarray(np.random.default_rng(0).normal(size=(N, 3)))
POINTS = np.linspace(0, 1, N)[:, None]
INNER = vrba.Weighting(vrba.Quadratic())
POLICIES = {
    "Weighting": vrba.Weighting(vrba.Exponential()),
    "Sampling": vrba.Sampling(vrba.Quadratic(), correction=vrba.Unbiased()),
    "BRDR": vrba.adapt.BRDR(moment_memory=0.9, weight_memory=0.5),
    "SelfAdaptive": vrba.adapt.SelfAdaptive(),
    "LocalAverage": vrba.adapt.LocalAverage(INNER, 3),
    "Capped": vrba.adapt.Capped(INNER),
    "Causal": vrba.adapt.Causal(INNER),
    "TimeWindowWeights": vrba.adapt.TimeWindowWeights(INNER),
}
by_name = pytest.mark.parametrize("name", list(POLICIES))


def init(policy, num_points=N):
    return policy.init(num_points, points=POINTS)


def naive_loss(policy, state, residual, ids=None):
    """The loss as users write it without `policy.loss`."""
    return jnp.mean((policy.weights(state, ids) * residual) ** 2)


@by_name
def test_weights_have_the_axes_of_the_residual(name):
    """`[n]`, `[n, 1]` and `[n, eqs]`, before and inside `jit`, with and without ids."""
    policy, ids = POLICIES[name], jnp.asarray([7, 2, 3])
    one = RESIDUAL[:, 0]
    plain = policy.update(init(policy), one)
    column = policy.update(init(policy), one[:, None])
    assert policy.weights(plain).shape == (N,)
    assert policy.weights(column).shape == (N, 1)
    np.testing.assert_array_equal(policy.weights(column)[:, 0], policy.weights(plain))
    inside = jax.jit(lambda p, s, r: p.update(s, r))(policy, column, one[:, None])
    assert policy.weights(inside, ids).shape == (3, 1)
    several = policy.update(init(policy), RESIDUAL)
    norm = policy.update(init(policy), residual_norm(RESIDUAL))
    assert policy.weights(several).shape == (N, 1)
    np.testing.assert_allclose(
        policy.weights(several)[:, 0], policy.weights(norm), rtol=1e-14
    )
    expected = policy.loss(plain, one)
    for state, residual in ((plain, one), (column, one[:, None])):
        np.testing.assert_allclose(naive_loss(policy, state, residual), expected)
        np.testing.assert_allclose(policy.loss(state, residual), expected)
        np.testing.assert_allclose(
            policy.loss(state, residual[ids], ids),
            naive_loss(policy, state, residual[ids], ids),
        )
    weight = policy.weights(norm)[:, None]
    for loss in (naive_loss, type(policy).loss):
        found = loss(policy, several, RESIDUAL)
        np.testing.assert_allclose(found, jnp.mean((weight * RESIDUAL) ** 2))


@by_name
def test_a_residual_without_the_axis_of_the_state_is_an_error(name):
    policy = POLICIES[name]
    for state in (init(policy, (N, 1)), policy.update(init(policy), RESIDUAL)):
        assert policy.weights(state).shape == (N, 1)
        with pytest.raises(InputError, match="axis of equations.*'?init"):
            policy.update(state, RESIDUAL[:, 0])
        with pytest.raises(InputError, match="weights have shape"):
            policy.loss(state, RESIDUAL[:-1])


@by_name
def test_scan_carries_the_shape_that_init_was_given(name):
    policy = POLICIES[name]
    residuals = jnp.stack([RESIDUAL, RESIDUAL**2])
    step = lambda state, residual: (policy.update(state, residual), None)
    scanned, _ = jax.lax.scan(step, init(policy, (N, 1)), residuals)
    plain = init(policy)
    for residual in residuals:
        plain = policy.update(plain, residual)
    assert policy.weights(scanned).shape == policy.weights(plain).shape == (N, 1)
    np.testing.assert_allclose(
        policy.weights(scanned), policy.weights(plain), rtol=1e-12
    )
    with pytest.raises(TypeError, match="equation_axis"):
        jax.lax.scan(step, init(policy), residuals)


def test_one_tilt_for_each_equation_keeps_its_weights():
    policy = POLICIES["Weighting"]
    state = policy.update(policy.init((N, 3)), RESIDUAL)
    assert policy.weights(state).shape == (N, 3)
    np.testing.assert_allclose(
        naive_loss(policy, state, RESIDUAL), policy.loss(state, RESIDUAL)
    )


def test_channels_of_functions_share_a_weight():
    policy = vrba.Hybrid(vrba.Quadratic())
    square = RESIDUAL[: N // 4].reshape(3, 3)  # as many functions as points
    fields = square[:, :, None]
    plain = policy.update(policy.init((3, 3)), square)
    state = policy.update(policy.init((3, 3)), fields)
    assert policy.weights(state).shape == (3, 3, 1)
    expected = policy.loss(plain, square)
    np.testing.assert_allclose(naive_loss(policy, state, fields), expected)
    np.testing.assert_allclose(policy.loss(state, fields), expected)


def test_the_first_power_of_several_equations_is_that_of_their_norm():
    policy = vrba.Weighting(vrba.Quadratic(), objective=vrba.adapt.FirstPowerLoss())
    state = policy.update(policy.init(N), RESIDUAL)
    expected = jnp.mean(policy.weights(state)[:, 0] * residual_norm(RESIDUAL))
    np.testing.assert_allclose(policy.loss(state, RESIDUAL), expected, rtol=1e-13)


# Pytrees.


@by_name
def test_a_policy_is_an_argument_of_jit(name):
    policy = POLICIES[name]
    assert jax.tree.leaves(policy) == []
    state = init(policy)
    update = jax.jit(lambda p, s, r: p.update(s, r))
    plain, compiled = policy.update(state, RESIDUAL), update(policy, state, RESIDUAL)
    for one, two in zip(jax.tree.leaves(plain), jax.tree.leaves(compiled), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_arrays_of_a_policy_are_leaves_and_settings_can_be_replaced():
    near = np.stack([np.arange(N), np.arange(N)], axis=1)
    policy = vrba.adapt.LocalAverage(INNER, neighbour_ids=near)
    assert [leaf.shape for leaf in jax.tree.leaves(policy)] == [(N, 2)]
    state = jax.jit(lambda p, r: p.update(p.init(N), r))(policy, RESIDUAL[:, 0])
    assert policy.weights(state).shape == (N,)
    sharper = dataclasses.replace(INNER, smoothing=vrba.Smoothing(memory=0.5))
    assert sharper.smoothing.memory == 0.5 and sharper != INNER
    names = {field.name for field in dataclasses.fields(vrba.Smoothing)}
    assert names == {"memory", "rate", "mix", "is_normalised"}


class Stretched(vrba.adapt.AbstractPotential):
    """A user's `s**2 + scale * s`, with a setting that is not declared static."""

    scale: float = 0.5

    def value(self, s):
        return jnp.maximum(s, 0) ** 2 + self.scale * jnp.maximum(s, 0)

    def slope(self, s):
        return jnp.where(s < 0, 0, 2 * s + self.scale)

    def relative_slope(self, s, peak):
        return self.slope(s) / self.slope(peak)

    def inverse_slope(self, y):
        return jnp.maximum(y - self.scale, 0) / 2

    def degree(self):
        return None

    def is_defined_everywhere(self):
        return False

    def is_shift_invariant(self):
        return False


@pytest.mark.parametrize(
    "temperature", [vrba.LogAnnealing(), vrba.adapt.SolveTemperature()]
)
def test_numbers_of_a_users_potential_may_be_traced(temperature):
    policy = vrba.Weighting(Stretched(), temperature)
    state = policy.init(N)
    traced = jax.jit(lambda p, s, r: p.update(s, r))(policy, state, RESIDUAL)
    plain = policy.update(state, RESIDUAL)
    np.testing.assert_allclose(traced.weight, plain.weight, rtol=1e-12)


@by_name
def test_a_state_is_a_plain_pytree_of_arrays(name):
    """Nothing but arrays by name: numpy can hold it, and it goes on from there."""
    policy = POLICIES[name]
    state = policy.update(init(policy), RESIDUAL)
    named, treedef = jax.tree.flatten_with_path(state)
    file = io.BytesIO()
    np.savez(file, **{jax.tree_util.keystr(path): leaf for path, leaf in named})
    file.seek(0)
    with np.load(file) as kept:
        leaves = [jnp.asarray(kept[jax.tree_util.keystr(path)]) for path, _ in named]
    again = policy.update(jax.tree.unflatten(treedef, leaves), RESIDUAL**2)
    assert eqx.tree_equal(again, policy.update(state, RESIDUAL**2))
    assert state.status == vrba.Status.ok


@by_name
def test_a_state_is_saved_by_flax(name):
    serialization = pytest.importorskip("flax.serialization")
    policy = POLICIES[name]
    state = policy.update(init(policy), RESIDUAL)
    data = serialization.msgpack_serialize(serialization.to_state_dict(state))
    empty = policy.update(init(policy), 0 * RESIDUAL)
    loaded = serialization.from_state_dict(empty, serialization.msgpack_restore(data))
    assert eqx.tree_equal(jax.tree.map(jnp.asarray, loaded), state)


def test_a_state_is_saved_by_orbax(tmp_path):
    checkpoint = pytest.importorskip("orbax.checkpoint")
    policy = POLICIES["TimeWindowWeights"]
    state = policy.update(init(policy), RESIDUAL)
    with checkpoint.StandardCheckpointer() as saver:
        saver.save(tmp_path / "state", state)
        saver.wait_until_finished()
        loaded = saver.restore(tmp_path / "state", state)
    assert eqx.tree_equal(loaded, state)


# Devices.


def sharded_update(mesh, policy, states, residual, ids):
    """One update for each device, of its own points."""
    spec = PartitionSpec("device")

    def update(state, residual, ids):
        state = jax.tree.map(lambda leaf: leaf[0], state)
        state = policy.update(state, residual, ids)
        return jax.tree.map(lambda leaf: leaf[None], state)

    sharded = jax.shard_map(update, mesh=mesh, in_specs=spec, out_specs=spec)
    return jax.jit(sharded)(states, residual, ids)


SHARDED = {name: policy for name, policy in POLICIES.items() if name != "Capped"} | {
    "EffectiveSize": vrba.Weighting(vrba.Exponential(), vrba.EffectiveSize(0.5)),
    "SolveShift": vrba.Weighting(
        vrba.adapt.SuperExponential(), vrba.adapt.SolveShift()
    ),
}


@pytest.mark.parametrize("name", list(SHARDED))
def test_update_works_inside_shard_map(name):
    policy, mesh = SHARDED[name], Mesh(np.array(jax.devices()[:1]), ("device",))
    state, ids = policy.update(init(policy), RESIDUAL), jnp.arange(N)
    states = jax.tree.map(lambda leaf: leaf[None], state)
    found = sharded_update(mesh, policy, states, RESIDUAL**2, ids)
    expected = policy.update(state, RESIDUAL**2, ids)
    for one, two in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one[0], two, rtol=1e-12)


TWO_DEVICES = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.sharding import Mesh
    import vrba
    from tests.adapt import test_adapt_shapes as cases
    from tests.adapt.test_adapt_shapes import N, POLICIES, RESIDUAL, init

    mesh = Mesh(np.array(jax.devices()), ("device",))
    assert mesh.size == 2
    policy = POLICIES["Weighting"]
    both = jnp.concatenate([RESIDUAL, RESIDUAL[::-1] ** 3])
    ids = jnp.tile(jnp.arange(N), 2)
    start = policy.update(init(policy), RESIDUAL)
    states = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), start)
    found = cases.sharded_update(mesh, policy, states, both, ids)
    for k in range(2):
        alone = policy.update(start, both[k * N : (k + 1) * N])
        assert np.allclose(found.weight[k], alone.weight, rtol=1e-6)
    print("equal")
"""


@pytest.mark.slow
def test_two_devices_update_their_own_points():
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(TWO_DEVICES)],
        env={
            "PYTHONPATH": ":".join(sys.path),
            "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == "equal\n", found.stderr
