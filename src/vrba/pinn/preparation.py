"""What is found before training: the form of conditions, weights and scales."""

from typing import Any

import equinox as eqx

from ..core import check_between, check_count, describe
from ..problems import Formulation


class FormRace(eqx.Module):
    """A comparison of exact conditions with penalties before training.

    Both forms are trained for `max_steps` steps, or for the share `time_share` of the
    time limit each; that with the lower score is kept.
    """

    max_steps: int = 30
    time_share: float = 0.05

    def __check_init__(self):
        check_count(max_steps=self.max_steps)
        check_between(time_share=(self.time_share, 0.0, 0.5))


class Preparation(eqx.Module):
    """What a run found before its first step, as plain values.

    `is_exact` says whether conditions are exact where that is possible. `weights` are
    those of conditions in the loss, `scales` the factors of the network's outputs, for
    each field. `race` holds the scores of both forms of the conditions, if they were
    compared.
    """

    is_exact: bool = False
    weights: dict[str, float] = eqx.field(default_factory=dict)
    scales: dict[str, float] = eqx.field(default_factory=dict)
    race: dict[str, float] = eqx.field(default_factory=dict)

    def applied(self, formulation: Formulation) -> Formulation:
        """Return a problem with the scales and the form that were found."""
        if self.scales:
            names = formulation.problem.fields
            each = tuple(self.scales.get(name, 1.0) for name in names)
            if each != formulation.scales:
                formulation = formulation.with_scales(each)
        return formulation.with_exact_conditions() if self.is_exact else formulation

    def sentence(self, weights: dict[str, float]) -> str:
        """Return the weights and scales in words; `weights` are those of all terms."""
        found = [
            f"{n} {weight:.3g}" for n, weight in weights.items() if n in self.weights
        ]
        text = f"Weights: {', '.join(found)}." if found else ""
        scales = [f"{name} {scale:.3g}" for name, scale in self.scales.items()]
        return f"{text} Scales: {', '.join(scales)}.".strip() if scales else text

    def description(self) -> dict[str, Any]:
        """Return what the manifest of a run stores."""
        found = describe(self)
        del found["class"]
        return found

    @staticmethod
    def from_description(found: dict[str, Any]) -> "Preparation":
        """Return what a manifest stores."""
        return Preparation(**found)
