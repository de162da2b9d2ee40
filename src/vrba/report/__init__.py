"""What a run looks like: figures of its results, and a panel while it goes on."""

from .figures import plot_solution as plot_solution
from .figures import write_figures as write_figures
from .terminal import Panel as Panel
