"""Time and memory of the streamed QR of the linear stage, up to 6,000 columns.

`python -m benchmarks.polish_cost`. The time of a block of rows is compared with the
product `J'J` of the same block, by the same BLAS and in the same run.

Memory is the peak of NumPy's arrays in a round of points after the first, in matrices
of `columns^2` numbers. The round adds rows to both halves, merges them and solves. The
factorisations before the round stay in memory. `shared` is the peak with rows that both
halves have, as for measured values.
"""

import time
import tracemalloc

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg.blas import get_blas_funcs
from threadpoolctl import threadpool_limits
from typing_extensions import override

from vrba.core import use_precision
from vrba.optim import AbstractTerm, StreamedQR
from vrba.pinn import Halves

COLUMNS = (1000, 2000, 4000, 6000)
ROWS = 1024  # of a block
NUM_BLOCKS = 2


RIDGE = 1e-13


class GivenRows(AbstractTerm):
    """A term whose blocks all have the same rows."""

    rows: Float[Array, " rows"]
    matrix: Float[Array, "rows params"]

    @property
    @override
    def num_blocks(self) -> int:
        return NUM_BLOCKS

    @override
    def residual(self, params, block):
        return self.rows

    @override
    def jacobian(self, params, block):
        return self.rows, self.matrix


def main() -> None:
    """Print one line for each number of columns."""
    print("columns  ms a row  GFlop/s  QR / J'J  memory  shared")
    with threadpool_limits(1), use_precision("float64"):
        for count in COLUMNS:
            print(line(count), flush=True)


def line(count: int) -> str:
    """Cost of a row, rate, ratio to the normal equations, and peaks of memory."""
    generator = np.random.default_rng(0)
    block = generator.standard_normal((ROWS, count))
    rows = generator.standard_normal(ROWS)
    begun = time.perf_counter()
    StreamedQR.empty(count).absorb([(rows, block)] * NUM_BLOCKS)
    seconds = (time.perf_counter() - begun) / NUM_BLOCKS
    (square,) = get_blas_funcs(("syrk",), (block,))
    begun = time.perf_counter()
    square(1.0, block.T)
    ratio = seconds / (time.perf_counter() - begun)
    rate = 2 * ROWS * count**2 / seconds / 1e9
    term = GivenRows(jnp.asarray(rows), jnp.asarray(block))
    peak, with_shared = (peak_matrices(term, count, flag) for flag in (False, True))
    return (
        f"{count:7,}  {1e3 * seconds / ROWS:8.2f}  {rate:7.1f}  {ratio:8.1f}  "
        f"{peak:6.1f}  {with_shared:6.1f}"
    )


def peak_matrices(term: GivenRows, count: int, has_shared: bool) -> float:
    """Peak of NumPy's arrays in the second of two rounds of points."""
    params = jnp.zeros(count)
    tracemalloc.start()
    halves, shared = Halves.empty(count, float), None
    if has_shared:
        shared = halves.both.absorb([term.jacobian(params, 0)])
    halves = halves.absorb([term], shared, params)
    tracemalloc.reset_peak()
    after = halves.absorb([term], shared, params)  # `halves` stays alive
    after.both.damped(None, RIDGE).step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * count**2)


if __name__ == "__main__":
    main()
