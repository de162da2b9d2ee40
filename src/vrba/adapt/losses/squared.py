"""The published loss: weights times residual, squared."""

from typing import ClassVar

from ._base import AbstractLoss


class SquaredLoss(AbstractLoss):
    """`mean((lambda R)**2)`, or the plain mean square of drawn points, as published.

    With a tilt proportional to the residual it descends the L4 norm when weighting and
    the L3 norm when sampling.
    """

    size_power: ClassVar[int] = 1
    weight_power: ClassVar[float] = 1.0
    loss_power: ClassVar[int] = 2
