"""Functions with named derivatives, all propagated in one forward pass."""

from ._base import AbstractPropagated as AbstractPropagated
from .blocks import choose_block_size as choose_block_size
from .blocks import map_in_blocks as map_in_blocks
from .field import Field as Field
from .field import derivative_index as derivative_index
from .jet import Index as Index
from .jet import Jet as Jet
from .jet import compose as compose
from .jet import coordinate_jets as coordinate_jets
from .jet import downward_closure as downward_closure
from .jet import multiply as multiply
from .jet import repeated_derivatives as repeated_derivatives
from .jet import value_of as value_of
from .propagation import propagate as propagate
