"""The interface of a problem: equations and conditions as they are on paper."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx

from ..domains import AbstractDomain


class AbstractProblem(eqx.Module):
    """A differential equation with its domain and conditions.

    `fields` names the unknowns, `domain` their coordinates. `reference`, if there is
    one, is a method that returns a `Reference`.
    """

    fields: ClassVar[tuple[str, ...]] = ("u",)
    reference: ClassVar[Callable[..., Any] | None] = None
    domain: ClassVar[AbstractDomain]

    @abc.abstractmethod
    def equations(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        """What should vanish, by name: `equations(self, u, t, x)` takes each field,
        then each coordinate, at one point."""

    @abc.abstractmethod
    def conditions(self) -> list[Any]:
        """Initial and boundary conditions, periodicity, an ansatz, data."""
