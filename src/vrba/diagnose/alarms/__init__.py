"""Alarms: rules that find problems in the record of a run."""

from ._base import AbstractAlarm as AbstractAlarm
from ._base import Finding as Finding
from .search import find_current_warnings as find_current_warnings
from .search import find_warnings as find_warnings
from .terms import DominantTerm as DominantTerm
from .terms import GrowingConditions as GrowingConditions
from .terms import UndeterminedPart as UndeterminedPart
from .training import FailingSteps as FailingSteps
from .training import RoundingFloor as RoundingFloor
from .training import SmallPool as SmallPool
from .weights import CollapsedWeights as CollapsedWeights
from .weights import IdleTilt as IdleTilt
