"""Table 2: Allen-Cahn with self-scaled Broyden and RAD."""

from .._base import Arm, Experiment
from ._sizes import SSBROYDEN

ALLEN_CAHN_RAD = Experiment(
    "allen-cahn-rad",
    "Allen-Cahn, self-scaled Broyden, RAD",
    "allen-cahn",
    (Arm("rad", "SSBroyden with RAD", 2.20e-6),),
    SSBROYDEN,
    ("is_soft=True",),
)
