"""A disk in the plane."""

from ..core import InputError
from ._round import AbstractRound


class Disk(AbstractRound):
    """`Disk(0.5, x=0, y=1)`: radius and centre, at first `x = y = 0`."""

    radius: float
    centre: tuple[tuple[str, float], ...]

    def __init__(self, radius: float | int, **centre: float | int):
        centre = centre or {"x": 0.0, "y": 0.0}
        if len(centre) != 2:
            raise InputError(
                f"`Disk` has two coordinates, got {', '.join(centre)}: `Ball` has any "
                "number."
            )
        self.radius = float(radius)
        self.centre = tuple((name, float(value)) for name, value in centre.items())
