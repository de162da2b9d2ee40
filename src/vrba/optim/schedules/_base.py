"""The interface of a schedule."""

import abc
from typing import Any

import equinox as eqx


class AbstractSchedule(eqx.Module):
    """What the learning rate is multiplied by."""

    @abc.abstractmethod
    def factor(self, num_steps: Any) -> Any:
        """That of the step after so many."""
