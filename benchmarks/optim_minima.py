"""Which minimum of Rosenbrock's function is found, beside SciPy's BFGS."""

import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize, rosen, rosen_der

from vrba.optim import BFGS, SSBFGS, QuasiNewton, SSBroyden, minimise

SIZES, NUM_STARTS, TOLERANCE = (2, 10, 20, 100), 8, 1e-8


def rosenbrock(x):
    """The chained function; from four numbers on it has a local minimum too."""
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def report(name: str, size: int, ends: list[np.ndarray]) -> None:
    """How many ended flat, and how many at the global minimum."""
    flat = sum(np.linalg.norm(rosen_der(x)) <= TOLERANCE for x in ends)
    best = sum(rosen(x) < 1e-12 for x in ends)
    print(f"  {size:4d} {name:12s} {flat} flat, {best} global", flush=True)


def main() -> None:
    """Eight random starts in each dimension; half a minute."""
    print(f"Rosenbrock, {NUM_STARTS} starts, gradient below {TOLERANCE:g}")
    for size in SIZES:
        starts = np.random.default_rng(size).uniform(-2, 2, (NUM_STARTS, size))
        options = {"gtol": TOLERANCE, "maxiter": 10_000}
        ends = [minimize(rosen, x, jac=rosen_der, options=options).x for x in starts]
        report("SciPy BFGS", size, ends)
        for update in (BFGS(), SSBFGS(), SSBroyden()):
            optimizer = QuasiNewton(update)
            runs = [
                minimise(
                    rosenbrock,
                    jnp.asarray(x),
                    optimizer,
                    max_steps=2000,
                    gradient_tolerance=TOLERANCE,
                )
                for x in starts
            ]
            report(type(update).__name__, size, [np.asarray(r.params) for r in runs])
