"""What adaptivity costs: drawing, updating, and its share of a training step."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import vrba

from .timing import time_together

POOL, BATCH, NUM_LOOPS = 200_000, 20_000, 10


def obvious_update(weight, residual, count):
    """The exponential tilt written down directly."""
    size = jnp.abs(residual)
    temperature = size.max() / jnp.log(2.0 + count)
    tilt = jnp.exp((size - size.max()) / temperature)
    tilt = tilt / tilt.mean()
    return 0.7 * weight + 0.3 * (0.8 * tilt + 0.2)


def obvious_draw(weight, key):
    """The draw that JAX offers."""
    return jax.random.choice(key, POOL, (BATCH,), p=weight / weight.sum())


def compare_draws(dtype) -> None:
    """Draws and updates against the obvious ones, in compiled loops of ten.

    The weights change from draw to draw, so that nothing can be moved out of the loop.
    """
    keys = jax.random.split(jax.random.key(0), NUM_LOOPS)
    residual = jax.random.normal(keys[0], (POOL,), dtype) ** 3
    policy = vrba.Sampling(vrba.Exponential())
    state = policy.update(policy.init(POOL, dtype=dtype), residual)

    def obvious_both(carry, key):
        weight, count = carry
        weight = obvious_update(weight, residual, count)
        return (weight, count + 1), obvious_draw(weight, key)

    def both(state, key):
        state = policy.update(state, residual)
        return state, policy.draw(state, BATCH, key=key)

    count = jnp.asarray(3.0, dtype)
    change = jnp.linspace(1, 2, NUM_LOOPS, dtype=dtype)
    runs = {
        "jax.random.choice": jax.jit(
            lambda w: jax.lax.map(
                lambda x: obvious_draw(x[0] * w, x[1]), (change, keys)
            )
        ),
        "obvious update + choice": jax.jit(
            lambda w: jax.lax.scan(obvious_both, (w, count), keys)[1]
        ),
        "update + draw": jax.jit(
            lambda w: jax.lax.scan(
                both, eqx.tree_at(lambda s: s.weight, state, w), keys
            )[1]
        ),
    }
    for draw in (
        vrba.adapt.Stratified(),
        vrba.adapt.Systematic(),
        vrba.adapt.WithReplacement(),
    ):
        drawing = vrba.Sampling(vrba.Exponential(), draws=draw)

        def repeat(weight, drawing=drawing):
            def one(x):
                now = eqx.tree_at(lambda s: s.weight, state, x[0] * weight)
                return drawing.draw(now, BATCH, key=x[1])

            return jax.lax.map(one, (change, keys))

        runs[type(draw).__name__] = jax.jit(repeat)
    cases = {name: lambda run=run: run(state.weight) for name, run in runs.items()}
    seconds = time_together(cases, rounds=10, repeats=5)
    print(f"{jnp.dtype(dtype).name}: {BATCH:,} of {POOL:,} points, median ms")
    for name, value in seconds.items():
        print(f"  {name:26s}{1e3 * value / NUM_LOOPS:8.3f}")
    for name in ("Stratified", "Systematic", "WithReplacement"):
        ratio = seconds["jax.random.choice"] / seconds[name]
        print(f"  choice / {name:17s}{ratio:8.2f} times")
    ratio = seconds["obvious update + choice"] / seconds["update + draw"]
    print(f"  obvious both / ours       {ratio:8.2f} times", flush=True)


def compare_without_replacement() -> None:
    """Draws without repeats: far slower in JAX, and in ours, than with them."""
    key = jax.random.key(0)
    mass = jax.random.uniform(key, (POOL,), jnp.float64)
    ours = jax.jit(lambda m, k: vrba.adapt.WithoutReplacement().ids(m, BATCH, key=k))
    theirs = jax.jit(
        lambda m, k: jax.random.choice(k, POOL, (BATCH,), p=m / m.sum(), replace=False)
    )
    seconds = time_together(
        {"choice": lambda: theirs(mass, key), "ours": lambda: ours(mass, key)},
        rounds=4,
        repeats=3,
    )
    print(
        f"float64, no repeats: choice {1e3 * seconds['choice']:.1f} ms, "
        f"WithoutReplacement {1e3 * seconds['ours']:.1f} ms, "
        f"{seconds['choice'] / seconds['ours']:.1f} times",
        flush=True,
    )


def burgers_residual(network, point):
    """The residual of Burgers' equation at one point, by nested derivatives."""
    u = lambda t, x: network(jnp.stack([t, x]))[0]
    t, x = point
    u_t, u_x = jax.grad(u, (0, 1))(t, x)
    u_xx = jax.grad(jax.grad(u, 1), 1)(t, x)
    return u_t + u(t, x) * u_x - (0.01 / jnp.pi) * u_xx


def share_of_a_step() -> None:
    """The policy's own time beside a 3x30 PINN step of Adam on 10,000 points."""
    num_points, key = 10_000, jax.random.key(1)
    network = eqx.nn.MLP(2, 1, 30, 3, jax.nn.tanh, dtype=jnp.float64, key=key)
    pool = jax.random.uniform(key, (POOL, 2), jnp.float64, -1, 1)
    optimizer = optax.adam(1e-3)
    parameters, static = eqx.partition(network, eqx.is_inexact_array)
    moments = optimizer.init(parameters)

    @jax.jit
    def step(parameters, moments, points, weight):
        def loss(parameters):
            model = eqx.combine(parameters, static)
            residual = jax.vmap(lambda p: burgers_residual(model, p))(points)
            return jnp.mean((weight * residual) ** 2), residual

        (_, residual), gradient = jax.value_and_grad(loss, has_aux=True)(parameters)
        updates, moments = optimizer.update(gradient, moments)
        return optax.apply_updates(parameters, updates), moments, residual

    points, ids = pool[:num_points], jnp.arange(num_points) * 20
    residual = step(parameters, moments, points, jnp.ones(num_points))[2]
    cases = {
        "PINN step": lambda: step(parameters, moments, points, jnp.ones(num_points))
    }
    policies = {
        "vrba": vrba.presets.vrba_weighting(),
        "rba": vrba.presets.rba(),
        "effective size": vrba.Weighting(vrba.Exponential(), vrba.EffectiveSize(0.5)),
        "quadratic, effective size": vrba.Weighting(
            vrba.Quadratic(), vrba.EffectiveSize(0.5)
        ),
    }
    for name, policy in policies.items():

        @jax.jit
        def own(state, residual, ids, policy=policy):
            state = policy.update(state, residual, ids)
            return state, policy.weights(state, ids)

        whole, pooled = policy.init(num_points), policy.init(POOL)
        cases[f"{name}, all points"] = lambda own=own, whole=whole: own(
            whole, residual, None
        )
        cases[f"{name}, ids of a pool"] = lambda own=own, pooled=pooled: own(
            pooled, residual, ids
        )
    seconds = time_together(cases, rounds=5, repeats=4)
    whole_step = seconds.pop("PINN step")
    print(f"3x30 tanh, {num_points:,} points, float64: step {1e3 * whole_step:.1f} ms")
    for name, value in seconds.items():
        share = 100 * value / whole_step
        print(f"  {name:42s}{1e3 * value:8.3f} ms {share:7.2f} %", flush=True)


def main() -> None:
    """All of it; about a minute."""
    compare_draws(jnp.float64)
    compare_draws(jnp.float32)
    compare_without_replacement()
    share_of_a_step()
