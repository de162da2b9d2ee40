"""Updates: what a step teaches about the inverse Hessian."""

from ._base import AbstractUpdate as AbstractUpdate
from ._base import Correction as Correction
from ._base import Secant as Secant
from .bfgs import BFGS as BFGS
from .ss_bfgs import SSBFGS as SSBFGS
from .ss_broyden import SSBroyden as SSBroyden
