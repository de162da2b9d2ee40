"""Solve a problem: the recipe, the points, training, and the solution."""

from . import published as published
from .accuracy import measure_residuals as measure_residuals
from .accuracy import reference_of as reference_of
from .accuracy import relative_error as relative_error
from .balance import AbstractBalance as AbstractBalance
from .balance import BalanceState as BalanceState
from .balance import FixedBalance as FixedBalance
from .balance import GradientNorms as GradientNorms
from .diagnostics import Budget as Budget
from .diagnostics import diagnose as diagnose
from .evaluator import Evaluator as Evaluator
from .evaluator import TermFn as TermFn
from .recipe import Recipe as Recipe
from .recipe import default_recipe as default_recipe
from .recipe import known_classes as known_classes
from .recipe import num_params_of as num_params_of
from .recipe import with_max_steps as with_max_steps
from .snapshot import grid_residuals as grid_residuals
from .solution import Solution as Solution
from .solution import disagreement as disagreement
from .solution import evaluator_from as evaluator_from
from .solver import solve as solve
from .state import Check as Check
from .state import TrainState as TrainState
from .trainer import Trainer as Trainer
