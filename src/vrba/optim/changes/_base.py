"""The interface of a change: what an inverse Hessian is worth for other points."""

import abc

import equinox as eqx
from jaxtyping import Array, Bool, Float

Vector = Float[Array, " params"]


class AbstractChange(eqx.Module):
    """What to do with the inverse Hessian when points or weights are new."""

    @abc.abstractmethod
    def judge(
        self,
        old_gradient: Vector,
        old_direction: Vector,
        gradient: Vector,
        direction: Vector,
    ) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        """A factor for the inverse, and whether to forget it instead.

        Directions are `-H g`, of the old and of the new gradient.
        """
