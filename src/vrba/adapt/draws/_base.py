"""The interface of a draw."""

import abc

import equinox as eqx
from jaxtyping import Array, Float, Int, Key


class AbstractDraw(eqx.Module):
    """A way to pick point ids so that point `i` is expected `n q_i` times."""

    @abc.abstractmethod
    def ids(
        self, mass: Float[Array, " points"], num_points: int, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        """Ids drawn in proportion to `mass`, which need not sum to one."""

    @abc.abstractmethod
    def is_proportional(self) -> bool:
        """Whether every point is expected exactly `n q_i` times."""
