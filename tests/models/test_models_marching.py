"""Networks of slabs of time as one network."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from vrba.core import InputError
from vrba.fields import coordinate_jets, downward_closure, propagate
from vrba.models import Embedding, SlabEmbedding, march, polish

EDGES = jnp.array([-1.0, -0.5, 0.25, 1.0])
INDICES = downward_closure([(2, 0), (1, 1), (0, 2)])
TIME = 0


def network(seed):
    key = jax.random.key(seed)
    return vrba.MLP(6, 2).build(2, 3, key=key, dtype=jnp.float64)


def with_coefficients(seed):
    made = polish(network(seed), 2, 3, (4,), dtype=jnp.float64, key=jax.random.key(9))
    return jax.tree.map(lambda leaf: leaf + 0.1 if eqx_array(leaf) else leaf, made)


def eqx_array(leaf):
    return isinstance(leaf, jax.Array)


KINDS = {"plain": network, "polished": with_coefficients}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slab", range(3))
def test_each_slab_has_its_own_network(kind, slab):
    networks = [KINDS[kind](seed) for seed in range(3)]
    joined = march(networks, EDGES, TIME)
    start, end = EDGES[slab], EDGES[slab + 1]
    point = jnp.array([start + 0.3 * (end - start), 0.4])
    scaled = jnp.array([2 * 0.3 - 1, 0.4])
    found, expected = joined(point), networks[slab](scaled)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_agree_with_automatic_differentiation(kind):
    joined = march([KINDS[kind](seed) for seed in range(3)], EDGES, TIME)
    point = jnp.array([0.1, 0.4])
    stacked = lambda t, x: jnp.stack([t, x])
    jets = propagate(stacked, coordinate_jets(point, 2), INDICES)
    found = propagate(joined, [jets], INDICES)
    hessian = jax.hessian(joined)(point)
    gradient = jax.jacfwd(joined)(point)
    np.testing.assert_allclose(found[1, 0], gradient[:, 0], rtol=1e-12)
    for index, (row, column) in {(2, 0): (0, 0), (1, 1): (0, 1)}.items():
        np.testing.assert_allclose(found[index], hessian[:, row, column], rtol=1e-10)


def test_the_later_slab_counts_at_an_edge_and_the_outer_ones_go_on():
    networks = [network(seed) for seed in range(3)]
    joined = march(networks, EDGES, TIME)
    at = lambda time: joined(jnp.array([time, 0.0]))
    np.testing.assert_allclose(at(-0.5), networks[1](jnp.array([-1.0, 0.0])))
    np.testing.assert_allclose(at(1.375), networks[2](jnp.array([2.0, 0.0])))
    np.testing.assert_allclose(at(-1.25), networks[0](jnp.array([-2.0, 0.0])))


def test_polished_networks_share_the_directions_of_their_features():
    networks = [with_coefficients(seed) for seed in range(3)]
    joined = march(networks, EDGES, TIME)
    (features,) = joined.shared.features
    assert features.coefficients is None
    assert all(leaf.ndim == 2 for leaf in features.directions)
    assert joined.slabs.features[0].coefficients.shape == (3, 3, 4)


def test_a_wrong_number_of_edges_is_refused():
    with pytest.raises(InputError, match="one more"):
        march([network(0)], EDGES, TIME)


def test_the_inputs_of_a_slab_are_those_of_its_own_interval():
    whole = Embedding((0.0, -1.0), (2.0, 1.0), (0, 2))
    own = Embedding((0.5, -1.0), (0.75, 1.0), (0, 2))
    slab = SlabEmbedding(whole, 0, jnp.asarray(0.5), jnp.asarray(0.75))
    point = jnp.array([0.6, 0.3])
    np.testing.assert_allclose(slab(*point), own(*point), rtol=1e-13)
