"""Table 2: Burgers as vrba solves it unless told otherwise."""

from .._base import Arm, Experiment
from ._sizes import OWN

BURGERS_OWN = Experiment(
    "burgers-own",
    "Burgers, Levenberg-Marquardt, our ansatz",
    "burgers",
    (Arm("uniform", "vrba, evenly drawn"), Arm("default", "vrba, by default")),
    OWN,
)
