"""The tables and figures of Toscano et al. (2025)."""

from ._base import CitedRow, Experiment, PaperItem
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

_DYNAMICS = ("comparison", "dynamics")
_OVER_TIME = ("comparison", "errors", "errors-over-time")

ITEMS = (
    PaperItem(
        "table1",
        "Allen-Cahn: adaptivity with first and second order",
        (ALLEN_CAHN_ADAM, ALLEN_CAHN_SSBROYDEN, ALLEN_CAHN_512),
    ),
    PaperItem(
        "table2",
        "Allen-Cahn and Burgers: the state of the art",
        (ALLEN_CAHN_SSBROYDEN, ALLEN_CAHN_OWN, BURGERS_SSBROYDEN, BURGERS_OWN),
        (
            CitedRow("Allen-Cahn, cited", "SOAP", 3.48e-6, "against 512 modes"),
            CitedRow("Burgers, cited", "SOAP", 4.03e-5, "the error of its reference"),
            CitedRow("Burgers, cited", "SSBroyden, Wolfe search", 1.62e-8),
        ),
    ),
    PaperItem("table3", "Burgers: adaptivity", (BURGERS_SSBROYDEN,)),
    PaperItem("table4", "Operators: adaptivity", (BUBBLE, KOLMOGOROV, WAVE)),
    PaperItem(
        "figure1",
        "Allen-Cahn: learning dynamics",
        (ALLEN_CAHN_SSBROYDEN, ALLEN_CAHN_512),
        pictures=_DYNAMICS,
    ),
    PaperItem(
        "figure2",
        "Burgers: learning dynamics",
        (BURGERS_SSBROYDEN,),
        pictures=_DYNAMICS,
    ),
    PaperItem("figure3", "Bubble growth", (BUBBLE,), pictures=_OVER_TIME),
    PaperItem("figure4", "Kolmogorov flow", (KOLMOGOROV,), pictures=_OVER_TIME),
    PaperItem("figure5", "Waves", (WAVE,), pictures=_OVER_TIME),
)


def known_items() -> dict[str, PaperItem]:
    """Tables and figures by name."""
    return {item.name: item for item in ITEMS}


def known_experiments() -> dict[str, Experiment]:
    """Experiments by name, each once."""
    return {one.name: one for item in ITEMS for one in item.experiments}
