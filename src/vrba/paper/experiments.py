"""The experiments of Toscano et al. (2025), with their published errors."""

from ._base import Experiment, PaperRow

_BROYDEN = {"recipe": "ssbroyden-sampling"}
_BROYDEN_SCALES = {
    "paper": _BROYDEN | {"steps": 67_000},
    # More points than the 2,011 parameters: with 2,000 of 20,000 the uniform baseline
    # failed, see docs/decisions.md.
    "laptop": _BROYDEN | {"points": 5000, "pool": 50_000, "steps": 12_000},
    "tiny": _BROYDEN | {"points": 64, "pool": 2048, "width": 8, "steps": 3},
}
_DEFAULT_SCALES = {
    "paper": {"minutes": 60.0},
    "laptop": {"minutes": 10.0},
    "tiny": {"points": 64, "pool": 2048, "width": 6, "depth": 2, "steps": 2},
}
_DEFAULT_ROWS = (PaperRow("uniform", "vrba, uniform"), PaperRow("default", "vrba"))
_OPERATOR_SCALES = {
    "paper": {"scale": "paper"},
    "laptop": {"scale": "laptop"},
    "tiny": {"scale": "tiny", "steps": 3},
}
_OPERATOR_DIFFERENCES = (
    "The cap of the weights grows from 15 to 25, and they start at 1.5; the published "
    "cap for the bubbles is 5.",
    "No gradient flows through the weights; in the published program it does.",
    "Functions are sampled by the marginal of the joint tilt; the published score "
    "ignores how large an error is.",
    "The annealing advances; in the published runs its counter did not.",
)
_BROYDEN_DIFFERENCES = (
    "Memory, rate and mix are those of the published program (0.1, 0.9 and 1), not of "
    "the text.",
    "All methods but RAD use stratified sampling, RAD samples without replacement; "
    "published draws are independent.",
    "The line searches are our own, and t is scaled to [-1, 1].",
)
_ASSUMED_BASELINE = (
    "The weaknesses of the published baseline are known for the bubbles; the same are "
    "assumed here."
)
_CROSSING = (
    "In the published curves adaptive sampling is worse than the baseline at 10,000 "
    "steps and better from 12,500 on; scale laptop ends at {steps:,}."
)
_ALLEN_CAHN_ROWS = (
    PaperRow("uniform", "Baseline", 4.34e-5, revised=8.97e-6),
    PaperRow("rad", "RAD (table 2)", 2.20e-6),
    PaperRow("default:quadratic", "Quadratic", 2.42e-6, revised=1.88e-6),
    PaperRow("default:exponential", "Exponential", 2.14e-6, revised=2.50e-6),
    PaperRow("vrba-unbiased:quadratic", "Quadratic, corrected"),
)


def _operator_rows(
    baseline: float, quadratic: float, exponential: float
) -> tuple[PaperRow, ...]:
    return (
        PaperRow("uniform-as-published", "Baseline", baseline),
        PaperRow("uniform", "Baseline, fair"),
        PaperRow("quadratic", "Quadratic", quadratic),
        PaperRow("exponential", "Exponential", exponential),
    )


_ADAM = {"recipe": "adam-weighting"}
ALLEN_CAHN_ADAM = Experiment(
    "allen-cahn-adam",
    "Allen-Cahn, Adam, weighting",
    "allen-cahn",
    (
        PaperRow("uniform", "Baseline", 1.77e-3),
        PaperRow("default:quadratic", "Quadratic", 4.1e-4),
        PaperRow("default:exponential", "Exponential", 4.1e-4),
        PaperRow("default:linear", "Equal weights, same start"),
    ),
    {
        "paper": _ADAM | {"steps": 300_000},
        "laptop": _ADAM
        | {"width": 32, "depth": 4, "points": 1000, "pool": 5120, "steps": 30_000},
        "tiny": _ADAM
        | {"points": 64, "pool": 2048, "width": 8, "depth": 2, "steps": 3},
    },
    {"is_soft": True, "soft_weight": 100.0, "modes": 10},
    (
        "The baseline balances its terms by their gradients, as the other rows do; the "
        "published one does not.",
        "The reference is converged (8,192 modes); the published one has 512 modes and "
        "an error above 1e-5.",
        "The network lacks an input that is always 1, and 64 parameters with it; it "
        "uses Glorot initialisation, and t is scaled to [-1, 1].",
        "The weights of points start at 0.1 and points are sampled by them as well, as "
        "in the published program; the text has neither. So adaptive rows see mostly "
        "the initial values at first, and the baseline does not. The last row has that "
        "schedule without a tilt: the weights of its points grow alike.",
        "The cap of the weights grows by one per 50,000 steps, as printed; in the "
        "published program per 25,000.",
        "All rows stay near an error of one half for long. In the published curves "
        "adaptive rows leave it by 15,000 steps, the baseline by 60,000; scale laptop "
        "ends at 30,000 of 300,000.",
        "Points are sampled uniformly, published is a Latin hypercube; those of the "
        "initial condition are resampled, and not fixed at 512 points.",
    ),
)
ALLEN_CAHN_SSBROYDEN = Experiment(
    "allen-cahn-ssbroyden",
    "Allen-Cahn, self-scaled Broyden, sampling",
    "allen-cahn",
    _ALLEN_CAHN_ROWS,
    _BROYDEN_SCALES,
    {"is_soft": True},
    (
        "The problem has its kink: initial values are resampled with the other points. "
        "The published program fixes them at the 512 points of its reference, between "
        "which the kink is invisible: that problem is `allen-cahn-512`.",
        "The reference is converged (8,192 modes); the published one has 512 modes and "
        "an error above 1e-5. A solution within 2.4e-6 of it is more than 7.6e-6 from "
        "the solution of the equation: ratios to such errors make ours look worse.",
        _CROSSING.format(steps=_BROYDEN_SCALES["laptop"]["steps"]),
        *_BROYDEN_DIFFERENCES,
    ),
)
_LAPTOP_512 = _BROYDEN_SCALES["laptop"] | {"steps": 20_000}
ALLEN_CAHN_512 = Experiment(
    "allen-cahn-512",
    "Allen-Cahn on 512 initial points, self-scaled Broyden, sampling",
    "allen-cahn",
    _ALLEN_CAHN_ROWS,
    _BROYDEN_SCALES | {"laptop": _LAPTOP_512},
    {"is_soft": True, "num_initial": 512},
    (
        "Initial values are fixed at 512 points, as in the published program, and the "
        "reference starts from the trigonometric polynomial through them; a solution "
        "of 512 modes, as the published one, is less than 4e-8 from it. The kink is "
        "invisible between these points: the reference is more than 1e-5 from the "
        "solution with a kink.",
        _CROSSING.format(steps=_LAPTOP_512["steps"]),
        *_BROYDEN_DIFFERENCES,
    ),
    same_curves_as=ALLEN_CAHN_SSBROYDEN.name,
)
BURGERS_SSBROYDEN = Experiment(
    "burgers-ssbroyden",
    "Burgers, self-scaled Broyden, sampling",
    "burgers",
    (
        PaperRow("uniform", "Baseline", 1.67e-7, revised=2.78e-8),
        PaperRow("rad", "RAD (table 2)", 2.90e-8),
        PaperRow("default:quadratic", "Quadratic", 1.74e-8, revised=8.25e-9),
        PaperRow("default:exponential", "Exponential", 1.51e-8, revised=8.38e-9),
        PaperRow("vrba-unbiased:quadratic", "Quadratic, corrected"),
    ),
    _BROYDEN_SCALES,
    {"is_periodic": True},
    (
        "The paper prints last iterates, as here, and elsewhere best ones: 1.96e-8, "
        "1.25e-8 and 1.11e-8 for the baseline, quadratic and exponential. Our selected "
        "iterate is selected by residual, with the last beside it.",
        "The later revision has five frequencies of x, and selects by residual.",
        *_BROYDEN_DIFFERENCES,
    ),
)
ALLEN_CAHN_OWN = Experiment(
    "allen-cahn-own",
    "Allen-Cahn, Levenberg-Marquardt, our ansatz",
    "allen-cahn",
    _DEFAULT_ROWS,
    _DEFAULT_SCALES,
)
BURGERS_OWN = Experiment(
    "burgers-own",
    "Burgers, Levenberg-Marquardt, our ansatz",
    "burgers",
    _DEFAULT_ROWS,
    _DEFAULT_SCALES,
)
BUBBLE = Experiment(
    "bubble",
    "Bubble growth, DeepONet",
    "bubble",
    _operator_rows(7.41e-2, 6.24e-3, 4.97e-3),
    _OPERATOR_SCALES,
    differences=(
        *_OPERATOR_DIFFERENCES,
        "The data are solved exactly; the published ones with a tolerance of 1e-3.",
        "Errors are those of the test set; published ones those of the validation set.",
    ),
    is_data=True,
)
KOLMOGOROV = Experiment(
    "kolmogorov",
    "Kolmogorov flow, FNO",
    "kolmogorov",
    _operator_rows(5.13e-2, 2.37e-2, 2.25e-2),
    _OPERATOR_SCALES,
    differences=(
        *_OPERATOR_DIFFERENCES,
        _ASSUMED_BASELINE,
        "At scale laptop a function is seen 50 times, while a weight needs about 150 "
        "updates to adapt: these methods are hardly adaptive.",
    ),
    is_data=True,
)
WAVE = Experiment(
    "wave",
    "Wave, time-conditioned U-Net",
    "wave",
    _operator_rows(3.69e-2, 1.00e-2, 1.05e-2),
    _OPERATOR_SCALES,
    differences=(
        *_OPERATOR_DIFFERENCES,
        _ASSUMED_BASELINE,
        "At scale laptop a function is seen 12 times, while a weight needs about 150 "
        "updates to adapt: these methods are hardly adaptive.",
        "A later repeat of the published baseline ended at 1.31e-2.",
    ),
    is_data=True,
)
