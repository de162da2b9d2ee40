"""Functions of one number between layers, with their derivatives."""

from ._base import AbstractActivation as AbstractActivation
from .gelu import GELU as GELU
from .silu import SiLU as SiLU
from .sine import Sine as Sine
from .tanh import Tanh as Tanh
