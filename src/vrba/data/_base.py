"""The interface of a data generator, and a check for optional packages."""

import abc
import importlib.util
from collections.abc import Iterator
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from ..core import check_count


class AbstractMaker(eqx.Module):
    """A generator of operator data. Equal settings give equal data.

    The rows are `num_train` training functions, then `num_valid`, then `num_test`.
    `names` are the output coordinates. `scales` maps a size to its settings. Generation
    can be interrupted and continued at any row.
    """

    num_train: eqx.AbstractVar[int]
    num_valid: eqx.AbstractVar[int]
    num_test: eqx.AbstractVar[int]
    seed: eqx.AbstractVar[int]
    names: ClassVar[tuple[str, ...]]
    scales: ClassVar[dict[str, dict[str, Any]]]

    def __check_init__(self):
        counts = {"num_train": self.num_train, "num_valid": self.num_valid}
        check_count(**counts, num_test=self.num_test)

    @property
    def num_funcs(self) -> int:
        """The number of functions in all parts."""
        return self.num_train + self.num_valid + self.num_test

    @abc.abstractmethod
    def axes(self) -> tuple[np.ndarray, ...]:
        """Return the output coordinates along each axis, in the order of `names`."""

    @abc.abstractmethod
    def chunks(self, first: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield inputs and outputs from row `first` on, several rows at a time."""


def require_package(package: str, extra: str, purpose: str) -> None:
    """Raise unless an optional package is installed."""
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(
            f"`{package}` is needed to {purpose}. Install it with "
            f"`pip install '.[{extra}]'` in a clone of vrba."
        )
