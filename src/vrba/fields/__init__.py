"""Functions with named derivatives, all propagated in one forward pass."""

from ._base import AbstractPropagated as AbstractPropagated
from .blocks import choose_block_size as choose_block_size
from .blocks import in_blocks as in_blocks
from .field import Field as Field
from .field import derivative_index as derivative_index
from .jet import Index as Index
from .jet import Jet as Jet
from .jet import closure as closure
from .jet import composed as composed
from .jet import coordinate_jets as coordinate_jets
from .jet import multiplied as multiplied
from .jet import tower as tower
from .jet import value_of as value_of
from .propagate import propagate as propagate
