"""Half a wave, from one to zero."""

from typing import Any

import optax

from ...core import check_count
from ._base import AbstractSchedule


class Cosine(AbstractSchedule):
    """`(1 + cos(pi k / num_steps)) / 2`, and zero from `num_steps` on: for runs whose
    length is known."""

    num_steps: int

    def __check_init__(self):
        """There is a step."""
        check_count(num_steps=self.num_steps)

    def factor(self, num_steps: Any) -> Any:
        """On the wave."""
        return optax.cosine_decay_schedule(1.0, self.num_steps)(num_steps)
