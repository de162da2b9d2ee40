"""The command `vrba`."""

from ._base import AbstractCommand as AbstractCommand
from .compare import Compare as Compare
from .data import Data as Data
from .list import List as List
from .report import Report as Report
from .reproduce import Reproduce as Reproduce
from .solve import Solve as Solve
from .train import Train as Train
from .watch import Watch as Watch
