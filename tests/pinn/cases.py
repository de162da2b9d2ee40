"""A small problem with an exact solution, whose programs all tests share."""

import equinox as eqx
import jax.numpy as jnp

import vrba
from vrba import optim


def decay_ansatz(x, N):
    return 1 + x * N


class Decay(vrba.Problem):
    """`u' = -rate u`, `u(0) = 1`."""

    rate: float = 1.0
    domain = vrba.Box(x=(0, 2))

    def equations(self, u, x):
        return {"decay": u.x + self.rate * u}

    def conditions(self):
        return [vrba.Ansatz(decay_ansatz)]

    def reference(self):
        exact = lambda x: jnp.exp(-self.rate * x)
        return vrba.Reference.from_function(self.domain, exact, (65,))


class Edge(vrba.Problem):
    """The same with its condition in the loss."""

    penalty: vrba.Penalty = vrba.Penalty()
    domain = vrba.Box(x=(0, 2))

    def equations(self, u, x):
        return {"decay": u.x + u}

    def conditions(self):
        penalty = eqx.tree_at(
            lambda s: s.name, self.penalty, "edge", is_leaf=lambda x: x is None
        )
        return [vrba.Dirichlet(1.0, on="x", at=0.0, penalty=penalty)]


THREE_STAGES = optim.Sequence(
    optim.Stage(optim.Adam(0.01), optim.AfterSteps(6)),
    optim.Stage(optim.QuasiNewton(search=optim.Backtracking()), optim.AfterSteps(6)),
    optim.LevenbergMarquardt(),
)


def tiny_recipe(**settings):
    chosen = {
        "model": vrba.MLP(width=5, depth=1),
        "optimizer": THREE_STAGES,
        "num_points": 16,
        "pool_size": 64,
        "num_condition_points": 8,
        "resample_every": 4,
        "check_every": 3,
        "num_held_out": 32,
        "max_steps": 20,
    }
    return vrba.Recipe(**(chosen | settings))
