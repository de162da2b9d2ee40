"""What a solution must satisfy besides the equations."""

from ._base import AbstractCondition as AbstractCondition
from ._base import Penalty as Penalty
from ._boundary import AbstractBoundaryCondition as AbstractBoundaryCondition
from .ansatz import Ansatz as Ansatz
from .constraint import Constraint as Constraint
from .data import Data as Data
from .dirichlet import Dirichlet as Dirichlet
from .initial import Initial as Initial
from .neumann import Neumann as Neumann
from .periodic import Periodic as Periodic
from .robin import Robin as Robin
from .waves import FourierFeatures as FourierFeatures
