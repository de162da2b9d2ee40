"""The interface of a problem: equations and conditions as they are on paper."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx

from ..domains import AbstractDomain
from .reference import Reference
from .unknown import Unknown


class Problem(eqx.Module):
    """A differential equation with its domain and conditions.

    `fields` names the functions that are sought, `domain` their coordinates, and
    `unknowns` coefficients that are found from data, by name: `{"k": Unknown(1.0)}`.
    `reference`, if there is one, is a `Reference` or a method that returns one;
    `model`, if there is one, the architecture to take unless a recipe has another.
    """

    fields: ClassVar[tuple[str, ...]] = ("u",)
    unknowns: ClassVar[dict[str, Unknown]] = {}
    reference: ClassVar[Reference | Callable[..., Any] | None] = None
    model: ClassVar[Any] = None
    domain: ClassVar[AbstractDomain]

    @abc.abstractmethod
    def equations(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        """What should vanish, by name: `equations(self, u, t, x)` takes each field,
        then each coordinate, at one point, and the unknowns after them."""

    @abc.abstractmethod
    def conditions(self) -> list[Any]:
        """Initial and boundary conditions, periodicity, an ansatz, data."""
