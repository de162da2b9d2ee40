"""Convex potentials, from no adaptivity (linear) to the maximum (superexponential)."""

from ._base import AbstractPotential as AbstractPotential
from .custom import Custom as Custom
from .exponentials import Cosh as Cosh
from .exponentials import Exponential as Exponential
from .exponentials import Logarithmic as Logarithmic
from .exponentials import SuperExponential as SuperExponential
from .powers import Linear as Linear
from .powers import Power as Power
from .powers import Quadratic as Quadratic
