"""Toscano et al. (2025): its experiments as settings, its tables and figures."""

from ._base import SCALES as SCALES
from ._base import Arm as Arm
from ._base import Cited as Cited
from ._base import Exhibit as Exhibit
from ._base import Experiment as Experiment
from .exhibits import FIGURE1 as FIGURE1
from .exhibits import FIGURE2 as FIGURE2
from .exhibits import FIGURE3 as FIGURE3
from .exhibits import FIGURE4 as FIGURE4
from .exhibits import FIGURE5 as FIGURE5
from .exhibits import TABLE1 as TABLE1
from .exhibits import TABLE2 as TABLE2
from .exhibits import TABLE3 as TABLE3
from .exhibits import TABLE4 as TABLE4
