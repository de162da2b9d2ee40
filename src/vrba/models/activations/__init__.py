"""Functions of one number between layers, with their derivatives."""

from ._base import AbstractActivation as AbstractActivation
from .sine import Sine as Sine
from .tanh import Tanh as Tanh
