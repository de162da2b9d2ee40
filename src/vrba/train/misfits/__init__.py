"""Misfits: how far a predicted function is from the one that is sought."""

from ._base import AbstractMisfit as AbstractMisfit
from .mean_square import MeanSquare as MeanSquare
from .relative import Relative as Relative
from .sobolev import Sobolev as Sobolev
