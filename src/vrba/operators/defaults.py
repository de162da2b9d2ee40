"""The default recipe of an operator, chosen from its data."""

import dataclasses
import math
from typing import Any

import numpy as np

from ..adapt import Exponential, GrowingCap, Hybrid, Smoothing
from ..core import InputError
from ..data import Pairs, is_uniform
from ..models import (
    FNO,
    AbstractOperatorArchitecture,
    DeepONet,
    TimeConditionedUNet,
    TuckerKernel,
)
from ..optim import Adam, Cosine
from .losses import Relative
from .recipe import OperatorRecipe, num_samples

_NUM_CHECKS = 50
_MODES, _WIDTH = 12, 16
_PAPER_SIZE = 800  # functions of a data set at the published scale
_TINY_SIZE = 50  # functions, too few for a large network


def default_operator_recipe(
    pairs: Pairs,
    num_steps: int | None = None,
    model: AbstractOperatorArchitecture | None = None,
) -> OperatorRecipe:
    """The default recipe of the data.

    For the data of `vrba.data` it is the published recipe, or a smaller one of its kind
    for smaller data. With another `model`, batch size and steps follow from the model.
    """
    made_by = pairs.provenance.get("settings", {}).get("class")
    known = {"Bubble": _bubble, "Kolmogorov": _kolmogorov, "Wave": _wave}
    settings = known.get(made_by, _general)(pairs, pairs.num_train >= _PAPER_SIZE)
    if model is not None:
        settings = _with_model(model, pairs)
    rate, usual = settings.pop("rate"), settings.pop("num_steps")
    count = usual if num_steps is None else num_steps
    num_rows = num_samples(pairs, settings.get("split_axis"))
    settings["batch_size"] = _dividing_size(num_rows, settings["batch_size"])
    return OperatorRecipe(
        optimizer=Adam(schedule=Cosine(count)),
        policy=_policy(rate, count),
        max_steps=count,
        check_every=max(count // _NUM_CHECKS, 1),
        **settings,
    )


def fitted_model(
    kind: type[AbstractOperatorArchitecture], pairs: Pairs
) -> AbstractOperatorArchitecture:
    """An architecture of a kind, with sizes that fit the data."""
    if kind is FNO:
        modes = tuple(min(_MODES, count) for count in pairs.grid)
        return FNO(modes=modes, width=_WIDTH)
    if kind is TimeConditionedUNet:
        if len(pairs.grid) != 3 or "t" not in pairs.names:
            raise InputError(
                "`TimeConditionedUNet` needs functions on a grid of two axes and `t`, "
                f"got the coordinates {', '.join(pairs.names)}."
            )
        return _conditioned(pairs)
    return kind()


def _dividing_size(num_rows: int, batch_size: int) -> int:
    """The largest batch size up to a limit that divides the number of samples."""
    sizes = range(1, min(num_rows, batch_size) + 1)
    return max(size for size in sizes if num_rows % size == 0)


def _with_model(model: AbstractOperatorArchitecture, pairs: Pairs) -> dict[str, Any]:
    """Default batch size: 10 for FNO, 20 for U-Net, 50 for DeepONet."""
    split_axis = None
    if isinstance(model, TimeConditionedUNet):
        split_axis = pairs.names[model.time_axis]
    is_product = isinstance(model, DeepONet)
    return {
        "model": model,
        "split_axis": split_axis,
        "loss": Relative(),
        "batch_size": 50 if is_product else 20 if split_axis is not None else 10,
        "rate": 0.1,
        "num_steps": 20_000 if is_product else 2_000,
    }


def _policy(rate: float, num_steps: int) -> Hybrid:
    """Weights whose cap grows from 15 to 25 during the run."""
    cap = GrowingCap(15.0, 25.0, max(num_steps / 10, 1))
    return Hybrid(Exponential(), smoothing=Smoothing(cap, rate))


def _bubble(pairs: Pairs, has_paper_size: bool) -> dict[str, Any]:
    return {
        "model": DeepONet(),
        "batch_size": 50,
        "rate": 0.1,
        "num_steps": 240_000 if has_paper_size else 40_000,
    }


def _kolmogorov(pairs: Pairs, has_paper_size: bool) -> dict[str, Any]:
    most, width = (4, 8) if pairs.num_train < _TINY_SIZE else (8, _WIDTH)
    small = FNO(modes=tuple(min(most, count) for count in pairs.grid), width=width)
    return {
        "model": FNO(kernel=TuckerKernel(rank=1.0)) if has_paper_size else small,
        "batch_size": 10,
        "rate": 0.01 if has_paper_size else 0.1,
        "num_steps": 40_000 if has_paper_size else 800,
    }


def _wave(pairs: Pairs, has_paper_size: bool) -> dict[str, Any]:
    return {
        "model": _conditioned(pairs),
        "split_axis": "t",
        "loss": Relative(),
        "batch_size": 100 if has_paper_size else 20,
        "rate": 0.1,
        "num_steps": 204_000 if has_paper_size else 2_500,
    }


def _conditioned(pairs: Pairs) -> TimeConditionedUNet:
    """A U-Net; its fastest time frequency turns by half between two times."""
    axis = pairs.names.index("t")
    times = (pairs.axes or ())[axis]
    gap = float(np.ptp(times) / np.std(times) / (len(times) - 1))
    usual = TimeConditionedUNet(time_axis=axis)
    if pairs.num_train < _TINY_SIZE:
        usual = dataclasses.replace(usual, width=8, multipliers=(1,), head_width=8)
    elif pairs.num_train < _PAPER_SIZE:
        small = {"width": 8, "multipliers": (1, 2, 4), "head_width": 16}
        usual = dataclasses.replace(usual, **small)
    return dataclasses.replace(usual, fastest=min(usual.fastest, math.pi / gap))


def _general(pairs: Pairs, has_paper_size: bool) -> dict[str, Any]:
    """FNO if inputs and outputs share a regular grid, else DeepONet; relative loss."""
    is_one_grid = (
        pairs.axes is not None
        and all(map(is_uniform, pairs.axes))
        and pairs.inputs.shape[1:-1] == pairs.grid[: len(pairs.inputs.shape) - 2]
    )
    return _with_model(fitted_model(FNO if is_one_grid else DeepONet, pairs), pairs)
