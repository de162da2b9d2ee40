"""Guards against steps without curvature."""

from ._base import AbstractCurvature as AbstractCurvature
from .damp import Damp as Damp
from .skip import Skip as Skip
