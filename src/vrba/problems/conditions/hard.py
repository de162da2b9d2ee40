"""Hard constraints and input features: properties that hold for any network."""

from collections.abc import Callable
from typing import Any

import equinox as eqx

from ...core import check_count


class Ansatz(eqx.Module):
    """The solution is `fn(t, x, N)`, with the coordinates and the network's output.

    For instance `Ansatz(lambda t, x, N: -jnp.sin(jnp.pi * x) + t * (1 - x**2) * N)`.
    With several fields `fn` takes one output for each and returns as many values. It
    may contain known parts, including singular ones.
    """

    fn: Callable[..., Any]


class Periodic(eqx.Module):
    """Hard periodicity in the coordinate `on`.

    The network receives `cos` and `sin` of the first `modes` frequencies instead of
    the coordinate.
    """

    on: str
    modes: int = 1

    def __check_init__(self):
        check_count(modes=self.modes)


class FourierFeatures(eqx.Module):
    """Additional inputs for a solution that oscillates along the coordinate `on`.

    Beside the coordinate the network receives `cos` and `sin` of the first `modes`
    frequencies of an interval twice as long. The solution need not be periodic. Without
    these inputs a network learns low frequencies first and high ones late. Good values:
    a few more `modes` than twice the number of oscillations.
    """

    on: str
    modes: int

    def __check_init__(self):
        check_count(modes=self.modes)
