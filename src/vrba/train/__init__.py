"""Training: the recipe, the loop, and the solution that comes of it."""

from .balance import AbstractBalance as AbstractBalance
from .balance import BalanceState as BalanceState
from .balance import FixedBalance as FixedBalance
from .balance import GradientNorms as GradientNorms
from .callbacks import AbstractCallback as AbstractCallback
from .callbacks import Lines as Lines
from .callbacks import Plan as Plan
from .callbacks import Several as Several
from .callbacks import Silent as Silent
from .recipe import Recipe as Recipe
from .recipe import default_recipe as default_recipe
from .run_folder import RunFolder as RunFolder
from .solution import Solution as Solution
from .solution import disagreement as disagreement
from .solve import solve as solve
from .state import Check as Check
from .state import TrainState as TrainState
from .trainer import TermFn as TermFn
from .trainer import Trainer as Trainer
