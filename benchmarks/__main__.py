"""Run every benchmark, or those named: `python -m benchmarks [adapt_cost ...]`."""

import importlib
import sys

import jax

from . import CASES

jax.config.update("jax_enable_x64", True)

asked = sys.argv[1:]
if unknown := set(asked) - set(CASES):
    sys.exit(f"No benchmark named {', '.join(sorted(unknown))}; there are {CASES}.")
for name in asked or CASES:
    case = importlib.import_module(f"benchmarks.{name}")
    if hasattr(case, "IS_LONG"):  # hours, with flags of its own
        print(f"== {name}: by itself, python -m benchmarks.{name}", flush=True)
        continue
    print(f"== {name}", flush=True)
    case.main()
