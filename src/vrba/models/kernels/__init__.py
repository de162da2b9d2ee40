"""What a Fourier layer does to each frequency."""

from ._base import AbstractBuiltKernel as AbstractBuiltKernel
from ._base import AbstractKernel as AbstractKernel
from .dense import DenseKernel as DenseKernel
from .dense import DenseWeights as DenseWeights
from .tucker import TuckerKernel as TuckerKernel
from .tucker import TuckerWeights as TuckerWeights
