"""The interface of a problem: its equations and conditions as on paper."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx

from ..domains import AbstractDomain
from .reference import Reference
from .unknowns import Unknown


class Problem(eqx.Module):
    """A differential equation with its domain and conditions; subclass it.

    `fields` names the unknown functions and `domain` holds their coordinates.
    `unknowns` maps names to coefficients to find from data: `{"k": Unknown(1.0)}`.
    `reference` is an optional `Reference` or a method that returns one. `model` is an
    optional default architecture; a recipe may replace it.
    """

    fields: ClassVar[tuple[str, ...]] = ("u",)
    unknowns: ClassVar[dict[str, Unknown]] = {}
    reference: ClassVar[Reference | Callable[..., Any] | None] = None
    model: ClassVar[Any] = None
    domain: ClassVar[AbstractDomain]

    @abc.abstractmethod
    def equations(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        """Return the residuals by name, at one point.

        The arguments are the fields, then the coordinates, then the unknowns:
        `equations(self, u, t, x)`.
        """

    @abc.abstractmethod
    def conditions(self) -> list[Any]:
        """Return the list of conditions: initial, boundary, periodic, ansatz, data."""
