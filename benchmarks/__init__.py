"""Measured claims: `make bench`. Each is a ratio of two things timed in one run."""

import pkgutil

HELPERS = (
    "__main__",
    "commit",
    "kept_runs",
    "polish_page",
    "problems",
    "results_page",
    "shortcomings",
    "timing",
    "torch_deeponet",
    "study",
    "study_page",
    "variants",
)
CASES = [one.name for one in pkgutil.iter_modules(__path__) if one.name not in HELPERS]
