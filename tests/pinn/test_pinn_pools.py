"""Which points a condition has, and how they are drawn."""

import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from tests.pinn.cases import tiny_recipe
from vrba.adapt import presets
from vrba.pinn import Evaluator, Trainer
from vrba.problems import AllenCahn, Formulation

UNBIASED = presets.vrba_sampling(correction=vrba.Unbiased())
EDGE = "dirichlet x=0"
HALFWAY = presets.vrba_sampling(correction=vrba.Unbiased(0.5))


class Edge(vrba.Problem):
    """A harmonic function that is zero on one side of a square."""

    penalty: vrba.Penalty
    domain = vrba.Box(x=(0, 1), y=(0, 1))

    def equations(self, u, x, y):
        return {"laplace": u.xx + u.yy}

    def conditions(self):
        return [vrba.Dirichlet(0.0, on="x", at=0.0, penalty=self.penalty)]


class Measured(vrba.Problem):
    """A line through measured values."""

    num_values: int
    domain = vrba.Box(x=(0, 1))

    def equations(self, u, x):
        return {"straight": u.xx}

    def conditions(self):
        x = np.linspace(0, 1, self.num_values)[:, None]
        return [vrba.Data(x, x[:, 0])]


def trainer_of(problem, **settings):
    return Trainer(Evaluator(Formulation(problem), tiny_recipe(**settings), 0))


def policy_of(problem, policy):
    [name] = Formulation(problem).conditions
    return trainer_of(problem, policy=policy).policies[name]


def test_a_condition_follows_a_policy_that_leaves_the_mean_square():
    assert policy_of(Edge(vrba.Penalty()), UNBIASED) == UNBIASED


@pytest.mark.parametrize(
    "policy",
    [presets.vrba_sampling(), HALFWAY, presets.vrba_weighting(), presets.uniform()],
)
def test_a_condition_does_not_follow_one_that_changes_it(policy):
    assert policy_of(Edge(vrba.Penalty()), policy) == presets.uniform()


def test_measured_values_are_drawn_evenly():
    assert policy_of(Measured(60), UNBIASED) == presets.uniform()


def test_a_policy_of_its_own_goes_first():
    own = vrba.Penalty(policy=presets.rad())
    assert policy_of(Edge(own), UNBIASED) == presets.rad()


@pytest.mark.parametrize(
    "num_points, given, own, expected",
    [
        (8192, None, None, 1024),
        (10240, None, None, 1280),
        (512, None, None, 256),
        (8192, 40, None, 40),
        (8192, 40, 7, 7),
    ],
)
def test_how_many_points_a_condition_has(num_points, given, own, expected):
    trainer = trainer_of(
        Edge(vrba.Penalty(num_points=own)),
        num_points=num_points,
        pool_size=num_points,
        num_condition_points=given,
    )
    assert len(trainer.init().ids[EDGE]) == expected
    assert len(trainer.pools[EDGE][0]) == 8 * expected
    assert len(trainer.held_out[EDGE][0]) == 2 * expected


@pytest.mark.parametrize("given", [None, 8])
@pytest.mark.parametrize("num_values, expected", [(60, 48), (2000, 1024)])
def test_how_many_measured_values_are_drawn(num_values, expected, given):
    trainer = trainer_of(Measured(num_values), num_condition_points=given)
    assert len(trainer.init().ids["data"]) == expected


def test_values_that_are_known_exactly_are_all_trained_on_and_checked():
    problem = AllenCahn(is_soft=True, num_initial=64)
    trainer = Trainer(Evaluator(Formulation(problem), tiny_recipe(), 0))
    state = trainer.resample(trainer.init())
    assert sorted(np.asarray(state.ids["initial"])) == list(range(64))
    for rows in (trainer.pools["initial"], trainer.held_out["initial"]):
        np.testing.assert_allclose(rows[0][:, 1], -1 + np.arange(64) / 32)


def test_only_finitely_many_points_can_be_all_trained_on():
    told = "of `dirichlet x=0` needs a finite set of points"
    with pytest.raises(ValueError, match=told):
        trainer_of(Edge(vrba.Penalty(holds_out=False)))


def test_the_loss_of_a_followed_condition_is_that_of_even_draws():
    """The mean over draws of the weighted mean square is the mean over the pool."""
    trainer = trainer_of(Edge(vrba.Penalty()), policy=UNBIASED, num_condition_points=64)
    policy, pool = trainer.policies[EDGE], trainer.pools[EDGE]
    size = jnp.linspace(0.1, 3.0, len(pool[0]))
    state = policy.init(len(size), dtype=size.dtype)
    for _ in range(20):
        state = policy.update(state, size)
    weights, mass = policy.weights(state), policy.probability(state)
    assert float(jnp.max(mass) / jnp.min(mass)) > 3
    expected = float(jnp.sum(mass * (weights * size) ** 2))
    np.testing.assert_allclose(expected, float(jnp.mean(size**2)), rtol=1e-12)
