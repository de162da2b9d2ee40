"""The work on one slab of time: training, and steps of the linear stage."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..models import Polished
from ..optim import AdvanceInfo
from .marching import TimeMarching
from .polish import Polish
from .polisher import Polisher, PolishState
from .pools import make_pools
from .slabs import Interval, Slabs, Start, balance_factors
from .trainer import Trainer

_CALL_STEPS = 5  # steps between two checks of the residual
_FALL_CALLS = 2  # the residual must fall in so many calls
_FALL = 0.5  # by this factor at least
_MOST = 4  # times `max_steps` for a slab whose residual still falls


@dataclasses.dataclass(frozen=True)
class SlabTraining:
    """What training on a slab found.

    `residual` is relative to the size of the data. `factors` balance the terms.
    """

    params: Any
    residual: float
    num_steps: int
    factors: dict[str, float]

    def is_stuck(self, settings: TimeMarching) -> bool:
        """Whether the residual is too large for the next slab to start from."""
        return not self.residual <= settings.tolerance

    def is_easy(self, settings: TimeMarching) -> bool:
        """Whether half of the steps were enough."""
        return self.num_steps <= settings.max_steps // 2


@dataclasses.dataclass(frozen=True)
class SlabStep:
    """A step of the linear stage on a slab.

    `before` and `after` are the fields at some points, `noise` is the sampling error
    and `expected` the expected error of the step, both relative to `after`.
    `num_columns` is the number of coefficients.
    """

    network: Any
    before: Float[np.ndarray, " values"]
    after: Float[np.ndarray, " values"]
    noise: float
    expected: float
    is_accepted: bool
    num_columns: int


def train_slab(
    slabs: Slabs,
    interval: Interval,
    params: Any,
    start: Start,
    settings: TimeMarching,
    *,
    is_stopped: Callable[[], bool],
    is_late: Callable[[], bool],
) -> SlabTraining | None:
    """Train on a slab until its residual stops falling.

    Once `is_late()`, a slab that is good enough is trained no further. `None` if
    `is_stopped()` came before the end.
    """
    rows = make_pools(slabs.evaluator(interval), slabs.sampler(interval, start))
    factors = balance_factors(slabs.evaluator(interval), params, rows[0])
    evaluator = slabs.evaluator(interval, factors)
    trainer = Trainer(evaluator, rows)
    state, found = trainer.init(params), []
    scale = _scale(trainer, params, factors)
    while True:
        if trainer.needs_resample(state):
            state = trainer.resample(state)
        state, steps = trainer.advance(state, _CALL_STEPS)
        state, _ = trainer.check(state)
        found.append(_size(trainer, state.params, factors) / scale)
        best = _size(trainer, state.best_params, factors) / scale
        done = SlabTraining(state.best_params, best, _CALL_STEPS * len(found), factors)
        is_over = trainer.stop_reason(state) is not None or _is_broken(steps)
        if is_over or _is_enough(done, found, settings, is_late()):
            return done
        if is_stopped():
            return None


def _is_enough(
    done: SlabTraining, found: list[float], settings: TimeMarching, is_late: bool
) -> bool:
    """Whether training on a slab ends here."""
    late, early = found[-_FALL_CALLS:], found[:-_FALL_CALLS]
    falls = not early or min(late) <= _FALL * min(early)
    if done.num_steps >= _MOST * settings.max_steps:
        return True
    if done.is_stuck(settings):
        return done.num_steps >= settings.max_steps and not falls
    is_enough = settings.polish is not None and done.residual <= settings.target
    return is_enough or is_late or not falls


def _is_broken(steps: AdvanceInfo) -> bool:
    return not math.isfinite(float(steps.info.value))


def _size(trainer: Trainer, params: Any, factors: dict[str, float]) -> float:
    """The root of the sum of mean squares, in the units of the fields."""
    squares = trainer.check_params(params).mean_squares
    parts = [
        float(square) / factors.get(name, 1.0) ** 2 for name, square in squares.items()
    ]
    total = math.sqrt(sum(parts)) if all(map(math.isfinite, parts)) else math.inf
    return total


def _scale(trainer: Trainer, params: Any, factors: dict[str, float]) -> float:
    """The size of the data: of the residual of fields that are zero, where it is
    finite. If there is none, the size of the first iterate."""
    zero, parts = jax.tree.map(jnp.zeros_like, params), []
    for name, rows in trainer.held_out.items():
        residual = np.asarray(trainer.evaluator.residual(zero, name, rows), float)
        squares = (residual[np.isfinite(residual)] / factors.get(name, 1.0)) ** 2
        parts.append(float(np.mean(squares)) if squares.size else 0.0)
    total = math.sqrt(sum(parts))
    if 0 < total < math.inf:
        return total
    first = _size(trainer, params, factors)
    return first if 0 < first < math.inf else 1.0


def polish_slab(
    slabs: Slabs,
    interval: Interval,
    network: Any,
    factors: dict[str, float],
    start: Start,
    settings: Polish,
    number: int,
    is_stopped: Callable[[], bool] = lambda: False,
) -> SlabStep | None:
    """A step of the linear stage, the `number`-th of this slab; `None` if it was
    stopped.

    `network` is the trained one, or the polished one of an earlier step.
    """
    evaluator = slabs.evaluator(interval, factors)
    is_first = not isinstance(network, Polished)
    trained = eqx.filter(network if is_first else network.base, eqx.is_inexact_array)
    sample_fn = slabs.sampler(interval, start)
    finite = {
        name: _on_device(sample_fn(name, count, seed=0), evaluator.dtype)
        for name, term in evaluator.terms.items()
        if (count := term.residual.num_available) is not None
    }
    polisher = Polisher(settings, evaluator, trained, finite, 0, sample_fn)
    before = polisher.trained
    if not is_first:
        before = polisher.linear_part(eqx.filter(network, eqx.is_inexact_array))
    count = jnp.asarray(number, jnp.int32)
    state = PolishState(before, None, count)
    rounds = polisher.complete(state, None, is_stopped)
    if not polisher.is_complete(rounds):
        return None
    _, info = polisher.step(state, rounds)
    choice = info.choice
    is_finite = math.isfinite(choice.total) and math.isfinite(choice.estimate)
    after = choice.candidate.params if is_finite else before
    values = lambda params: np.concatenate(
        [
            np.asarray(value, float)
            for value in polisher.evaluator.fields(params, polisher.points).values()
        ]
    )
    return SlabStep(
        network=polisher.network(after),
        before=values(before),
        after=values(after),
        noise=choice.noise,
        expected=choice.total + info.data_noise,
        is_accepted=choice.is_accepted,
        num_columns=polisher.num_columns,
    )


def _on_device(rows: Any, dtype: Any) -> Any:
    return jax.tree.map(lambda part: jnp.asarray(part, dtype), tuple(rows))
