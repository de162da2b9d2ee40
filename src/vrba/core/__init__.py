"""Shared by every room; imports nothing from the package."""

from .checks import check_between as check_between
from .checks import check_count as check_count
from .checks import check_positive as check_positive
from .dtypes import float_dtype as float_dtype
from .flat import as_arrays as as_arrays
from .flat import as_reals as as_reals
from .flat import check_precision as check_precision
from .flat import flatten as flatten
from .flat import flatten_gradient as flatten_gradient
from .roots import find_root as find_root
from .status import Status as Status
from .trees import choose as choose
