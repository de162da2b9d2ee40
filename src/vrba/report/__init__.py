"""What runs look like: a page with figures, and panels while they go on."""

from .bar import Bar as Bar
from .board import Board as Board
from .figures import plot_arms_dynamics as plot_arms_dynamics
from .figures import plot_comparison as plot_comparison
from .figures import plot_curves as plot_curves
from .figures import plot_drawn as plot_drawn
from .figures import plot_dynamics as plot_dynamics
from .figures import plot_residual as plot_residual
from .figures import plot_solution as plot_solution
from .figures import plot_weights as plot_weights
from .figures import write_figure as write_figure
from .figures import write_figures as write_figures
from .page import write_report as write_report
from .paired import Paired as Paired
from .paired import Spread as Spread
from .paired import pair as pair
from .paired import spread as spread
from .run import RunRecord as RunRecord
from .several import ComparisonRecord as ComparisonRecord
from .tables import comparison_sentence as comparison_sentence
from .tables import comparison_table as comparison_table
from .tensorboard import TensorBoard as TensorBoard
from .terminal import Panel as Panel
from .watch import watch as watch
