"""Losses: how weights meet residuals."""

from ._base import AbstractLoss as AbstractLoss
from .exact_squared import ExactSquaredLoss as ExactSquaredLoss
from .first_power import FirstPowerLoss as FirstPowerLoss
from .squared import SquaredLoss as SquaredLoss
