"""A ball in any number of dimensions."""

from ..core import InputError
from ._round import AbstractRound


class Ball(AbstractRound):
    """`Ball(0.5, x=0, y=1, z=0)`: radius and centre."""

    radius: float
    centre: tuple[tuple[str, float], ...]

    def __init__(self, radius: float | int, **centre: float | int):
        if not centre:
            raise InputError("`Ball` has no centre: write `Ball(1.0, x=0, y=0, z=0)`.")
        self.radius = float(radius)
        self.centre = tuple((name, float(value)) for name, value in centre.items())
