"""Table 2: Allen-Cahn as vrba solves it unless told otherwise."""

from .._base import Arm, Experiment
from ._sizes import OWN

ALLEN_CAHN_OWN = Experiment(
    "allen-cahn-own",
    "Allen-Cahn, Levenberg-Marquardt, our ansatz",
    "allen-cahn",
    (Arm("uniform", "vrba, evenly drawn"), Arm("default", "vrba, by default")),
    OWN,
)
