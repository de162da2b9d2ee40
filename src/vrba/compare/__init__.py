"""Compare policies on equal budgets, paired by seed."""

from ._base import UsageError as UsageError
from .names import along_time as along_time
from .names import classes_in as classes_in
from .names import known_optimizers as known_optimizers
from .names import known_policies as known_policies
from .names import known_potentials as known_potentials
from .names import known_problems as known_problems
from .names import known_recipes as known_recipes
from .names import listed as listed
from .names import make_policy as make_policy
from .names import named_in as named_in
from .names import pick as pick
from .names import pick_some as pick_some
from .names import recipe_policy as recipe_policy
from .names import required_by as required_by
from .names import unbiased_policy as unbiased_policy
from .names import with_potential as with_potential
