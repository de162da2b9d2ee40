"""Networks and neural operators: settings, and `build` for random parameters."""

from ._base import AbstractArchitecture as AbstractArchitecture
from ._base import AbstractLayered as AbstractLayered
from ._base import AbstractOperatorArchitecture as AbstractOperatorArchitecture
from .activations import GELU as GELU
from .activations import AbstractActivation as AbstractActivation
from .activations import SiLU as SiLU
from .activations import Sine as Sine
from .activations import Tanh as Tanh
from .deeponet import BranchTrunk as BranchTrunk
from .deeponet import DeepONet as DeepONet
from .embedding import Embedding as Embedding
from .fno import FNO as FNO
from .fno import FourierOperator as FourierOperator
from .initials import AbstractInitial as AbstractInitial
from .initials import FanIn as FanIn
from .initials import Glorot as Glorot
from .kernels import AbstractBuiltKernel as AbstractBuiltKernel
from .kernels import AbstractKernel as AbstractKernel
from .kernels import DenseKernel as DenseKernel
from .kernels import DenseWeights as DenseWeights
from .kernels import TuckerKernel as TuckerKernel
from .kernels import TuckerWeights as TuckerWeights
from .marching import Marched as Marched
from .marching import SlabEmbedding as SlabEmbedding
from .marching import march as march
from .mlp import MLP as MLP
from .mlp import Network as Network
from .parameters import ComplexArray as ComplexArray
from .parameters import count_params as count_params
from .physics_informed_deeponet import BranchedNetwork as BranchedNetwork
from .physics_informed_deeponet import (
    PhysicsInformedDeepONet as PhysicsInformedDeepONet,
)
from .polished import Features as Features
from .polished import Polished as Polished
from .polished import linear_parts as linear_parts
from .polished import polish as polish
from .tc_unet import TimeConditionedOperator as TimeConditionedOperator
from .tc_unet import TimeConditionedUNet as TimeConditionedUNet
from .unet_layers import Convolution as Convolution
