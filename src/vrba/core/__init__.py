"""Shared by every room; imports nothing from the package."""

from ._roots import find_root as find_root
from .dtypes import float_dtype as float_dtype
from .status import Status as Status
