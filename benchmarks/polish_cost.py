"""Time and memory of the streamed QR of the linear stage, up to 6,000 columns.

`python -m benchmarks.polish_cost`. The time of a block of rows is compared with the
product `J'J` of the same block, by the same BLAS and in the same run. Memory is the
peak of arrays while two halves are merged and solved, in matrices of `columns^2`
numbers.
"""

import time
import tracemalloc

import numpy as np
from scipy.linalg.blas import get_blas_funcs
from threadpoolctl import threadpool_limits

from vrba.optim import StreamedQR

COLUMNS = (1000, 2000, 4000, 6000)
ROWS = 1024  # of a block
NUM_BLOCKS = 2


def main() -> None:
    """Print one line for each number of columns."""
    print("columns  ms a row  GFlop/s  QR / J'J  memory")
    with threadpool_limits(1):
        for count in COLUMNS:
            print(line(count), flush=True)


def line(count: int) -> str:
    """Cost of a row, rate, ratio to the normal equations, and peak memory."""
    generator = np.random.default_rng(0)
    block = generator.standard_normal((ROWS, count))
    rows = generator.standard_normal(ROWS)
    blocks = [(rows, block)] * NUM_BLOCKS
    tracemalloc.start()
    begun = time.perf_counter()
    found = StreamedQR.empty(count).absorb(blocks)
    seconds = (time.perf_counter() - begun) / NUM_BLOCKS
    merged = found.merge(found)
    merged.damped(None, 1e-13).step()
    peak = tracemalloc.get_traced_memory()[1] / (8 * count**2)
    tracemalloc.stop()
    (square,) = get_blas_funcs(("syrk",), (block,))
    begun = time.perf_counter()
    square(1.0, block.T)
    ratio = seconds / (time.perf_counter() - begun)
    rate = 2 * ROWS * count**2 / seconds / 1e9
    return (
        f"{count:7,}  {1e3 * seconds / ROWS:8.2f}  {rate:7.1f}  {ratio:8.1f}  "
        f"{peak:4.1f} matrices"
    )


if __name__ == "__main__":
    main()
