"""Loss and gradient of a PDE's residual: the package against nested `jax.jvp`.

The network is 3x30 tanh in float64, 20,000 points, Burgers (second derivatives) and
KdV (third). `whole batch`: each derivative is a nested `jvp` of the one before, mapped
over all points at once, with `jax.value_and_grad`, as a program without the package
would be written. `shared`: the same with all orders from one nest of `jvp`.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

import vrba
from vrba.models import MLP
from vrba.pinn import Evaluator, Trainer
from vrba.problems import Burgers, Formulation, KdV

from .timing import time_together

NUM_POINTS = 20_000


def by_hand(trainer, equation, order, is_shared):
    """The loss of one equation by nested `jvp`, whole batch."""
    ansatz = trainer.evaluator.formulation.ansatz.fn
    points = trainer.pools["equations"][0][:NUM_POINTS]

    def u(network, t, x):
        return ansatz(t, x, network(trainer.evaluator.embedding(t, x))[0])

    def along(fn):
        return lambda x: jax.jvp(fn, (x,), (jnp.ones_like(x),))[1]

    def both(fn):
        return lambda x: jax.jvp(fn, (x,), (jnp.ones_like(x),))

    def residual(network, point):
        t, x = point[0], point[1]
        rate = along(lambda t: u(network, t, x))(t)
        fn = lambda x: u(network, t, x)
        if is_shared:
            parts = shared(fn, x)
        else:
            parts = [fn(x)]
            for _ in range(order):
                fn = along(fn)
                parts.append(fn(x))
        return equation(rate, *parts)

    def shared(fn, x):
        if order == 2:
            (value, slope), (_, curve) = jax.jvp(both(fn), (x,), (jnp.ones_like(x),))
            return value, slope, curve
        nest = both(both(fn))
        ((value, slope), (_, curve)), (_, (_, third)) = jax.jvp(
            nest, (x,), (jnp.ones_like(x),)
        )
        return value, slope, curve, third

    def loss(network):
        return jnp.mean(jax.vmap(lambda point: residual(network, point))(points) ** 2)

    compiled = jax.jit(jax.value_and_grad(loss))
    return lambda network: compiled(network)


def measure(problem, equation, order):
    """Prints the times of one problem."""
    recipe = vrba.Recipe(
        model=MLP(width=30, depth=3), num_points=NUM_POINTS, pool_size=NUM_POINTS
    )
    trainer = Trainer(Evaluator(Formulation(problem), recipe, 0))
    state = trainer.init()
    ids = {"equations": jnp.arange(NUM_POINTS, dtype=jnp.int32)}
    objective = trainer.objective(with_ids(state, ids))
    ours = jax.jit(lambda network: objective.value_and_gradient(network))
    whole = by_hand(trainer, equation, order, is_shared=False)
    shared = by_hand(trainer, equation, order, is_shared=True)
    network = state.params
    times = time_together(
        {
            "vrba": lambda: ours(network),
            "whole batch": lambda: whole(network),
            "shared": lambda: shared(network),
        },
        rounds=5,
        repeats=3,
    )
    gap = abs(float(ours(network)[0] / whole(network)[0]) - 1)
    name = type(problem).__name__
    print(
        f"{name}: blocks of {trainer.evaluator.block_size}, losses agree to {gap:.0e}"
    )
    for name, seconds in times.items():
        print(f"  {name:12s} {1e3 * seconds:7.1f} ms  {seconds / times['vrba']:.2f} x")


def with_ids(state, ids):
    """The state with other points drawn."""
    return eqx.tree_at(lambda s: s.ids, state, ids)


def main():
    """Both problems."""
    nu = Burgers().viscosity
    measure(Burgers(), lambda u_t, u, u_x, u_xx: u_t + u * u_x - nu * u_xx, 2)
    measure(KdV(), lambda u_t, u, u_x, u_xx, u_xxx: u_t + 6 * u * u_x + u_xxx, 3)
