"""The runs of `benchmarks.robust`: sets of problems with their time and variants."""

from collections.abc import Mapping
from typing import NamedTuple

from vrba.compare import known_problems

DEFAULT = "default"
WITHOUT_BOTH = "no-balance,no-exact-conditions"
MECHANISMS = (
    "no-balance",
    "no-exact-conditions",
    "no-continuation",
    "no-slabs",
    "no-scales",
)
ABLATED = ("biharmonic", "boundary-layer", "square-with-four-holes", "lorenz")
ABLATED = (*ABLATED, "plain-burgers")
CHAOTIC = "kuramoto-sivashinsky:end=0.4"

# The largest error that is wanted, or none: then the program has to report a failure.
HARD = {
    "biharmonic": 1e-9,
    "square-with-four-holes": 1e-4,
    "boundary-layer": 1e-6,
    "eikonal": 1e-5,
    "lorenz": 1e-5,
    "plain-burgers": 1e-8,
    "kovasznay": 1e-9,
    "fisherkpp": 1e-9,
    "barenblatt": 1e-3,
}
WITHOUT_POLISH = {"plain-burgers": 1e-6, "kovasznay": 1e-6}
MAY_REPORT_FAILURE = ("barenblatt", CHAOTIC, "wave-with-variable-speed")
PINNACLE: dict[str, float | None] = {
    "square-with-four-holes": 1e-4,
    "heat-around-circles": 2.4e-2,
    "heat-for-long": 0.1,
    "heat-in-two-materials": 0.2,
    "heat-across-interface": 0.2,
    "inverse-poisson": 2.5e-2,
    CHAOTIC: None,
    "wave-with-variable-speed": None,
}
NEW = (
    "interior-layer",
    "van-der-pol",
    "swift-hohenberg",
    "cooled-disk",
    "long-wave",
    "porous-fisher",
    "rotating-hill",
    "cavity400",
    "short-waves",
    "inverse-fisher",
)


class Kind(NamedTuple):
    """One run of a set, apart from its seed. A variant is flags without `--`."""

    problem: str
    variant: str = DEFAULT
    minutes: float = 2.0
    target: float | None = None

    @property
    def flags(self) -> list[str]:
        """The flags of the variant."""
        if self.variant == DEFAULT:
            return []
        return [f"--{name}" for name in self.variant.split(",")]


def sets() -> Mapping[str, list[Kind]]:
    """All sets by name."""
    hard = [Kind(name, target=target) for name, target in HARD.items()]
    hard += [Kind(n, "no-polish", target=aim) for n, aim in WITHOUT_POLISH.items()]
    shipped = [*sorted(known_problems()), "allen-cahn:is_soft=True"]
    pinnacle = [
        Kind(name, minutes=20.0 if name == CHAOTIC else 4.0, target=target)
        for name, target in PINNACLE.items()
    ]
    variants = (DEFAULT, *MECHANISMS)
    return {
        "hard": hard,
        "new": [Kind(name) for name in NEW],
        "shipped": [Kind(name) for name in shipped],
        "pinnacle": pinnacle,
        "ablation": [Kind(name, one) for name in ABLATED for one in variants],
        "cost": [Kind(n, one) for n in ABLATED for one in (DEFAULT, WITHOUT_BOTH)],
    }
