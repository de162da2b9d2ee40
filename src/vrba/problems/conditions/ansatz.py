"""Conditions that hold exactly, by the form of the solution."""

from collections.abc import Callable
from typing import Any

import equinox as eqx


class Ansatz(eqx.Module):
    """The solution is `fn(t, x, N)`, with the coordinates and the network's output.

    For instance `Ansatz(lambda t, x, N: -jnp.sin(jnp.pi * x) + t * (1 - x**2) * N)`.
    With several fields `fn` takes an output for each and returns as many values. It may
    hold known parts, also singular ones.
    """

    fn: Callable[..., Any]
