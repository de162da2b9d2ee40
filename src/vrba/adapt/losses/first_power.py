"""The loss whose gradient is that of the risk of the residual."""

from typing import ClassVar

from ._base import AbstractLoss


class FirstPowerLoss(AbstractLoss):
    """`mean(lambda |R|)`: descends the risk of `|R|`, for powers the L^p norm itself.

    Not smooth where the residual is zero.
    """

    size_power: ClassVar[int] = 1
    weight_power: ClassVar[float] = 1.0
    loss_power: ClassVar[int] = 1
