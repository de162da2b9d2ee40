"""The command `vrba`."""

from ._base import AbstractCommand as AbstractCommand
from .solve import Solve as Solve
