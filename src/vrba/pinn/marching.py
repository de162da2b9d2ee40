"""Settings of time marching: slabs of time that are solved one after another."""

import dataclasses

import equinox as eqx

from ..core import check_between, check_count, check_kind, check_least, check_positive
from .polish import Polish, why_left_out


class TimeMarching(eqx.Module):
    """Settings of time marching.

    The interval of time is cut into slabs. A network is trained on each slab, from the
    parameters of the slab before, whose last values are its initial values. Then a step
    of the linear stage with the settings `polish` follows; `None` leaves it out.

    The first slab is the interval over `num_slabs`. The residual of a slab is relative
    to the size of the data. Training goes on while it still halves in ten steps; before
    a linear stage, `target` is enough. If it is above `tolerance` after `max_steps`
    steps of the optimizer, and does not fall so fast, the slab is halved, at most to
    `smallest` of the interval. If half of the steps were enough, the next slab is twice
    as long.

    At most `max_sweeps` times all slabs get another step of the linear stage, one after
    another. The change is the estimated error, with the growth of errors in time.
    """

    num_slabs: int = 8
    max_steps: int = 40
    smallest: float = 1 / 512
    tolerance: float = 1e-3
    target: float = 1e-4
    polish: Polish | None = Polish(num_features=300)
    max_sweeps: int = 2

    def __check_init__(self):
        check_count(num_slabs=self.num_slabs, max_steps=self.max_steps)
        check_between(smallest=(self.smallest, 0.0, 1.0))
        check_positive(tolerance=self.tolerance, target=self.target)
        check_least(max_sweeps=(self.max_sweeps, 0))
        if self.polish is not None:
            check_kind(polish=(self.polish, Polish))

    def as_in_run(
        self,
        polish: Polish | None,
        dtype: str,
        minutes: float | int | None,
        num_params: int,
    ) -> "TimeMarching":
        """Return the settings, without the linear stage if the run has none."""
        if polish is not None and not why_left_out(polish, dtype, minutes, num_params):
            return self
        return dataclasses.replace(self, polish=None)
