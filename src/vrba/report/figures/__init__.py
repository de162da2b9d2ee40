"""Figures, one file each, from what a run leaves behind."""

from ._base import RunFigure as RunFigure
from .arms_dynamics import plot_arms_dynamics as plot_arms_dynamics
from .comparison import plot_comparison as plot_comparison
from .curves import CURVES as CURVES
from .curves import plot_curves as plot_curves
from .drawn import DRAWN as DRAWN
from .drawn import plot_drawn as plot_drawn
from .dynamics import DYNAMICS as DYNAMICS
from .dynamics import plot_dynamics as plot_dynamics
from .residual import RESIDUAL as RESIDUAL
from .residual import plot_residual as plot_residual
from .solution import SOLUTION as SOLUTION
from .solution import plot_solution as plot_solution
from .weights import WEIGHTS as WEIGHTS
from .weights import plot_weights as plot_weights
from .write import figures_of as figures_of
from .write import write_figure as write_figure
from .write import write_figures as write_figures
