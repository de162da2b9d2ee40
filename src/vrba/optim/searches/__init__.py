"""Line searches: how far to go along a direction."""

from ._base import AbstractSearch as AbstractSearch
from ._base import AbstractSearchState as AbstractSearchState
from ._base import Trial as Trial
from .backtracking import Backtracking as Backtracking
from .backtracking import BacktrackingState as BacktrackingState
from .fallback import Fallback as Fallback
from .fallback import FallbackState as FallbackState
from .hager_zhang import HagerZhang as HagerZhang
from .hager_zhang import HagerZhangState as HagerZhangState
from .strong_wolfe import StrongWolfe as StrongWolfe
from .strong_wolfe import StrongWolfeState as StrongWolfeState
