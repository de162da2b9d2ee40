"""Table 2: Burgers with self-scaled Broyden and RAD."""

from .._base import Arm, Experiment
from ._sizes import SSBROYDEN

BURGERS_RAD = Experiment(
    "burgers-rad",
    "Burgers, self-scaled Broyden, RAD",
    "burgers",
    (Arm("rad", "SSBroyden with RAD", 2.90e-8),),
    SSBROYDEN,
    ("is_periodic=True",),
)
