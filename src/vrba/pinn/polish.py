"""Settings of the linear stage that follows training."""

import math
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..core import (
    InputError,
    check_between,
    check_count,
    check_kind,
    check_least,
    check_positive,
)

_MIN_SECONDS = 15.0  # compilation and one step of a small network
_COMPILE_SECONDS = 10.0
_RATE = 2e10  # operations per second of a step on one core, at least


class PolishDraws(eqx.Module):
    """Shares of the points that are drawn uniformly, by residual and by leverage.

    The leverage of a point is the share of the fit that its row determines. Rows are
    weighted by `sqrt(p / q)`, so every choice minimises the same mean square.
    `PolishDraws(1, 0, 0)` is uniform sampling.
    """

    uniform: float | int = 1 / 3
    residual: float | int = 1 / 3
    leverage: float | int = 1 / 3

    def __check_init__(self):
        shares = (self.uniform, self.residual, self.leverage)
        if not (0 < self.uniform < math.inf and min(shares) >= 0):
            raise InputError(
                "`uniform` must be positive, and no share negative, got "
                f"PolishDraws{shares}."
            )

    def probabilities(
        self,
        sizes: Float[np.ndarray, " points"],
        leverage: Float[np.ndarray, " points"] | None,
    ) -> Float[np.ndarray, " points"]:
        """Return the probability of each point of a pool.

        Without leverage, its share goes to the residual, up to four fifths.
        """
        if leverage is None:
            residual = self.residual + self.leverage * (self.residual > 0)
            shares = (max(self.uniform, residual / 4), residual, 0.0)
            leverage = np.ones_like(sizes)
        else:
            shares = (self.uniform, self.residual, self.leverage)
        parts = (np.ones_like(sizes), sizes, leverage)
        each = zip(shares, map(_with_mean_one, parts), strict=True)
        total = sum(share * part for share, part in each)
        return total / np.sum(total)


def _with_mean_one(values: Float[np.ndarray, " points"]) -> Any:
    mean = np.mean(values)
    is_usable = np.isfinite(mean) and mean > 0
    return values / mean if is_usable else np.ones_like(values)


class Polish(eqx.Module):
    """Settings of the linear stage that follows training.

    The solution becomes `N + dN/dtheta delta + sum C tanh(A h + b)`: the trained
    network, its tangent space and `num_features` random features of its layers. Each
    of at most `max_steps` Gauss-Newton steps solves for `(delta, C)` by linear least
    squares, with `rows_per_column` residuals for each column. Points are drawn in
    `num_rounds` rounds from fresh pools of `pool_factor` times as many. Each round uses
    the residual that the rounds before leave. A step is accepted if its expected error
    is below half of the estimated error.

    If a step is not accepted, the number of features and the pools are doubled, at most
    `max_growths` times; this needs time. A network of more than `max_columns -
    num_features` parameters has no tangent part. With `has_singular` the singular
    functions of the problem are further columns.

    With a time limit, the stage has the share `time_share` of it.
    """

    num_features: int = 1000
    max_growths: int = 0
    max_steps: int = 4
    draws: PolishDraws = PolishDraws()
    num_rounds: int = 3
    rows_per_column: float | int = 10
    pool_factor: int = 8
    gain: float | int = 2.0
    max_columns: int = 6000
    has_tangent: bool = True
    has_singular: bool = True
    time_share: float = 0.5

    def __check_init__(self):
        check_kind(
            draws=(self.draws, PolishDraws),
            has_tangent=(self.has_tangent, bool),
            has_singular=(self.has_singular, bool),
        )
        check_count(
            num_features=self.num_features,
            max_steps=self.max_steps,
            num_rounds=self.num_rounds,
            pool_factor=self.pool_factor,
            max_columns=self.max_columns,
        )
        check_least(max_growths=(self.max_growths, 0))
        check_between(time_share=(self.time_share, 0.0, 1.0))
        check_positive(rows_per_column=self.rows_per_column, gain=self.gain)
        if self.num_features > self.max_columns:
            raise InputError(
                f"`num_features` must be at most {self.max_columns}, `max_columns`, "
                f"got {self.num_features}: raise `max_columns` too."
            )

    def has_tangent_of(self, num_params: int) -> bool:
        """Whether a network of so many parameters has a tangent part."""
        return self.has_tangent and num_params + self.num_features <= self.max_columns


def why_left_out(
    settings: Polish | None,
    dtype: str,
    minutes: float | int | None,
    num_params: int = 0,
) -> str:
    """Why a run has no linear stage although it has settings; else empty."""
    if settings is None:
        return ""
    if dtype != "float64":
        return f"The linear stage was left out: it needs float64, not {dtype}."
    least = least_seconds(settings, num_params) / 60 / settings.time_share
    if minutes is not None and minutes < least:
        enough = math.ceil(100 * least) / 100
        return f"The linear stage was left out: it needs {enough:g} minutes in all."
    return ""


def least_seconds(settings: Polish, num_params: int) -> float:
    """A bound of the time of one step and its compilation for a network.

    It reads no clock, so a run that is resumed elsewhere decides the same.
    """
    columns = settings.num_features
    if settings.has_tangent_of(num_params):
        columns += num_params
    operations = 2 * settings.rows_per_column * columns**3
    return max(_MIN_SECONDS, _COMPILE_SECONDS + operations / _RATE)


def training_share(
    settings: Polish | None, dtype: str, minutes: float | int | None
) -> float:
    """The share of the time limit that training has."""
    if settings is None or why_left_out(settings, dtype, minutes):
        return 1.0
    return 1 - settings.time_share
