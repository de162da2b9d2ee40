"""Where an equation holds: points inside, points on the boundary."""

from ._base import AbstractDomain as AbstractDomain
from .box import Box as Box
