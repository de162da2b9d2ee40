"""Train an operator: the recipe, samples, training, and the operator."""

from . import methods as methods
from .batches import AbstractBatches as AbstractBatches
from .batches import Drawn as Drawn
from .batches import Epochs as Epochs
from .defaults import default_operator_recipe as default_operator_recipe
from .defaults import fitted_model as fitted_model
from .identity import fingerprint as fingerprint
from .identity import is_same_data as is_same_data
from .layout import DataLayout as DataLayout
from .layout import Scaling as Scaling
from .layout import moments as moments
from .losses import AbstractFunctionLoss as AbstractFunctionLoss
from .losses import MeanSquare as MeanSquare
from .losses import Relative as Relative
from .losses import Sobolev as Sobolev
from .network import relative_errors as relative_errors
from .operator import Operator as Operator
from .recipe import OperatorRecipe as OperatorRecipe
from .recipe import check_samples as check_samples
from .recipe import known_classes as known_classes
from .samples import Samples as Samples
from .trainer import OperatorCheck as OperatorCheck
from .trainer import OperatorState as OperatorState
from .trainer import OperatorTrainer as OperatorTrainer
from .training import summarise as summarise
from .training import train_operator as train_operator
