"""What runs look like: figures and tables of results, and panels while they go on."""

from .board import Board as Board
from .figures import plot_comparison as plot_comparison
from .figures import plot_solution as plot_solution
from .figures import write_figure as write_figure
from .figures import write_figures as write_figures
from .paired import Paired as Paired
from .paired import Spread as Spread
from .paired import pair as pair
from .paired import spread as spread
from .tables import comparison_sentence as comparison_sentence
from .tables import comparison_table as comparison_table
from .terminal import Panel as Panel
