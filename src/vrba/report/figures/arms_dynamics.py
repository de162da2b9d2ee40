"""Why arms differ: residual variance and signal-to-noise of several methods."""

from matplotlib.figure import Figure

from ._base import finish, has_any, new_panels
from .comparison import Arms, draw_arms

_MEASURES = {
    "variance_r2": "variance of squared residual",
    "snr": "gradient signal-to-noise",
    "snr_unit": "the same, gradients of unit length",
}


def plot_arms_dynamics(arms: Arms) -> Figure | None:
    """Residual variance and gradient signal-to-noise ratio (as it is, and as published
    of gradients of unit length) of every arm against steps, median and ends over seeds;
    None if no run was diagnosed."""
    logged = [entry for runs in arms.values() for run in runs for entry in run]
    known = {name: text for name, text in _MEASURES.items() if has_any(logged, name)}
    if not known:
        return None
    figure, panels = new_panels(len(known))
    for panel, (measure, label) in zip(panels, known.items(), strict=True):
        draw_arms(panel, arms, "step", measure)
        finish(panel, xlabel="steps", ylabel=label)
    return figure
