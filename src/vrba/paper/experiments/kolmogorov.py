"""Table 4: a stirred flow."""

from .._base import Arm, Experiment
from ._sizes import ASSUMED, OPERATORS, UNLIKE

KOLMOGOROV = Experiment(
    "kolmogorov",
    "Kolmogorov flow, FNO",
    "kolmogorov",
    (
        Arm("uniform-as-published", "Baseline", 5.13e-2),
        Arm("uniform", "Baseline, fair"),
        Arm("quadratic", "Quadratic", 2.37e-2),
        Arm("exponential", "Exponential", 2.25e-2),
    ),
    OPERATORS,
    differences=(
        *UNLIKE,
        ASSUMED,
        "At scale laptop a function is seen 50 times, while a weight takes about 150 "
        "visits to adapt: these arms are hardly adaptive.",
    ),
)
