"""Time and memory of the streamed QR of the linear stage, up to 6,000 columns.

`python -m benchmarks.polish_cost`; with `--keep` it also writes
`results/polish_cost.json` for the page. The time of a block of rows is compared with
the product `J'J` of the same block, by the same BLAS and in the same run.

Memory is the peak of NumPy's arrays in a round of points after the first, in matrices
of `columns^2` numbers. The round adds rows to both halves, merges them and solves. The
factorisations before the round stay in memory. `shared` is the peak with rows that both
halves have, as for measured values.
"""

import json
import sys
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

from .processes import ROOT

COLUMNS = (1000, 2000, 4000, 6000)
ROWS = 1024  # of a block
NUM_BLOCKS = 2
RIDGE = 1e-13
RESULTS = ROOT / "results" / "polish_cost.json"
HEADS = {
    "columns": ",d",
    "ms a row": ".2f",
    "GFlop/s": ".1f",
    "QR / J'J": ".1f",
    "memory": ".1f",
    "shared": ".1f",
}


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


def main(*, keeps_results: bool = False) -> None:
    """Print one line for each number of columns."""
    found = []
    print("  ".join(f"{head:>8}" for head in HEADS))
    with threadpool_limits(1), use_precision("float64"):
        for count in COLUMNS:
            found.append(measure(count))
            print("  ".join(f"{cell:>8}" for cell in cells(found[-1])), flush=True)
    if keeps_results:
        RESULTS.write_text(json.dumps(found, indent=1), encoding="utf-8")


def cells(found: dict[str, float]) -> list[str]:
    """The numbers of one line."""
    return [format(found[head], form) for head, form in HEADS.items()]


def measure(count: int) -> dict[str, float]:
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
    peaks = [peak_matrices(term, count, flag) for flag in (False, True)]
    values = (count, 1e3 * seconds / ROWS, rate, ratio, *peaks)
    return dict(zip(HEADS, values, strict=True))


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
    main(keeps_results="--keep" in sys.argv[1:])
