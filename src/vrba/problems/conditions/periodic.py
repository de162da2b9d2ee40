"""A coordinate that closes on itself."""

import equinox as eqx

from ...core import check_count


class Periodic(eqx.Module):
    """Periodic in the coordinate `on`, exactly: the network sees `cos` and `sin` of its
    first `modes` frequencies."""

    on: str
    modes: int = 1

    def __check_init__(self):
        """At least one frequency."""
        check_count(modes=self.modes)
