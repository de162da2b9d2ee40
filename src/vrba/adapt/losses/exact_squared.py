"""The loss whose gradient is that of the risk of the squared residual."""

from typing import ClassVar

from ._base import AbstractLoss


class ExactSquaredLoss(AbstractLoss):
    """`mean(lambda R**2)` with the tilt of `R**2`: descends the risk of `R**2` itself.

    Weighting and sampling then descend the same functional.
    """

    size_power: ClassVar[int] = 2
    weight_power: ClassVar[float] = 0.5
    loss_power: ClassVar[int] = 2
