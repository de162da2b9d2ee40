"""Temperatures: how sharp the tilt is and how it is normalised."""

from ._base import AbstractSchedule as AbstractSchedule
from ._base import AbstractTemperature as AbstractTemperature
from ._base import Fixed as Fixed
from ._base import LogAnnealing as LogAnnealing
from ._base import Scale as Scale
from .solved import EffectiveSize as EffectiveSize
from .solved import SolveShift as SolveShift
from .solved import SolveTemperature as SolveTemperature
