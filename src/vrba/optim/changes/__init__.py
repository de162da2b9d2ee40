"""Changes: what becomes of the inverse Hessian when points or weights are new."""

from ._base import AbstractChange as AbstractChange
from .keep import Keep as Keep
from .rescale import Rescale as Rescale
from .reset import Reset as Reset
