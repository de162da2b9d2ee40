"""vrba: residual-based adaptivity that follows from one convex potential."""

import importlib
from typing import TYPE_CHECKING, Any

from . import adapt as adapt
from . import core as core
from . import data as data
from . import diagnose as diagnose
from . import domains as domains
from . import fields as fields
from . import models as models
from . import optim as optim
from . import problems as problems
from . import train as train
from .adapt import BRDR as BRDR
from .adapt import AbstractDraw as AbstractDraw
from .adapt import AbstractLoss as AbstractLoss
from .adapt import AbstractPolicy as AbstractPolicy
from .adapt import AbstractPoolPolicy as AbstractPoolPolicy
from .adapt import AbstractPotential as AbstractPotential
from .adapt import AbstractSchedule as AbstractSchedule
from .adapt import AbstractScore as AbstractScore
from .adapt import AbstractTemperature as AbstractTemperature
from .adapt import AbstractTilting as AbstractTilting
from .adapt import AbstractTimed as AbstractTimed
from .adapt import AbstractWrapper as AbstractWrapper
from .adapt import AbstractWrapperState as AbstractWrapperState
from .adapt import AscentState as AscentState
from .adapt import Capped as Capped
from .adapt import Causal as Causal
from .adapt import CausalState as CausalState
from .adapt import Cosh as Cosh
from .adapt import Custom as Custom
from .adapt import DecayState as DecayState
from .adapt import Duality as Duality
from .adapt import EffectiveSize as EffectiveSize
from .adapt import ExactSquaredLoss as ExactSquaredLoss
from .adapt import Exponential as Exponential
from .adapt import FirstPowerLoss as FirstPowerLoss
from .adapt import Fixed as Fixed
from .adapt import FlatnessScore as FlatnessScore
from .adapt import GrowingCap as GrowingCap
from .adapt import Hybrid as Hybrid
from .adapt import JointScore as JointScore
from .adapt import Linear as Linear
from .adapt import LocalAverage as LocalAverage
from .adapt import LogAnnealing as LogAnnealing
from .adapt import Logarithmic as Logarithmic
from .adapt import NeighbourState as NeighbourState
from .adapt import Power as Power
from .adapt import Quadratic as Quadratic
from .adapt import Sampling as Sampling
from .adapt import Scale as Scale
from .adapt import SelfAdaptive as SelfAdaptive
from .adapt import Smoothing as Smoothing
from .adapt import SolveShift as SolveShift
from .adapt import SolveTemperature as SolveTemperature
from .adapt import SquaredLoss as SquaredLoss
from .adapt import Stratified as Stratified
from .adapt import SuperExponential as SuperExponential
from .adapt import Systematic as Systematic
from .adapt import TiltState as TiltState
from .adapt import TimeWindowWeights as TimeWindowWeights
from .adapt import Unbiased as Unbiased
from .adapt import Weighting as Weighting
from .adapt import WindowState as WindowState
from .adapt import WithoutReplacement as WithoutReplacement
from .adapt import WithReplacement as WithReplacement
from .adapt import derived_functional as derived_functional
from .adapt import duality as duality
from .adapt import presets as presets
from .core import Status as Status
from .domains import AbstractDomain as AbstractDomain
from .domains import Ball as Ball
from .domains import Box as Box
from .domains import Difference as Difference
from .domains import Disk as Disk
from .domains import Intersection as Intersection
from .domains import Mesh as Mesh
from .domains import PointCloud as PointCloud
from .domains import Polygon as Polygon
from .domains import Product as Product
from .domains import Union as Union
from .models import FNO as FNO
from .models import MLP as MLP
from .models import DeepONet as DeepONet
from .models import PhysicsInformedDeepONet as PhysicsInformedDeepONet
from .models import TimeConditionedUNet as TimeConditionedUNet
from .problems import AbstractCondition as AbstractCondition
from .problems import Ansatz as Ansatz
from .problems import Constraint as Constraint
from .problems import Data as Data
from .problems import Dirichlet as Dirichlet
from .problems import FourierFeatures as FourierFeatures
from .problems import Initial as Initial
from .problems import Neumann as Neumann
from .problems import Penalty as Penalty
from .problems import Periodic as Periodic
from .problems import Problem as Problem
from .problems import Reference as Reference
from .problems import Robin as Robin
from .problems import Unknown as Unknown
from .train import FixedBalance as FixedBalance
from .train import GradientNorms as GradientNorms
from .train import Operator as Operator
from .train import OperatorRecipe as OperatorRecipe
from .train import Recipe as Recipe
from .train import Solution as Solution
from .train import default_operator_recipe as default_operator_recipe
from .train import default_recipe as default_recipe
from .train import disagreement as disagreement
from .train import solve as solve
from .train import train_operator as train_operator

if TYPE_CHECKING:
    from . import paper as paper
    from . import report as report
    from .compare import Comparison as Comparison
    from .compare import compare as compare
    from .compare import write_report as write_report
else:

    def __getattr__(name: str) -> Any:
        """Load what needs matplotlib only when it is used."""
        if name in ("compare", "paper", "report"):
            return importlib.import_module(f".{name}", __name__)
        if name in ("Comparison", "write_report"):
            return getattr(importlib.import_module(".compare", __name__), name)
        raise AttributeError(f"module `vrba` has no attribute `{name}`")
