"""What experiments share: sizes at each scale, and how they differ."""

_RECIPE = {"recipe": "ssbroyden-sampling"}
SSBROYDEN = {
    "paper": _RECIPE | {"steps": 67_000},
    "laptop": _RECIPE | {"points": 2000, "pool": 20_000, "steps": 20_000},
    "tiny": _RECIPE | {"points": 64, "pool": 128, "width": 8, "steps": 3},
}
OWN = {
    "paper": {"minutes": 60.0},
    "laptop": {"minutes": 10.0},
    "tiny": {"points": 64, "pool": 128, "width": 6, "depth": 2, "steps": 2},
}
OPERATORS = {
    "paper": {"scale": "paper"},
    "laptop": {"scale": "laptop"},
    "tiny": {"scale": "tiny", "steps": 3},
}
UNLIKE = (
    "Weights are constants where the loss is differentiated; in the published program "
    "gradients flow through them.",
    "Functions are drawn by the marginal of the joint tilt; the published score does "
    "not see how large an error is.",
    "The annealing advances; in the published runs its counter stood still.",
)
