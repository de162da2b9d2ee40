"""Learning-rate schedules."""

import abc
from typing import Any

import equinox as eqx
import optax
from typing_extensions import override

from ..core import check_between, check_count, check_positive


class AbstractSchedule(eqx.Module):
    """A factor of the learning rate that depends on the step."""

    @abc.abstractmethod
    def factor(self, num_steps: Any) -> Any:
        """Return the factor of the step that follows `num_steps` steps."""


class Decaying(AbstractSchedule):
    """Exponential decay `decay ** (k / num_steps)`, for runs of unknown length."""

    decay: float = 0.9
    num_steps: int = 5000

    def __check_init__(self):
        """Check that the settings are in range."""
        check_positive(decay=self.decay)
        check_between(decay=(self.decay, 0.0, 1.0 + 1e-12))
        check_count(num_steps=self.num_steps)

    @override
    def factor(self, num_steps: Any) -> Any:
        return optax.exponential_decay(1.0, self.num_steps, self.decay)(num_steps)


class Cosine(AbstractSchedule):
    """Cosine decay `(1 + cos(pi k / num_steps)) / 2`, for runs of known length.

    The factor is zero from step `num_steps` on.
    """

    num_steps: int

    def __check_init__(self):
        """Check that there is at least one step."""
        check_count(num_steps=self.num_steps)

    @override
    def factor(self, num_steps: Any) -> Any:
        return optax.cosine_decay_schedule(1.0, self.num_steps)(num_steps)
