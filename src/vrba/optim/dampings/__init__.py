"""Dampings: how strongly a Gauss-Newton step is held back."""

from ._base import AbstractDamping as AbstractDamping
from ._base import AbstractDampingState as AbstractDampingState
from .nielsen import NielsenDamping as NielsenDamping
from .nielsen import NielsenState as NielsenState
from .smallest import SmallestDamping as SmallestDamping
from .smallest import SmallestState as SmallestState
