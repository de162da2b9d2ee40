"""Loss against time: every optimizer on a regression and on a PINN, one after another.

`python -m benchmarks optim_race` writes docs/optimizers.png beside the table.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize

from vrba.optim import (
    BFGS,
    SSBFGS,
    AfterSteps,
    FromOptax,
    LeastSquares,
    LevenbergMarquardt,
    PointTerm,
    QuasiNewton,
    Sequence,
    SSBroyden,
    Stage,
    lbfgs,
    minimise,
)

TARGET = 1e-10
SECONDS = {"regression": 40.0, "Burgers": 60.0}
PICTURE = Path(__file__).parents[1] / "docs" / "optimizers.png"
Curve = list[tuple[float, float]]


def network(num_inputs: int) -> eqx.nn.MLP:
    """Three hidden layers of 30 tanh."""
    key = jax.random.key(0)
    return eqx.nn.MLP(num_inputs, 1, 30, 3, jnp.tanh, dtype=jnp.float64, key=key)


def regression() -> tuple[Any, LeastSquares]:
    """A smooth function of three variables on 1,000 points, 2,011 parameters."""
    key = jax.random.key(1)
    points = jax.random.uniform(key, (1000, 3), jnp.float64, -1, 1)
    wave = jnp.sin(3 * points[:, 0]) * jnp.cos(2 * points[:, 1]) + points[:, 2] ** 3

    def residual(model, point):
        return model(point[0])[0] - point[1]

    return network(3), LeastSquares(PointTerm(residual, (points, wave)))


def burgers_on(num_points: int) -> tuple[Any, LeastSquares]:
    """Burgers' equation, 0.01/pi, exact initial condition, fixed points."""
    key = jax.random.key(2)
    points = jax.random.uniform(key, (num_points, 2), jnp.float64)
    points = points * jnp.array([1.0, 2.0]) - jnp.array([0.0, 1.0])

    def residual(model, point):
        t, x = point

        def u(t, x):
            inputs = jnp.stack([t, jnp.cos(jnp.pi * x), jnp.sin(jnp.pi * x)])
            return -jnp.sin(jnp.pi * x) + t * model(inputs)[0]

        one = jnp.ones_like(t)
        u_t = jax.jvp(lambda t: u(t, x), (t,), (one,))[1]
        slope = lambda x: jax.jvp(lambda x: u(t, x), (x,), (one,))
        (value, u_x), (_, u_xx) = jax.jvp(slope, (x,), (one,))
        return u_t + value * u_x - (0.01 / jnp.pi) * u_xx

    return network(3), LeastSquares(PointTerm(residual, points))


def race_ours(optimizer, objective, params, seconds: float) -> tuple[Curve, int]:
    """Best loss against time; compiled beforehand, on the same shapes."""
    steps_per_call = 1 if isinstance(optimizer, LevenbergMarquardt) else 20
    go = lambda **more: minimise(
        objective,
        params,
        optimizer,
        max_steps=10_000_000,
        steps_per_call=steps_per_call,
        target_loss=TARGET / 100,
        **more,
    )
    curve = []
    enough = 1040 if isinstance(optimizer, Sequence) else 2 * steps_per_call
    go(callback=lambda progress: progress.num_steps >= enough)
    if isinstance(optimizer, LevenbergMarquardt):  # what a tiny damping will need
        solver, tiny = optimizer.solver, jnp.asarray(1e-20)
        factor = solver.factor(solver.assemble(objective, params, tiny), tiny)
        solver.solve(factor, solver.step(factor))
    start = time.perf_counter()

    def record(progress):
        curve.append((time.perf_counter() - start, float(progress.info.value)))
        return curve[-1][0] > seconds

    run = go(callback=record)
    curve.append((time.perf_counter() - start, float(run.loss)))
    return curve, run.num_steps


def race_scipy(method: str, objective, params, seconds: float) -> tuple[Curve, int]:
    """SciPy with the same compiled loss and gradient."""
    trained, fixed = eqx.partition(params, eqx.is_inexact_array)
    vector, rebuild = ravel_pytree(trained)

    @jax.jit
    def value_and_gradient(vector):
        model = eqx.combine(rebuild(vector), fixed)
        value, gradient = objective.value_and_gradient(model)
        return value, ravel_pytree(gradient)[0]

    jax.block_until_ready(value_and_gradient(vector))
    curve, best, num_steps = [], [np.inf], [0]
    start = time.perf_counter()

    def fn(x):
        value, gradient = value_and_gradient(x)
        best[0] = min(best[0], float(value))
        return float(value), np.asarray(gradient)

    def callback(intermediate_result):
        num_steps[0] += 1
        curve.append((time.perf_counter() - start, best[0]))
        if curve[-1][0] > seconds or best[0] < TARGET / 100:
            raise StopIteration

    limits = {"maxiter": 10**7, "gtol": 1e-16}
    if method == "L-BFGS-B":
        limits |= {"maxfun": 10**7, "ftol": 0.0, "maxcor": 20}
    minimize(
        fn,
        np.asarray(vector),
        jac=True,
        method=method,
        callback=callback,
        options=limits,
    )
    return curve, num_steps[0]


def contestants(seconds: float) -> dict[str, Callable[..., tuple[Curve, int]]]:
    """Every optimizer by name."""
    ours = {
        "Adam": FromOptax(optax.adam(1e-3)),
        "L-BFGS": lbfgs(),
        "BFGS": QuasiNewton(BFGS()),
        "SSBFGS": QuasiNewton(SSBFGS()),
        "SSBroyden": QuasiNewton(SSBroyden()),
        "Adam, SSBroyden": Sequence(
            Stage(FromOptax(optax.adam(1e-3)), AfterSteps(1000)), QuasiNewton()
        ),
        "Levenberg-Marquardt": LevenbergMarquardt(),
    }
    found: dict[str, Callable[..., tuple[Curve, int]]] = {
        name: lambda objective, params, optimizer=optimizer: race_ours(
            optimizer, objective, params, seconds
        )
        for name, optimizer in ours.items()
    }
    for method, name in (("BFGS", "SciPy BFGS"), ("L-BFGS-B", "SciPy L-BFGS-B")):
        found[name] = lambda objective, params, method=method: race_scipy(
            method, objective, params, seconds
        )
    return found


def time_to(curve: Curve, target: float) -> str:
    """When the loss first was below the target."""
    times = [seconds for seconds, loss in curve if loss <= target]
    return f"{times[0]:8.1f} s" if times else "       -  "


def draw(curves: dict[str, dict[str, Curve]]) -> None:
    """Both problems side by side; told apart without colours too."""
    styles = ["-", "--", "-.", ":"]
    figure, axes = plt.subplots(1, len(curves), figsize=(11, 4.2), sharey=False)
    for axis, (problem, runs) in zip(axes, curves.items(), strict=True):
        for i, (name, curve) in enumerate(runs.items()):
            times, losses = np.array(curve).T
            lowest = np.minimum.accumulate(np.where(np.isfinite(losses), losses, 1e9))
            axis.loglog(
                np.maximum(times, 1e-2),
                lowest,
                styles[i % 4],
                label=name,
                color=plt.get_cmap("viridis")(i / len(runs)),
                linewidth=1.6,
            )
        axis.set(title=problem, xlabel="seconds, two cores", ylabel="lowest loss")
        axis.grid(alpha=0.3, which="major")
    axes[-1].legend(fontsize=8, frameon=False, loc="lower left")
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=130)


def main() -> None:
    """The race; about a quarter of an hour."""
    curves: dict[str, dict[str, Curve]] = {}
    for problem, make in (
        ("regression", regression),
        ("Burgers", lambda: burgers_on(4096)),
    ):
        params, objective = make()
        curves[problem] = {}
        print(f"{problem}: 3x30 tanh, 2,011 parameters, float64")
        print(f"  {'':22s}  to 1e-4    to 1e-6    to 1e-8   to 1e-10   lowest   steps")
        for name, race in contestants(SECONDS[problem]).items():
            curve, num_steps = race(objective, params)
            curves[problem][name] = curve
            lowest = min(loss for _, loss in curve)
            times = " ".join(time_to(curve, 10.0**p) for p in (-4, -6, -8, -10))
            print(f"  {name:22s}{times}  {lowest:.1e} {num_steps:7,d}", flush=True)
    draw(curves)
