"""A coordinate along which the solution oscillates."""

import equinox as eqx

from ...core import check_count


class FourierFeatures(eqx.Module):
    """The network sees waves along the coordinate `on`: beside the coordinate itself
    `cos` and `sin` of the first `modes` frequencies of an interval twice as long.

    It asks nothing of the solution, which need not be periodic. A network by itself
    learns slow parts first and fast ones late; with this it has fast ones to begin
    with. Take a few more `modes` than twice the number of times that the solution
    swings.
    """

    on: str
    modes: int

    def __check_init__(self):
        """At least one frequency."""
        check_count(modes=self.modes)
