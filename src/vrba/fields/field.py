"""A function at a point, with its derivatives: `u`, `u.x`, `u.tx`, `u.d("x1")`."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .jet import Index


class Field:
    """The value of a function at a point, with its derivatives as attributes.

    `u.txx` is the derivative by coordinates of one letter, in any order. Use
    `u.d("x1", "x2")` for coordinates with longer names. In formulas `u` is its value.
    """

    __array_ufunc__ = None  # NumPy then uses the operators of this class

    def __init__(
        self, name: str, coordinates: tuple[str, ...], lookup: Callable[[Index], Any]
    ):
        self._name, self._coordinates, self._lookup = name, coordinates, lookup

    @property
    def value(self) -> Any:
        """The value without derivatives."""
        return self._lookup((0,) * len(self._coordinates))

    def d(self, *names: str) -> Any:
        """Return the derivative by each of the named coordinates."""
        return self._lookup(derivative_index(self._name, names, self._coordinates))

    def __getattr__(self, letters: str) -> Any:
        if letters.startswith("_"):
            raise AttributeError(letters)
        if letters in self._coordinates:
            return self.d(letters)
        return self.d(*letters)

    def __jax_array__(self) -> Any:
        return self.value

    def __repr__(self) -> str:
        return f"Field({self._name!r}, coordinates={self._coordinates})"

    def __neg__(self):
        return -self.value

    def __pos__(self):
        return self.value

    def __abs__(self):
        return jnp.abs(self.value)

    def __add__(self, other):
        return self.value + other

    def __radd__(self, other):
        return other + self.value

    def __sub__(self, other):
        return self.value - other

    def __rsub__(self, other):
        return other - self.value

    def __mul__(self, other):
        return self.value * other

    def __rmul__(self, other):
        return other * self.value

    def __truediv__(self, other):
        return self.value / other

    def __rtruediv__(self, other):
        return other / self.value

    def __pow__(self, other):
        return self.value**other

    def __rpow__(self, other):
        return other**self.value

    def __eq__(self, other) -> Any:
        return self.value == other

    def __ne__(self, other) -> Any:
        return self.value != other

    def __lt__(self, other):
        return self.value < other

    def __le__(self, other):
        return self.value <= other

    def __gt__(self, other):
        return self.value > other

    def __ge__(self, other):
        return self.value >= other


# Compiled functions of JAX then receive the value.
jax.tree_util.register_pytree_node(
    Field, lambda field: ((field.value,), None), lambda _, parts: parts[0]
)


def derivative_index(
    field: str, names: tuple[str, ...], coordinates: tuple[str, ...]
) -> Index:
    """Count how often each coordinate is named."""
    for name in names:
        if name not in coordinates:
            derivative = f"{field}.{''.join(names)}"
            if any(len(each) > 1 for each in names):
                derivative = f"{field}.d({', '.join(map(repr, names))})"
            longer = [each for each in coordinates if len(each) > 1]
            hint = (
                f" Write `{field}.d({longer[0]!r})` for longer names." if longer else ""
            )
            raise AttributeError(
                f"`{derivative}` is a derivative by `{name}`, but the coordinates of "
                f"the domain are {', '.join(coordinates)}.{hint}"
            )
    return tuple(names.count(name) for name in coordinates)
