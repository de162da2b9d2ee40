"""Run every benchmark, or those named: `python -m benchmarks [adapt_cost ...]`."""

import importlib
import pkgutil
import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

found = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
cases = [
    name
    for name in found
    if name not in ("__main__", "timing", "torch_deeponet", "variants")
]
asked = sys.argv[1:]
if unknown := set(asked) - set(cases):
    sys.exit(f"No benchmark named {', '.join(sorted(unknown))}; there are {cases}.")
for name in asked or cases:
    case = importlib.import_module(f"benchmarks.{name}")
    if hasattr(case, "IS_LONG"):  # hours, with flags of its own
        print(f"== {name}: by itself, python -m benchmarks.{name}", flush=True)
        continue
    print(f"== {name}", flush=True)
    case.main()
