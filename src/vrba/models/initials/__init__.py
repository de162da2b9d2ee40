"""Initials: the random parameters that a layer begins with."""

from ._base import AbstractInitial as AbstractInitial
from .fan_in import FanIn as FanIn
from .glorot import Glorot as Glorot
