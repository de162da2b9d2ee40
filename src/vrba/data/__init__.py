"""Pairs of functions for operators: made, written, and read."""

from ._base import AbstractMaker as AbstractMaker
from .bubble import Bubble as Bubble
from .files import PairsError as PairsError
from .files import open_pairs as open_pairs
from .files import write_pairs as write_pairs
from .kolmogorov import Kolmogorov as Kolmogorov
from .pairs import Pairs as Pairs
from .pairs import is_even as is_even
from .pairs import places_of as places_of
from .pairs import shares_of as shares_of
from .wave import Wave as Wave
