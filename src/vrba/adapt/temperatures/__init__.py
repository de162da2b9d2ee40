"""Temperatures: how sharp the tilt is and how it is normalised.

`vrba.adapt` exports them: a new one needs a file here and an export line there.
"""

from ._base import AbstractSchedule as AbstractSchedule
from ._base import AbstractTemperature as AbstractTemperature
from ._base import Fixed as Fixed
from ._base import LogAnnealing as LogAnnealing
from ._base import Scale as Scale
