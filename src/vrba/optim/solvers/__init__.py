"""Solvers of the damped normal equations."""

from ._base import AbstractCholesky as AbstractCholesky
from ._base import AbstractSolver as AbstractSolver
from ._base import AbstractSystem as AbstractSystem
from .cholesky import Cholesky as Cholesky
from .cholesky import CholeskySystem as CholeskySystem
from .cholesky import Triangle as Triangle
from .conjugate_gradients import ConjugateGradients as ConjugateGradients
from .conjugate_gradients import DampedSystem as DampedSystem
from .conjugate_gradients import ImplicitSystem as ImplicitSystem
from .host_cholesky import HostCholesky as HostCholesky
from .host_cholesky import HostSystem as HostSystem
from .host_cholesky import HostTriangle as HostTriangle
