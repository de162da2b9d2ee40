"""Figures, one file each, from the arrays that a run leaves behind."""

from .comparison import plot_comparison as plot_comparison
from .solution import plot_solution as plot_solution
from .write import write_figure as write_figure
from .write import write_figures as write_figures
