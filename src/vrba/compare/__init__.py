"""Compare policies on equal budgets, paired by seed.

`vrba.compare` is this room and can be called like its function `compare`.
"""

import sys
from types import ModuleType
from typing import Any

from ._base import BASELINE as BASELINE
from ._base import DEFAULT_MINUTES as DEFAULT_MINUTES
from ._base import DEFAULT_SEEDS as DEFAULT_SEEDS
from ._base import AbstractCase as AbstractCase
from ._base import AbstractExecutor as AbstractExecutor
from ._base import RunTask as RunTask
from ._base import Settings as Settings
from ._base import UsageError as UsageError
from ._base import run_name as run_name
from .budget import environment as environment
from .budget import num_cores as num_cores
from .comparison import Comparison as Comparison
from .comparison import case_of as case_of
from .comparison import check_seeds as check_seeds
from .comparison import compare as compare
from .comparison import compare_in_processes as compare_in_processes
from .comparison import resume_in_processes as resume_in_processes
from .executors import InProcess as InProcess
from .executors import Made as Made
from .executors import Processes as Processes
from .executors import failure_message as failure_message
from .folder import ComparisonFolder as ComparisonFolder
from .folder import ComparisonRecord as ComparisonRecord
from .folder import as_json as as_json
from .folder import content_of as content_of
from .folder import settings_from as settings_from
from .folder import text_of as text_of
from .methods import DataCase as DataCase
from .methods import ProblemCase as ProblemCase
from .methods import methods_of as methods_of
from .methods import operator_methods as operator_methods
from .methods import with_operator_method as with_operator_method
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
from .names import required_by as required_by
from .names import unbiased_policy as unbiased_policy
from .names import with_potential as with_potential
from .page import PICTURES as PICTURES
from .page import pictures_of as pictures_of
from .page import relative_address as relative_address
from .page import write_comparison_report as write_comparison_report
from .page import write_report as write_report
from .statistics import Paired as Paired
from .statistics import Spread as Spread
from .statistics import pair as pair
from .statistics import spread as spread
from .tables import comparison_rows as comparison_rows
from .tables import comparison_sentence as comparison_sentence
from .tables import format_spread as format_spread
from .tables import stop_reason_of as stop_reason_of


class _CallableModule(ModuleType):
    """Lets `vrba.compare(...)` call the function of the room's own name."""

    def __call__(self, *arguments: Any, **settings: Any) -> Comparison:
        return compare(*arguments, **settings)


sys.modules[__name__].__class__ = _CallableModule
