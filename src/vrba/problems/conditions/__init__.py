"""Conditions that a solution must satisfy besides the equations."""

from ._base import AbstractCondition as AbstractCondition
from ._base import Penalty as Penalty
from ._base import evaluate_value as evaluate_value
from .boundary import AbstractBoundaryCondition as AbstractBoundaryCondition
from .boundary import Dirichlet as Dirichlet
from .boundary import Neumann as Neumann
from .boundary import Robin as Robin
from .constraint import Constraint as Constraint
from .data import Data as Data
from .hard import Ansatz as Ansatz
from .hard import FourierFeatures as FourierFeatures
from .hard import Periodic as Periodic
from .initial import GivenInitial as GivenInitial
from .initial import Initial as Initial
from .interface import SIDES as SIDES
from .interface import AbstractInterfaceCondition as AbstractInterfaceCondition
from .interface import FluxJump as FluxJump
from .interface import Interface as Interface
from .interface import InterfaceConstraint as InterfaceConstraint
from .interface import Jump as Jump
from .interface import LevelFn as LevelFn
from .mean import Average as Average
from .mean import Mean as Mean
from .singular import Singular as Singular
