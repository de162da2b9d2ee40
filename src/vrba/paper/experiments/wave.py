"""Table 4: waves in an uneven medium."""

from .._base import Arm, Experiment
from ._sizes import ASSUMED, OPERATORS, UNLIKE

WAVE = Experiment(
    "wave",
    "Wave, time-conditioned U-Net",
    "wave",
    (
        Arm("uniform-as-published", "Baseline", 3.69e-2),
        Arm("uniform", "Baseline, fair"),
        Arm("quadratic", "Quadratic", 1.00e-2),
        Arm("exponential", "Exponential", 1.05e-2),
    ),
    OPERATORS,
    differences=(
        *UNLIKE,
        ASSUMED,
        "At scale laptop a function is seen 12 times, while a weight takes about 150 "
        "visits to adapt: these arms are hardly adaptive.",
        "A later repeat of the published baseline ended at 1.31e-2.",
    ),
)
