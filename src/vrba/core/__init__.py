"""Shared by every room; imports nothing from the package."""

from .checkpoint import BrokenFileError as BrokenFileError
from .checkpoint import load_header as load_header
from .checkpoint import load_tree as load_tree
from .checkpoint import save_tree as save_tree
from .checkpoint import write_atomically as write_atomically
from .checks import check_between as check_between
from .checks import check_count as check_count
from .checks import check_positive as check_positive
from .describe import describe as describe
from .describe import rebuild as rebuild
from .dtypes import float_dtype as float_dtype
from .flat import as_arrays as as_arrays
from .flat import as_reals as as_reals
from .flat import check_precision as check_precision
from .flat import flatten as flatten
from .flat import flatten_gradient as flatten_gradient
from .precision import precision as precision
from .progress import AbstractCallback as AbstractCallback
from .progress import Plan as Plan
from .progress import span as span
from .record import append_line as append_line
from .record import read_last_line as read_last_line
from .record import read_lines as read_lines
from .roots import find_root as find_root
from .status import Status as Status
from .trees import choose as choose
