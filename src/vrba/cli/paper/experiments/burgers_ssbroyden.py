"""Table 3: Burgers with self-scaled Broyden, and drawn points."""

from .._base import Arm, Experiment
from ._sizes import SSBROYDEN

BURGERS_SSBROYDEN = Experiment(
    "burgers-ssbroyden",
    "Burgers, self-scaled Broyden, sampling",
    "burgers",
    (
        Arm("uniform", "Baseline", 1.67e-7),
        Arm("vrba:quadratic", "Quadratic", 1.74e-8),
        Arm("vrba:exponential", "Exponential", 1.51e-8),
    ),
    SSBROYDEN,
    ("is_periodic=True",),
    (
        "Published are last iterates in one place and best ones in another; ours are "
        "selected by residual, and the last beside them.",
    ),
)
