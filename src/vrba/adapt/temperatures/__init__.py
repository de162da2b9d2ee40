"""Temperatures: how sharp the tilt is and how it is normalised."""

from ._base import AbstractSchedule as AbstractSchedule
from ._base import AbstractTemperature as AbstractTemperature
from ._base import Scale as Scale
from .effective_size import EffectiveSize as EffectiveSize
from .fixed import Fixed as Fixed
from .log_annealing import LogAnnealing as LogAnnealing
from .solve_shift import SolveShift as SolveShift
from .solve_temperature import SolveTemperature as SolveTemperature
