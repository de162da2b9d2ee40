"""Recipes for operators: chosen from the data, or as published for known ones."""

import dataclasses
import math
from typing import Any

import numpy as np

from ..adapt import Exponential, GrowingCap, Hybrid, Smoothing
from ..data import Pairs, is_even
from ..models import FNO, AbstractOperatorArchitecture, DeepONet, TimeConditionedUNet
from ..optim import Adam, Cosine
from .misfits import Relative
from .operator_recipe import OperatorRecipe

_NUM_CHECKS = 50
_MODES, _WIDTH = 12, 16
_WHOLE = 800  # samples of a data set at the scale of its paper


def default_operator_recipe(
    pairs: Pairs,
    num_steps: int | None = None,
    model: AbstractOperatorArchitecture | None = None,
) -> OperatorRecipe:
    """A recipe that suits the data: for those of `vrba.data` the published one, or a
    smaller one of its kind for smaller data."""
    made_by = pairs.about.get("settings", {}).get("class")
    is_whole = pairs.num_train >= _WHOLE
    known = {"Bubble": _bubble, "Kolmogorov": _kolmogorov, "Wave": _wave}
    settings = known.get(made_by, _usual)(pairs, is_whole)
    rate, usual = settings.pop("rate"), settings.pop("num_steps")
    count = usual if num_steps is None else num_steps
    if model is not None:
        settings |= {"model": model, "splits": _splits(model, pairs)}
    return OperatorRecipe(
        optimizer=Adam(schedule=Cosine(count)),
        policy=_policy(rate, count),
        max_steps=count,
        check_every=max(count // _NUM_CHECKS, 1),
        **settings,
    )


def _policy(rate: float, num_steps: int) -> Hybrid:
    """A cap that grows from 15 to 25 in the course of the run."""
    cap = GrowingCap(15.0, 25.0, max(num_steps / 10, 1))
    return Hybrid(Exponential(), smoothing=Smoothing(cap, rate))


def _bubble(pairs: Pairs, is_whole: bool) -> dict[str, Any]:
    num_steps = 240_000 if is_whole else 40_000
    size = min(50, pairs.num_train)
    return {
        "model": DeepONet(),
        "batch_size": size,
        "rate": 0.1,
        "num_steps": num_steps,
    }


def _kolmogorov(pairs: Pairs, is_whole: bool) -> dict[str, Any]:
    small = FNO(modes=min(8, *pairs.grid), width=_WIDTH)
    return {
        "model": FNO() if is_whole else small,
        "batch_size": min(10, pairs.num_train),
        "rate": 0.01 if is_whole else 0.1,
        "num_steps": 40_000 if is_whole else 1_000,
    }


def _wave(pairs: Pairs, is_whole: bool) -> dict[str, Any]:
    return {
        "model": _conditioned(pairs),
        "splits": "t",
        "misfit": Relative(),
        "batch_size": 100 if is_whole else 20,
        "rate": 0.1,
        "num_steps": 204_000 if is_whole else 2_000,
    }


def _conditioned(pairs: Pairs) -> TimeConditionedUNet:
    """The fastest wave of time turns by half between two times of the data."""
    axis = pairs.names.index("t")
    times = (pairs.axes or ())[axis]
    gap = float(np.ptp(times) / np.std(times) / (len(times) - 1))
    usual = TimeConditionedUNet(time_axis=axis)
    return dataclasses.replace(usual, fastest=min(usual.fastest, math.pi / gap))


def _usual(pairs: Pairs, is_whole: bool) -> dict[str, Any]:
    """Layers of frequencies if both functions lie on one even grid, else a product of
    networks; all functions count the same."""
    del is_whole
    is_one_grid = (
        pairs.axes is not None
        and all(map(is_even, pairs.axes))
        and pairs.inputs.shape[1:-1] == pairs.grid[: pairs.inputs.ndim - 2]
    )
    modes = tuple(min(_MODES, count) for count in pairs.grid)
    return {
        "model": FNO(modes=modes, width=_WIDTH) if is_one_grid else DeepONet(),
        "misfit": Relative(),
        "batch_size": min(16 if is_one_grid else 50, pairs.num_train),
        "rate": 0.1,
        "num_steps": 2_000 if is_one_grid else 20_000,
    }


def _splits(model: AbstractOperatorArchitecture, pairs: Pairs) -> str | None:
    """The axis of time, for networks that see one time of a function at once."""
    if not isinstance(model, TimeConditionedUNet):
        return None
    return pairs.names[model.time_axis]
