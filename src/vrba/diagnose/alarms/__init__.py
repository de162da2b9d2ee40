"""What may be wrong with a run, one file each, from what it logs."""

from ._base import AbstractAlarm as AbstractAlarm
from ._base import Finding as Finding
from .collapsed_weights import CollapsedWeights as CollapsedWeights
from .dominant_term import DominantTerm as DominantTerm
from .failing_steps import FailingSteps as FailingSteps
from .find import find_warnings as find_warnings
from .find import listen as listen
from .growing_conditions import GrowingConditions as GrowingConditions
from .idle_tilt import IdleTilt as IdleTilt
from .rounding_floor import RoundingFloor as RoundingFloor
from .small_pool import SmallPool as SmallPool
