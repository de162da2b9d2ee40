"""Functions that are singular at a point, as further columns of the linear stage."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...core import InputError, check_positive, is_number


class Singular(eqx.Module):
    """A function that is singular at a point, for the linear stage.

    For instance `Singular(lambda r, phi: r**(2/3) * jnp.sin(2/3 * phi), at=(0, 0))`.
    The linear stage finds its coefficient in every field. It is added to the output of
    the network, so an `Ansatz` multiplies it by the same factor as the network.

    `r` is the distance from `at`, and `phi` the angle, counter-clockwise from the
    direction `start`. A domain with a corner at `at` lies between the angles 0 and
    `opening`. The angle jumps in the middle of the rest. All angles are in radians.

    With a `radius`, the function is multiplied by a polynomial in `r` with five
    continuous derivatives. It is one up to half of the radius and zero beyond it.

    `on` names two coordinates; a domain with two coordinates does not need it. Exactly
    at the point, the value and all derivatives are zero.
    """

    function: Callable[..., Any]
    at: tuple[float | int, float | int]
    start: float | int = 0.0
    opening: float | int = 2 * math.pi
    radius: float | int | None = None
    on: tuple[str, str] | None = None

    def __check_init__(self):
        if not callable(self.function):
            raise InputError(
                "`Singular(function=...)` must be a function of `r` and `phi`, got "
                f"{self.function!r}."
            )
        is_pair = isinstance(self.at, tuple | list) and len(self.at) == 2
        if not is_pair or not all(is_number(v) and math.isfinite(v) for v in self.at):
            raise InputError(
                "`Singular(at=...)` must be the two finite coordinates of a point, got "
                f"{self.at!r}."
            )
        if not 0 < self.opening <= 2 * math.pi:
            raise InputError(
                "`Singular(opening=...)` must be an angle between 0 and 2 pi, got "
                f"{self.opening!r}."
            )
        if self.radius is not None:
            check_positive(radius=self.radius)

    def __call__(self, x: Float[Array, ""], y: Float[Array, ""]) -> Float[Array, ""]:
        """Return the value at a point."""
        middle = self.start + self.opening / 2
        cosine, sine = math.cos(middle), math.sin(middle)
        along = (x - self.at[0]) * cosine + (y - self.at[1]) * sine
        across = (y - self.at[1]) * cosine - (x - self.at[0]) * sine
        is_corner = along**2 + across**2 <= jnp.finfo(x.dtype).eps ** 4
        along = jnp.where(is_corner, 1.0, along)
        distance = jnp.sqrt(along**2 + across**2)
        angle = jnp.arctan2(across, along) + self.opening / 2
        value = jnp.asarray(self.function(distance, angle), x.dtype)
        if self.radius is not None:
            value = value * _cut_off(2 - 2 * distance / self.radius)
        return jnp.where(is_corner, 0.0, value)


def _cut_off(share: Float[Array, ""]) -> Float[Array, ""]:
    """Return zero below 0, one above 1, and a polynomial of degree 11 between."""
    share = jnp.where(share < 0, 0.0, jnp.where(share > 1, 1.0, share))
    factors = (462.0, -1980.0, 3465.0, -3080.0, 1386.0, -252.0)
    total = jnp.zeros_like(share)
    for factor in reversed(factors):
        total = total * share + factor
    return total * share**6
