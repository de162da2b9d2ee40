"""Line searches: how far to step along a direction."""

from ._base import AbstractSearch as AbstractSearch
from ._base import AbstractSearchState as AbstractSearchState
from ._base import Trial as Trial
from .fallback import Backtracking as Backtracking
from .fallback import BacktrackingState as BacktrackingState
from .fallback import Fallback as Fallback
from .fallback import FallbackState as FallbackState
from .wolfe import HagerZhang as HagerZhang
from .wolfe import HagerZhangState as HagerZhangState
from .wolfe import StrongWolfe as StrongWolfe
from .wolfe import StrongWolfeState as StrongWolfeState
