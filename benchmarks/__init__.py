"""Measured claims: `make bench`. Each is a ratio of two things timed in one run."""

import pkgutil

HELPERS = (
    "__main__",
    "commit",
    "kept_runs",
    "one_shot_page",
    "polish_page",
    "problems",
    "processes",
    "results_page",
    "robust_page",
    "robust_runs",
    "robust_sets",
    "robust_tables",
    "shortcomings",
    "timing",
    "torch_deeponet",
    "study",
    "study_page",
    "variants",
)
CASES = [one.name for one in pkgutil.iter_modules(__path__) if one.name not in HELPERS]
