"""Table 4: bubbles in a changing pressure."""

from .._base import Arm, Experiment
from ._sizes import OPERATORS, UNLIKE

BUBBLE = Experiment(
    "bubble",
    "Bubble growth, DeepONet",
    "bubble",
    (
        Arm("uniform-as-published", "Baseline", 7.41e-2),
        Arm("uniform", "Baseline, fair"),
        Arm("quadratic", "Quadratic", 6.24e-3),
        Arm("exponential", "Exponential", 4.97e-3),
    ),
    OPERATORS,
    differences=(
        *UNLIKE,
        "The data are solved exactly; the published ones with a tolerance of 1e-3.",
        "Errors are those of the test set; published are those of the validation set.",
    ),
)
