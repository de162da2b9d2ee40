"""Networks: settings here, parameters made by `build`."""

from ._base import AbstractArchitecture as AbstractArchitecture
from .activations import GELU as GELU
from .activations import AbstractActivation as AbstractActivation
from .activations import SiLU as SiLU
from .activations import Sine as Sine
from .activations import Tanh as Tanh
from .embedding import Embedding as Embedding
from .mlp import MLP as MLP
from .mlp import Network as Network
