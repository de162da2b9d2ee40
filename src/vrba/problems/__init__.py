"""Differential equations, one file each, and the language they are written in."""

from ._base import AbstractProblem as AbstractProblem
from .allen_cahn import AllenCahn as AllenCahn
from .burgers import Burgers as Burgers
from .cavity import Cavity as Cavity
from .classical_cavity import ClassicalCavity as ClassicalCavity
from .conditions import AbstractBoundaryCondition as AbstractBoundaryCondition
from .conditions import AbstractCondition as AbstractCondition
from .conditions import Ansatz as Ansatz
from .conditions import Constraint as Constraint
from .conditions import Data as Data
from .conditions import Dirichlet as Dirichlet
from .conditions import Initial as Initial
from .conditions import Neumann as Neumann
from .conditions import Periodic as Periodic
from .conditions import Robin as Robin
from .conditions import Soft as Soft
from .formulation import EQUATIONS as EQUATIONS
from .formulation import Formulation as Formulation
from .formulation import Residual as Residual
from .kdv import KdV as KdV
from .l_shape import LShape as LShape
from .plate_with_hole import PlateWithHole as PlateWithHole
from .reference import Reference as Reference
from .reference import inside_grid as inside_grid
