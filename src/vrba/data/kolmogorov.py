"""A flow that is stirred in one direction."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from ..core import InputError, check_least, check_positive
from ._base import AbstractMaker
from ._optional import needed

_CHUNK = 20
_END = 50.0


class Kolmogorov(AbstractMaker):
    """`w_t + u . grad w = viscosity lap w + 0.1 (sin 2 pi(x + y) + cos 2 pi(x + y))` on
    the unit torus: from the vorticity at rest to that at all times until 50.

    Initial fields are Gaussian with the variance `7^3 (-lap + 49)^(-5/2)` and no mean.
    Fourier modes and ETDRK4 with a `step` of 0.01, by exponax. (Li et al. 2021; Toscano
    et al. 2025, who print another variance and another torus than they used)

    Good values: `num_points = 64`, which is converged at this viscosity.
    """

    num_train: int = 800
    num_valid: int = 100
    num_test: int = 100
    num_points: int = 64
    num_times: int = 51
    viscosity: float = 1e-3
    step: float = 0.01
    seed: int = 0
    names: ClassVar[tuple[str, ...]] = ("x", "y", "t")
    scales: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {},
        "laptop": {
            "num_train": 160,
            "num_valid": 20,
            "num_test": 20,
            "num_points": 32,
            "num_times": 17,
            "step": 0.025,
        },
        "tiny": {
            "num_train": 4,
            "num_valid": 1,
            "num_test": 1,
            "num_points": 16,
            "num_times": 5,
            "step": 0.05,
        },
    }

    def __check_init__(self):
        """Steps are whole parts of the time between frames."""
        check_least(num_times=(self.num_times, 2), num_points=(self.num_points, 8))
        check_positive(viscosity=self.viscosity, step=self.step)
        ratio = _END / (self.num_times - 1) / self.step
        if abs(ratio - round(ratio)) > 1e-6 * ratio:
            raise InputError(
                f"`step` must divide the time between frames, {_END:g} / "
                f"{self.num_times - 1}, got {self.step}."
            )

    def axes(self) -> tuple[Float[np.ndarray, " _"], ...]:
        """Both sides, without the end that is the beginning, and times from 0."""
        side = np.arange(self.num_points) / self.num_points
        return side, side, np.linspace(0, _END, self.num_times)

    def chunks(self, first: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The vorticity at first, and at all times."""
        needed("exponax", "operators", "make the Kolmogorov flow")
        from ._flow import flow  # it needs exponax, which is optional

        for start in range(first, self.num_funcs, _CHUNK):
            rows = range(start, min(start + _CHUNK, self.num_funcs))
            initial = np.stack([self.initial(row) for row in rows])
            outputs = flow(self, initial)
            yield outputs[..., 0, None], outputs[..., None]

    def initial(self, row: int) -> Float[np.ndarray, "x y"]:
        """The vorticity of a row at first."""
        n = self.num_points
        noise = np.random.default_rng([self.seed, row]).normal(size=(n, n))
        waves = 2 * np.pi * np.fft.fftfreq(n, 1 / n)
        spectrum = 7**3 * (waves[:, None] ** 2 + waves**2 + 49) ** -2.5
        spectrum[0, 0] = 0
        return np.fft.ifft2(np.fft.fft2(noise) * np.sqrt(spectrum)).real * n
