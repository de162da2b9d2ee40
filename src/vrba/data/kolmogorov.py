"""A two-dimensional flow with periodic forcing."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from typing_extensions import override

from ..core import InputError, check_least, check_positive
from ._base import AbstractMaker, require_package

_CHUNK = 20
_END = 50.0


class Kolmogorov(AbstractMaker):
    """`w_t + u . grad w = viscosity lap w + 0.1 (sin 2 pi(x + y) + cos 2 pi(x + y))` on
    the unit torus: from the initial vorticity to the vorticity at all times until 50.

    Initial fields are Gaussian with covariance `7^3 (-lap + 49)^(-5/2)` and zero mean.
    The solver is ETDRK4 in Fourier space with a `step` of 0.01, by exponax. (Li et al.
    2021; Toscano et al. 2025, who print another variance and torus than they used)

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
        check_least(num_times=(self.num_times, 2), num_points=(self.num_points, 8))
        check_positive(viscosity=self.viscosity, step=self.step)
        ratio = _END / (self.num_times - 1) / self.step
        if abs(ratio - round(ratio)) > 1e-6 * ratio:
            raise InputError(
                f"`step` must divide the time between frames, {_END:g} / "
                f"{self.num_times - 1}, got {self.step}."
            )

    @override
    def axes(self) -> tuple[Float[np.ndarray, " _"], ...]:
        side = np.arange(self.num_points) / self.num_points
        return side, side, np.linspace(0, _END, self.num_times)

    @override
    def chunks(self, first: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        require_package("exponax", "operators", "generate the Kolmogorov flow")
        from ._vorticity import solve_vorticity  # imports exponax, which is optional

        for start in range(first, self.num_funcs, _CHUNK):
            rows = range(start, min(start + _CHUNK, self.num_funcs))
            initial = np.stack([self.initial(row) for row in rows])
            outputs = solve_vorticity(self, initial)
            yield outputs[..., 0, None], outputs[..., None]

    def initial(self, row: int) -> Float[np.ndarray, "x y"]:
        """Return the initial vorticity of a row."""
        n = self.num_points
        noise = np.random.default_rng([self.seed, row]).normal(size=(n, n))
        wavenumbers = 2 * np.pi * np.fft.fftfreq(n, 1 / n)
        spectrum = 7**3 * (wavenumbers[:, None] ** 2 + wavenumbers**2 + 49) ** -2.5
        spectrum[0, 0] = 0
        return np.fft.ifft2(np.fft.fft2(noise) * np.sqrt(spectrum)).real * n
