"""The vorticity of a stirred flow in time, by exponax."""

from typing import Any

import equinox as eqx
import exponax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float


class _Stirred(eqx.Module):
    """What is not linear: the flow carries its vorticity, and is stirred. The force is
    in here since exponax's own way to add one is of first order only."""

    convection: Any
    force: Complex[Array, "1 modes half_modes"]

    def __call__(
        self, vorticity: Complex[Array, "1 modes half_modes"]
    ) -> Complex[Array, "1 modes half_modes"]:
        """In Fourier space."""
        return self.convection(vorticity) + self.force


def flow(
    settings: Any, initial: Float[np.ndarray, "funcs x y"]
) -> Float[np.ndarray, "funcs x y times"]:
    """The vorticity at all times, in single precision; exponax mixes types freely."""
    with (
        jax.enable_x64(False),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
        return _flow(settings, initial)


def _flow(settings, initial):
    num_frames = settings.num_times - 1
    num_steps = round(settings.axes()[2][1] / settings.step)
    stepper = method(settings)
    ahead = lambda state: jax.lax.fori_loop(
        0, num_steps, lambda _, now: stepper.step_fourier(now), state
    )

    def frames(field):
        first = exponax.fft(field[None], num_spatial_dims=2)
        step = lambda state, _: (ahead(state),) * 2
        later = jax.lax.scan(step, first, length=num_frames)[1]
        back = lambda state: exponax.ifft(
            state, num_spatial_dims=2, num_points=settings.num_points
        )[0]
        return jnp.concatenate([field[None], jax.vmap(back)(later)])

    found = jax.jit(jax.vmap(frames))(jnp.asarray(initial, jnp.float32))
    return np.moveaxis(np.asarray(found), 1, -1)


def method(settings: Any) -> exponax.etdrk.ETDRK4:
    """ETDRK4. Its convection turns the other way round than `w = v_x - u_y`."""
    n = settings.num_points
    slopes = exponax.spectral.build_derivative_operator(2, 1.0, n)
    convection = exponax.nonlin_fun.VorticityConvection2d(
        2,
        n,
        convection_scale=-1.0,
        derivative_operator=slopes,
        dealiasing_fraction=2 / 3,
    )
    x, y, _ = settings.axes()
    angle = 2 * np.pi * (x[:, None] + y)
    force = 0.1 * jnp.asarray(np.sin(angle) + np.cos(angle), jnp.float32)
    laplacian = exponax.spectral.build_laplace_operator(slopes)
    stirred: Any = _Stirred(convection, exponax.fft(force[None], num_spatial_dims=2))
    return exponax.etdrk.ETDRK4(
        settings.step,
        settings.viscosity * laplacian,
        stirred,
        num_circle_points=16,
        circle_radius=1.0,
    )
