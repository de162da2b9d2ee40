"""Accelerations: the correction of second order of a Gauss-Newton step."""

from ._base import AbstractAcceleration as AbstractAcceleration
from .exact_second import ExactSecond as ExactSecond
from .finite_difference import FiniteDifference as FiniteDifference
from .no_acceleration import NoAcceleration as NoAcceleration
