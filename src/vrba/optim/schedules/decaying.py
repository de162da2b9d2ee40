"""Steady decay."""

from typing import Any

import optax

from ...core import check_between, check_count, check_positive
from ._base import AbstractSchedule


class Decaying(AbstractSchedule):
    """`decay ** (k / num_steps)`: for runs whose length is open."""

    decay: float = 0.9
    num_steps: int = 5000

    def __check_init__(self):
        """Settings in range."""
        check_positive(decay=self.decay)
        check_between(decay=(self.decay, 0.0, 1.0 + 1e-12))
        check_count(num_steps=self.num_steps)

    def factor(self, num_steps: Any) -> Any:
        """The power."""
        return optax.exponential_decay(1.0, self.num_steps, self.decay)(num_steps)
