"""Operator data: generate, write and read pairs of functions."""

from ._base import AbstractMaker as AbstractMaker
from .bubble import Bubble as Bubble
from .files import PairsError as PairsError
from .files import open_pairs as open_pairs
from .files import write_pairs as write_pairs
from .kolmogorov import Kolmogorov as Kolmogorov
from .pairs import Pairs as Pairs
from .pairs import is_uniform as is_uniform
from .pairs import output_points as output_points
from .pairs import quadrature_weights as quadrature_weights
from .wave import Wave as Wave
