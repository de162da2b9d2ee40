"""What is compared: each arm is a script, where it runs, and what can be said of it."""

import dataclasses

ENVIRONMENTS = {  # versions of these and of all they need are in `constraints`
    "deepxde": ("deepxde", "torch"),
    "pina": ("pina-mathlab", "torch"),
    "jinns": ("jinns",),
    "fastlsq": ("fastlsq", "torch"),
}


@dataclasses.dataclass(frozen=True)
class Arm:
    """`package` is the environment that its script runs in; vrba's is this one."""

    name: str
    package: str
    optimizer: str
    points: str
    note: str = ""
    problems: tuple[str, ...] = ()

    @property
    def is_own(self) -> bool:
        """Whether it is vrba."""
        return self.package == "vrba"

    def solves(self, problem: str) -> bool:
        """Whether there is such a run."""
        return not self.problems or problem in self.problems


ARMS = (
    Arm(
        "vrba",
        "vrba",
        "Levenberg-Marquardt",
        "drawn by the residual, unbiased",
        "What `vrba.solve(problem, minutes=...)` does, with its sizes written out. "
        "Allen-Cahn has its default ansatz, which carries the kink of the initial "
        "data; peers do not have it.",
    ),
    Arm(
        "vrba-uniform",
        "vrba",
        "Levenberg-Marquardt",
        "uniform sampling",
        "The default with `presets.uniform()`.",
    ),
    Arm(
        "vrba-soft",
        "vrba",
        "Levenberg-Marquardt",
        "drawn by the residual, unbiased",
        "`AllenCahn(is_soft=True)`: the problem as the peers are given it. What "
        "limits it is in docs/solving.md.",
        ("allen-cahn",),
    ),
    Arm(
        "vrba-soft-uniform",
        "vrba",
        "Levenberg-Marquardt",
        "uniform sampling",
        "The same with `presets.uniform()`, also for the initial values.",
        ("allen-cahn",),
    ),
    Arm(
        "vrba-ssbroyden",
        "vrba",
        "Adam, 1,000 steps, then self-scaled Broyden",
        "drawn by the residual, unbiased",
        "The kind of optimizer of `jinns-ssbroyden`, with vrba's own searches and "
        "default policy, on as many points as the others have. Allen-Cahn is soft, as "
        "for the peers.",
    ),
    Arm(
        "vrba-ssbroyden-uniform",
        "vrba",
        "Adam, 1,000 steps, then self-scaled Broyden",
        "uniform sampling",
        "The same with `presets.uniform()`.",
    ),
    Arm(
        "vrba-lbfgs",
        "vrba",
        "Adam, 1,000 steps, then L-BFGS",
        "drawn by the residual, unbiased",
        "vrba's default policy, on as many points as the others have, with terms "
        "weighed as for the peers; L-BFGS is optax's. "
        "Allen-Cahn is soft, as for the peers.",
    ),
    Arm(
        "vrba-lbfgs-uniform",
        "vrba",
        "Adam, 1,000 steps, then L-BFGS",
        "uniform sampling",
        "The same with `presets.uniform()`.",
    ),
    Arm(
        "vrba-adam",
        "vrba",
        "Adam",
        "drawn by the residual, unbiased",
        "With vrba's decaying rate, which begins at 1e-3. Allen-Cahn is soft.",
    ),
    Arm(
        "vrba-adam-uniform",
        "vrba",
        "Adam",
        "uniform sampling",
        "The same with `presets.uniform()`.",
    ),
    Arm(
        "deepxde-rad",
        "deepxde",
        "Adam, a tenth of the time, then Adam and L-BFGS in turn",
        "RAD: drawn by the residual, k = c = 1",
        "Points are drawn before each round of 1,000 steps of Adam and 1,000 "
        "iterations of L-BFGS, out of as many as vrba's pool has, new ones each time. "
        "Its authors' example makes 15,000 steps of Adam first; here it is a tenth of "
        "the time, if that is shorter. Backend torch: "
        "with JAX there is no L-BFGS, and float64 leaves parameters in float32.",
    ),
    Arm(
        "pina-rba",
        "pina",
        "Adam",
        "fixed, weighted (RBA, eta = 0.001, gamma = 0.999)",
        "Fixed points in one batch: its resampling (R3) raises with this solver, and "
        "with several batches a weight would not belong to a point. The loss is "
        "`lambda r^2`, and `lambda` starts at zero.",
        ("burgers", "allen-cahn", "helmholtz", "poisson"),
    ),
    Arm(
        "jinns-adam",
        "jinns",
        "Adam",
        "RAR-D by the squared residual, every 100 steps",
        "Half of the points are kept by their residual, half are new and even: the set "
        "does not grow, and there is no pool. Wu's k = 2 and c = 0, which is k = 1 in "
        "jinns: it squares the residual first.",
    ),
    Arm(
        "jinns-ssbroyden",
        "jinns",
        "Adam, a tenth of the time, then self-scaled Broyden",
        "RAR-D by the squared residual, every 100 steps",
        "The inverse Hessian is kept when points change. Both stages compile.",
    ),
    Arm(
        "jinns-ngd",
        "jinns",
        "natural gradients (`vanilla_ngd`)",
        "RAR-D by the squared residual, every 15 steps",
        "Gauss-Newton's matrix with a fixed ridge, and a search along the line: of all "
        "peers' the closest to vrba's own. Defaults, from the first step on; on "
        "Helmholtz its loss grew from there, and it stopped by itself.",
    ),
)
