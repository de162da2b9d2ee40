"""A user-defined potential: one function, its slope by automatic differentiation."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ...core import InputError
from ._base import AbstractPotential, invert_slope


class Custom(AbstractPotential):
    """`potential_fn(s)`, a convex increasing function of one number `s >= 0`.

    Example: `Custom(lambda s: s**2 + s**4)`. Set `everywhere` if the function is convex
    and increasing for negative `s` too, as `jnp.exp` is.
    """

    potential_fn: Callable[[Float[Array, ""]], Float[Array, ""]] = eqx.field(
        static=True
    )
    everywhere: bool = eqx.field(default=False, static=True, kw_only=True)

    def __check_init__(self):
        with jax.ensure_compile_time_eval():
            s = jnp.linspace(0.0, 4.0, 33)
            value, slope = self.value(s), self.slope(s)
            slack = 100 * jnp.finfo(s.dtype).eps * jnp.nanmax(jnp.abs(slope))
            if not bool(jnp.isfinite(value[0]) & jnp.isfinite(slope[0])):
                raise InputError(
                    "`Custom(potential_fn=...)` needs a finite value and slope at 0, "
                    f"got {float(value[0])} and {float(slope[0])}."
                )
            if bool(jnp.any(slope < -slack)):
                where = float(s[jnp.argmax(slope < -slack)])
                raise InputError(
                    f"`Custom(potential_fn=...)` must be increasing, but decreases at "
                    f"s={where}."
                )
            if bool(jnp.any(jnp.diff(slope) < -slack)):
                where = float(s[jnp.argmax(jnp.diff(slope) < -slack)])
                raise InputError(
                    "`Custom(potential_fn=...)` must be convex, but its slope "
                    f"decreases after s={where}."
                )

    @override
    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return self._each(self.potential_fn, self._inside(s))

    @override
    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        slope = self._each(jax.grad(self.potential_fn), self._inside(s))
        return slope if self.everywhere else jnp.where(s < 0, 0, slope)

    @override
    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        """The ratio of slopes.

        If the slope at the peak overflows, only the peak keeps a weight. If the slope
        is zero up to the peak, all weights are equal.
        """
        top = self.slope(peak)
        ratio = self.slope(s) / jnp.where(top > 0, top, 1)
        ratio = jnp.where(top > 0, ratio, 1)
        return jnp.where(jnp.isfinite(top), ratio, (s >= peak).astype(s.dtype))

    @override
    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return invert_slope(self, y)

    @override
    def degree(self) -> float | None:
        return None

    @override
    def is_defined_everywhere(self) -> bool:
        return self.everywhere

    @override
    def is_shift_invariant(self) -> bool:
        return False

    def _inside(self, s):
        return s if self.everywhere else jnp.maximum(s, 0)

    def _each(self, fn, s):
        return jax.vmap(fn)(s.reshape(-1)).reshape(s.shape)
