"""Convex potentials: what is pressed on, from nothing (linear) to the maximum."""

from ._base import AbstractPotential as AbstractPotential
from .cosh import Cosh as Cosh
from .custom import Custom as Custom
from .exponential import Exponential as Exponential
from .linear import Linear as Linear
from .logarithmic import Logarithmic as Logarithmic
from .power import Power as Power
from .quadratic import Quadratic as Quadratic
from .super_exponential import SuperExponential as SuperExponential
