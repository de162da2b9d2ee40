"""Flags that leave out what a solve does by itself, beside training."""

import dataclasses
from typing import Annotated, Any

from tyro.conf import arg

from ..pinn import Continuation, FixedBalance
from ._base import UsageError
from .flags import Switch


@dataclasses.dataclass(frozen=True)
class MechanismFlags:
    """What a solve does by default, and how to leave it out."""

    no_exact_conditions: Switch = False
    """Keep all initial and boundary conditions as terms of the loss."""
    no_balance: Switch = False
    """Give all terms of the loss the weight one, unless they have a weight."""
    no_scales: Switch = False
    """Do not multiply the network's outputs by the size of the given data."""
    no_continuation: Switch = False
    """Do not train easier problems first if a steady problem is stuck."""
    no_slabs: Switch = False
    """Do not march in time if a problem with initial values is stuck."""
    continuation: Annotated[
        str | None, arg(metavar="NAME=VALUE", help_behavior_hint="")
    ] = None
    """Begin with another value of a coefficient of the problem, such as
    viscosity=0.1."""

    def changes(self) -> dict[str, Any]:
        """Return the settings of a recipe that the flags change."""
        found: dict[str, Any] = {}
        if self.no_exact_conditions:
            found["exact_conditions"] = False
        if self.no_balance:
            found["balance"] = FixedBalance()
        if self.no_scales:
            found["has_scales"] = False
        if self.no_continuation:
            found["continuation"] = None
        if self.no_slabs:
            found["time_marching"] = None
        if self.continuation is not None:
            if self.no_continuation:
                raise UsageError(
                    "Give `--continuation` or `--no-continuation`, not both."
                )
            found["continuation"] = _continuation(self.continuation)
        return found

    def given(self) -> list[str]:
        """Return the flags that were given."""
        names = [field.name for field in dataclasses.fields(self)]
        return [f"--{n.replace('_', '-')}" for n in names if getattr(self, n)]


def _continuation(text: str) -> Continuation:
    name, _, value = text.partition("=")
    try:
        start = float(value)
    except ValueError:
        raise UsageError(
            f"`--continuation {text}` must be the name of a coefficient and its first "
            "value, as in viscosity=0.1."
        ) from None
    return Continuation(name, start=start)
