"""What a step costs beside the objective: quasi-Newton and Levenberg-Marquardt."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import optimistix as optx
from jinns.optimizers import scale_by_SSBroyden_family

from vrba.optim import (
    BFGS,
    SSBFGS,
    Cholesky,
    FiniteDifference,
    HostCholesky,
    LevenbergMarquardt,
    Objective,
    QuasiNewton,
    SSBroyden,
    advance,
)

from .optim_race import burgers_on
from .timing import time_together

NUM_PARAMS, NUM_STEPS = 2011, 60


def cheap(x):
    """A loss of 2,011 numbers whose gradient costs next to nothing.

    So well scaled that every search accepts its first trial, nearly always, and so
    flat at its minimum that no method is done within the steps that are timed.
    """
    stiff = jnp.linspace(0.5, 1.5, NUM_PARAMS, dtype=x.dtype)
    return 0.25 * jnp.sum(stiff * x**4)


def run_ours(update, start):
    """As many steps of ours in one compiled loop."""
    optimizer, objective = QuasiNewton(update), Objective(cheap)
    state = eqx.filter_jit(optimizer.init)(objective, start)
    return lambda: advance(optimizer, objective, start, state, NUM_STEPS)


def run_jinns(start):
    """jinns' transform with its zoom search in a compiled loop."""
    transform = scale_by_SSBroyden_family()
    gradient_fn = jax.grad(cheap)

    def step(_, carry):
        params, state = carry
        value, gradient = jax.value_and_grad(cheap)(params)
        inputs = (value, gradient, cheap, gradient_fn)
        updates, state = transform.update(gradient, state, params, *inputs)  # pyright: ignore
        return optax.apply_updates(params, updates), state

    run = jax.jit(lambda carry: jax.lax.fori_loop(0, NUM_STEPS, step, carry))
    state = transform.init(start)
    return lambda: run((start, state))


def run_optimistix(start):
    """optimistix's BFGS; its tolerances are never met."""
    solver, fn = optx.BFGS(rtol=0.0, atol=0.0), lambda y, _: cheap(y)
    run = lambda x: optx.minimise(fn, solver, x, max_steps=NUM_STEPS, throw=False)
    compiled = jax.jit(lambda x: run(x).value)
    accepted = run(start).state.num_accepted_steps
    if int(accepted) < 0.95 * NUM_STEPS:  # what it calls a step is a trial
        raise RuntimeError(f"optimistix accepted only {accepted} of {NUM_STEPS} trials")
    return lambda: compiled(start)


def run_products(start):
    """As many dense matrix-vector products, one after another."""
    matrix = jnp.eye(NUM_PARAMS, dtype=start.dtype) + 1e-3 * jnp.outer(start, start)

    def product(_, vector):
        vector = matrix @ vector
        return vector / jnp.linalg.norm(vector)

    run = jax.jit(lambda v: jax.lax.fori_loop(0, NUM_STEPS, product, v))
    return lambda: run(start)


def quasi_newton(dtype) -> None:
    """Time of a step against dense products and against peers."""
    start = jax.random.uniform(jax.random.key(0), (NUM_PARAMS,), dtype, -1, 1)
    cases = {
        "matrix-vector product": run_products(start),
        "SSBroyden": run_ours(SSBroyden(), start),
        "SSBFGS": run_ours(SSBFGS(), start),
        "BFGS": run_ours(BFGS(), start),
        "jinns SSBroyden": run_jinns(start),
        "optimistix BFGS": run_optimistix(start),
    }
    seconds = time_together(cases, rounds=8, repeats=3)
    product, ours = seconds["matrix-vector product"], seconds["SSBroyden"]
    print(f"{jnp.dtype(dtype).name}: {NUM_PARAMS:,} parameters, ms a step")
    for name, value in seconds.items():
        print(
            f"  {name:24s}{1e3 * value / NUM_STEPS:8.2f}"
            f"{value / product:8.1f} products{value / ours:8.1f} times ours"
        )
    steps = cases["SSBroyden"]()[2]
    made, evaluations = int(steps.num_steps), int(steps.num_evaluations)
    print(f"  SSBroyden made {evaluations} evaluations in {made} steps", flush=True)


def levenberg_marquardt() -> None:
    """A step with 8,192 residuals against two products `J'J` in NumPy."""
    params, objective = burgers_on(8192)
    relative, none = jnp.asarray(1.0), jnp.asarray(0.0)
    host, optimizer = HostCholesky(), LevenbergMarquardt(solver=HostCholesky())
    state = optimizer.init(objective, params)
    for _ in range(6):  # to where two or three dampings are tried in a step
        params, state, _ = optimizer.step(objective, params, state)
    info = optimizer.step(objective, params, state)[2]
    compiled = LevenbergMarquardt(solver=Cholesky(qr_below=0.0))
    compiled_step = eqx.filter_jit(compiled.step)
    system = host.assemble(objective, params, relative)
    factor = host.factor(system, state.damping.damping)
    velocity = host.step(factor)
    second_order_term = eqx.filter_jit(FiniteDifference().second_order_term)
    value = eqx.filter_jit(type(objective).value)
    jacobian = eqx.filter_jit(type(objective.terms[0]).jacobian)
    blocks = [jnp.asarray(i) for i in range(objective.terms[0].num_blocks)]
    dense = np.concatenate(
        [np.asarray(jacobian(objective.terms[0], params, i)[1]) for i in blocks]
    )

    def all_blocks():
        for i in blocks:
            jax.block_until_ready(jacobian(objective.terms[0], params, i))

    cases = {
        "NumPy J.T @ J": lambda: dense.T @ dense,
        "a step": lambda: optimizer.step(objective, params, state)[0],
        "  the Jacobian, in blocks": all_blocks,
        "  Jacobian and J'J": lambda: host.assemble(objective, params, relative).matrix,
        "  Jacobian and QR": lambda: host.assemble(objective, params, none).matrix,
        "  Cholesky": lambda: host.factor(system, state.damping.damping).upper,
        "  solve": lambda: host.solve(factor, velocity),
        "  acceleration": lambda: second_order_term(objective, params, velocity),
        "  loss": lambda: value(objective, params),
        "a step, all compiled": lambda: compiled_step(objective, params, state)[0],
    }
    seconds = time_together(cases, rounds=3, repeats=2)
    product = seconds["NumPy J.T @ J"]
    print(f"Levenberg-Marquardt: {dense.shape[0]:,} x {dense.shape[1]:,}, float64")
    for name, spent in seconds.items():
        print(f"  {name:28s}{1e3 * spent:8.1f} ms{spent / product / 2:8.2f} of two J'J")
    print(f"  the step tried {int(info.num_trials)} dampings", flush=True)


def main() -> None:
    """All of it; about two minutes."""
    quasi_newton(jnp.float64)
    levenberg_marquardt()
