"""The command `vrba`."""

from ._base import AbstractCommand as AbstractCommand
from .compare import Compare as Compare
from .list import List as List
from .solve import Solve as Solve
