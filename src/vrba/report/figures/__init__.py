"""Figures, one file each, from the arrays that a run leaves behind."""

from .solution import plot_solution as plot_solution
from .write import write_figures as write_figures
