"""A solver for the vorticity of a forced flow, with exponax."""

from typing import Any

import equinox as eqx
import exponax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float


class _ForcedConvection(eqx.Module):
    """Convection plus the force, in Fourier space.

    The force is part of the nonlinear term because exponax's own forcing is only first
    order in time.
    """

    convection: Any
    force: Complex[Array, "1 modes half_modes"]

    def __call__(
        self, vorticity: Complex[Array, "1 modes half_modes"]
    ) -> Complex[Array, "1 modes half_modes"]:
        return self.convection(vorticity) + self.force


def solve_vorticity(
    settings: Any, initial: Float[np.ndarray, "funcs x y"]
) -> Float[np.ndarray, "funcs x y times"]:
    """Return the vorticity at all times, in float32; exponax mixes dtypes freely."""
    with (
        jax.enable_x64(False),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
        return _solve(settings, initial)


def _solve(settings, initial):
    num_frames = settings.num_times - 1
    num_steps = round(settings.axes()[2][1] / settings.step)
    stepper = build_stepper(settings)
    advance = lambda state: jax.lax.fori_loop(
        0, num_steps, lambda _, now: stepper.step_fourier(now), state
    )

    def frames(field):
        first = exponax.fft(field[None], num_spatial_dims=2)
        step = lambda state, _: (advance(state),) * 2
        later = jax.lax.scan(step, first, length=num_frames)[1]
        back = lambda state: exponax.ifft(
            state, num_spatial_dims=2, num_points=settings.num_points
        )[0]
        return jnp.concatenate([field[None], jax.vmap(back)(later)])

    found = jax.jit(jax.vmap(frames))(jnp.asarray(initial, jnp.float32))
    return np.moveaxis(np.asarray(found), 1, -1)


def build_stepper(settings: Any) -> exponax.etdrk.ETDRK4:
    """Build an ETDRK4 stepper.

    The convection scale is -1, since exponax uses the opposite sign of vorticity.
    """
    n = settings.num_points
    derivatives = exponax.spectral.build_derivative_operator(2, 1.0, n)
    convection = exponax.nonlin_fun.VorticityConvection2d(
        2,
        n,
        convection_scale=-1.0,
        derivative_operator=derivatives,
        dealiasing_fraction=2 / 3,
    )
    x, y, _ = settings.axes()
    angle = 2 * np.pi * (x[:, None] + y)
    force = 0.1 * jnp.asarray(np.sin(angle) + np.cos(angle), jnp.float32)
    laplacian = exponax.spectral.build_laplace_operator(derivatives)
    nonlinear: Any = _ForcedConvection(
        convection, exponax.fft(force[None], num_spatial_dims=2)
    )
    return exponax.etdrk.ETDRK4(
        settings.step,
        settings.viscosity * laplacian,
        nonlinear,
        num_circle_points=16,
        circle_radius=1.0,
    )
