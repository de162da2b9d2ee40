"""Adam with a rate that decays."""

from typing import Any

import optax

from ..core import check_between, check_count, check_positive
from ._base import AbstractMethod
from .from_optax import FromOptax, FromOptaxInfo
from .objective import AbstractObjective


class Adam(AbstractMethod):
    """Optax's Adam; the rate is multiplied by `decay` every `decay_steps` steps."""

    learning_rate: float = 1e-3
    decay: float = 0.9
    decay_steps: int = 5000

    def __check_init__(self):
        """Settings in range."""
        check_positive(learning_rate=self.learning_rate, decay=self.decay)
        check_between(decay=(self.decay, 0.0, 1.0 + 1e-12))
        check_count(decay_steps=self.decay_steps)

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
        rate = optax.exponential_decay(self.learning_rate, self.decay_steps, self.decay)
        return FromOptax(optax.adam(rate))
