"""The sequence of Toscano et al. (2025)."""

from .adam import Adam
from .quasi_newton import QuasiNewton
from .sequence import Sequence, Stage
from .switches import AfterSteps
from .updates import SSBroyden


def adam_ssbroyden(num_steps: int = 1000) -> Sequence:
    """Adam for some steps, then self-scaled Broyden; 5,000 in Toscano et al. (2025)."""
    first = Stage(Adam(), AfterSteps(num_steps))
    return Sequence(first, QuasiNewton(update=SSBroyden()))
