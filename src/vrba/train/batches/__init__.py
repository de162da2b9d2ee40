"""Batches: which functions a step sees."""

from ._base import AbstractBatches as AbstractBatches
from .drawn import Drawn as Drawn
from .epochs import Epochs as Epochs
