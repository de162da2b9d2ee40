"""The interface of a maker of data."""

import abc
from collections.abc import Iterator
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from ..core import check_count


class AbstractMaker(eqx.Module):
    """Settings of a data set, from which it can be made again.

    Equal settings make equal functions, whatever is stopped on the way: `num_train` to
    train on, then `num_valid`, then `num_test`.
    """

    num_train: eqx.AbstractVar[int]
    num_valid: eqx.AbstractVar[int]
    num_test: eqx.AbstractVar[int]
    seed: eqx.AbstractVar[int]
    names: ClassVar[tuple[str, ...]]
    scales: ClassVar[dict[str, dict[str, Any]]]

    def __check_init__(self):
        """There is something to make."""
        counts = {"num_train": self.num_train, "num_valid": self.num_valid}
        check_count(**counts, num_test=self.num_test)

    @property
    def num_funcs(self) -> int:
        """All of them."""
        return self.num_train + self.num_valid + self.num_test

    @abc.abstractmethod
    def axes(self) -> tuple[np.ndarray, ...]:
        """The coordinates of the outputs along each axis, in the order of `names`."""

    @abc.abstractmethod
    def chunks(self, first: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Inputs and outputs from row `first` on, some rows at a time."""
