"""A way out when training is stuck: an easier problem, changed back step by step."""

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..core import InputError, check_between, check_count, check_positive, is_number
from ..problems import EQUATIONS, Data, Formulation, Initial

FIRST_LOOK, WINDOW = 45, 30  # steps
_FALL, _SMALL = 0.5, 1e-6  # of the score `WINDOW` steps ago; of the first score
_LEAST_FACTOR, _DOMINANCE = 2.0, 10.0
_DIVISORS = ((5, 4.0), (10, 3.0))  # after at most so many steps; else 2
_LAST_DIVISOR = 2.0
_TIME = "t"  # problems with an ansatz name the time so


class Continuation(eqx.Module):
    """Training through a series of easier problems, for steady problems.

    If training is stuck, it starts anew with the derivatives of the highest order
    multiplied by a factor. The factor begins where these derivatives dominate the
    equations. It is divided by 4, 3 or 2, depending on the number of steps, whenever
    the score is below `share` of its start or after `max_steps` steps. It ends at one.

    `Continuation("viscosity", start=0.1)` changes a coefficient of the problem instead,
    in the equations alone. It begins with the first step, for any problem, and replaces
    time marching.
    """

    coefficient: str | None = None
    start: float | int | None = eqx.field(default=None, kw_only=True)
    share: float = eqx.field(default=1e-4, kw_only=True)
    max_steps: int = eqx.field(default=30, kw_only=True)
    check_every: int = eqx.field(default=5, kw_only=True)

    def __check_init__(self):
        check_between(share=(self.share, 0.0, 1.0))
        check_count(max_steps=self.max_steps, check_every=self.check_every)
        if (self.coefficient is None) != (self.start is None):
            raise InputError(
                "`Continuation` needs a coefficient together with its first value, as "
                f'in `Continuation("viscosity", start=0.1)`, got {self.coefficient!r} '
                f"and {self.start!r}."
            )
        if self.start is not None:
            check_positive(start=self.start)

    def applies_to(self, formulation: Formulation) -> bool:
        """Return whether a problem can be changed; raise for an unknown coefficient."""
        if self.coefficient is not None:
            self.target_of(formulation)
            return True
        kinds = formulation.conditions.values()
        if any(isinstance(one, Initial | Data) for one in kinds):
            return False
        is_timed = _TIME in formulation.domain.coordinates
        is_timed |= formulation.exact is not None and formulation.exact.has_initial
        has_unknowns = bool(formulation.problem.unknowns)
        order = formulation.terms()[EQUATIONS].order
        return not is_timed and not has_unknowns and order >= 2

    def target_of(self, formulation: Formulation) -> float:
        """Return the value of the coefficient in the problem."""
        problem = formulation.problem
        value: Any = getattr(problem, self.coefficient or "", None)
        if not is_number(value) or not value > 0:
            raise InputError(
                f"`Continuation` changes `{self.coefficient}`, which must be a "
                f"positive number of {type(problem).__name__}, got {value!r}."
            )
        if value == self.start:
            raise InputError(
                f"`Continuation` starts at {self.coefficient} = {self.start:g}, which "
                "is the value of the problem: give another `start`."
            )
        return float(value)

    def first_factor(self, formulation: Formulation) -> float:
        """Return the factor of the coefficient before the first step."""
        return float(self.start or 1.0) / self.target_of(formulation)

    def next_factor(self, factor: float, num_steps: int) -> float:
        """Return the factor after a level of so many steps; it ends at one."""
        fits = (divisor for limit, divisor in _DIVISORS if num_steps <= limit)
        divisor = next(fits, _LAST_DIVISOR)
        found = factor / divisor if factor > 1 else factor * divisor
        is_past = (found - 1) * (factor - 1) <= 0
        return 1.0 if is_past else found


class ContinuationState(eqx.Module):
    """Where a continuation is.

    `factor` is one for the problem itself, and `level_begin` the step at which its
    present level began. `is_over` says that there is no further level. `scores` are
    those of the last checks, latest first, and `first_params` the initial parameters.
    """

    factor: Float[Array, ""]
    level_begin: Int[Array, ""]
    num_levels: Int[Array, ""]
    is_over: Any
    scores: Float[Array, " checks"]
    first_params: Any

    @staticmethod
    def new(params: Any, factor: float, check_every: int, dtype: Any) -> Any:
        """Return the state before the first step."""
        count = 1 + max(1, math.ceil(WINDOW / check_every))
        zero = jnp.zeros((), jnp.int32)
        return ContinuationState(
            jnp.asarray(factor, dtype),
            zero,
            zero,
            jnp.zeros((), bool),
            jnp.full(count, jnp.inf, dtype),
            params,
        )

    @property
    def is_easier(self) -> bool:
        """Whether the present problem is not the problem itself."""
        return float(self.factor) != 1.0


def is_stuck(
    scores: Float[Array, " checks"], first_score: Float[Array, ""] | float, step: int
) -> bool:
    """Return whether the score hardly fell over the last steps and is not small.

    `scores` holds the last scores, latest first, over `WINDOW` steps.
    """
    now, before, first = float(scores[0]), float(scores[-1]), float(first_score)
    return step >= FIRST_LOOK and now > _FALL * before and not is_small(now, first)


def is_small(score: Float[Array, ""] | float, first_score: Any) -> bool:
    """Return whether a score is negligible beside that of random parameters."""
    return float(score) <= _SMALL * float(first_score)


def dominating_factor(top: float, rest: float) -> float:
    """Return the factor with which one part of a Jacobian dominates the other.

    `top` and `rest` are the squares of their norms.
    """
    return max(_LEAST_FACTOR, math.sqrt(_DOMINANCE * rest / top)) if top > 0 else 1.0
