"""Shared by every room; imports nothing from the package."""

from .dtypes import float_dtype as float_dtype
from .roots import find_root as find_root
from .status import Status as Status
