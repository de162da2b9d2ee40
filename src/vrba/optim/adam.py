"""Adam with a rate that changes."""

from typing import Any

import optax

from ..core import InputError, check_positive
from ._base import AbstractMethod
from .from_optax import FromOptax, FromOptaxInfo
from .objective import AbstractObjective
from .schedules import AbstractSchedule, Decaying


class Adam(AbstractMethod):
    """Optax's Adam; the rate is multiplied by what the `schedule` says.

    `l2` times the parameters is added to the gradient before Adam scales it, which is
    what torch's Adam calls weight decay. It is not decoupled: a small gradient makes it
    large.
    """

    learning_rate: float = 1e-3
    schedule: AbstractSchedule = Decaying()
    l2: float = 0.0

    def __check_init__(self):
        """Settings in range."""
        check_positive(learning_rate=self.learning_rate)
        if not 0 <= self.l2 < float("inf"):
            raise InputError(f"`l2` must not be negative, got {self.l2}.")

    @property
    def needs_residuals(self) -> bool:
        """A loss is enough."""
        return False

    def is_compiled(self, state: Any) -> bool:
        """Steps can be compiled."""
        return True

    def init(self, objective: AbstractObjective, params: Any) -> Any:
        """Moments of zero."""
        return self._inner().init(objective, params)

    def objective_changed(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> Any:
        """Moments are kept."""
        return state

    def step(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> tuple[Any, Any, FromOptaxInfo]:
        """One update."""
        return self._inner().step(objective, params, state)

    def _inner(self) -> FromOptax:
        rate = lambda count: self.learning_rate * self.schedule.factor(count)
        adam = optax.adam(rate)
        if self.l2 == 0:
            return FromOptax(adam)
        return FromOptax(optax.chain(optax.add_decayed_weights(self.l2), adam))
