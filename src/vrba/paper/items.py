"""The tables and figures of Toscano et al. (2025)."""

from ._base import Cited, Exhibit
from .experiments import (
    ALLEN_CAHN_512,
    ALLEN_CAHN_ADAM,
    ALLEN_CAHN_OWN,
    ALLEN_CAHN_SSBROYDEN,
    BUBBLE,
    BURGERS_OWN,
    BURGERS_SSBROYDEN,
    KOLMOGOROV,
    WAVE,
)

_DYNAMICS = ("comparison", "arms-dynamics")
_OVER_TIME = ("comparison", "arms-errors", "arms-over-time")

TABLE1 = Exhibit(
    "table1",
    "Allen-Cahn: adaptivity with first and with second order",
    (ALLEN_CAHN_ADAM, ALLEN_CAHN_SSBROYDEN, ALLEN_CAHN_512),
)
TABLE2 = Exhibit(
    "table2",
    "Allen-Cahn and Burgers: the state of the art",
    (ALLEN_CAHN_SSBROYDEN, ALLEN_CAHN_OWN, BURGERS_SSBROYDEN, BURGERS_OWN),
    (
        Cited("Allen-Cahn, cited", "SOAP", 3.48e-6, "against 512 modes"),
        Cited("Burgers, cited", "SOAP", 4.03e-5, "the error of its reference"),
        Cited("Burgers, cited", "SSBroyden, Wolfe search", 1.62e-8),
    ),
)
TABLE3 = Exhibit("table3", "Burgers: adaptivity", (BURGERS_SSBROYDEN,))
TABLE4 = Exhibit("table4", "Operators: adaptivity", (BUBBLE, KOLMOGOROV, WAVE))
FIGURE1 = Exhibit(
    "figure1",
    "Allen-Cahn: how it learns",
    (ALLEN_CAHN_SSBROYDEN, ALLEN_CAHN_512),
    (),
    _DYNAMICS,
)
FIGURE2 = Exhibit(
    "figure2", "Burgers: how it learns", (BURGERS_SSBROYDEN,), (), _DYNAMICS
)
FIGURE3 = Exhibit("figure3", "Bubble growth", (BUBBLE,), (), _OVER_TIME)
FIGURE4 = Exhibit("figure4", "Kolmogorov flow", (KOLMOGOROV,), (), _OVER_TIME)
FIGURE5 = Exhibit("figure5", "FourierFeatures", (WAVE,), (), _OVER_TIME)
