"""Waves in a medium with variable wave speed."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from typing_extensions import override

from ..core import check_count, check_least
from ._base import AbstractMaker

_CHUNK = 100
_MARGIN = 8  # cells between the centre of a bump and a wall


class Wave(AbstractMaker):
    """`u_tt = c^2 (u_xx + u_yy)`, `c = 1 + sin x sin y` on `[0, pi]^2`, `u = 0` at the
    walls, from the bump `exp(-d^2 / 10)` at rest to the solution until `t = 2`.

    `d` is the distance from the centre in cells of a grid of 64 x 64 points. Centres
    are uniform over the square, away from the walls. The solver uses leapfrog and
    central differences on a grid `refinement` times as fine. The published value one
    has visible numerical dispersion, as a bump is a few cells wide. (Toscano et al.
    2025)

    Good values: `num_points = 64`, `num_times = 51`.
    """

    num_train: int = 800
    num_valid: int = 100
    num_test: int = 100
    num_points: int = 64
    num_times: int = 51
    refinement: int = 1
    seed: int = 0
    names: ClassVar[tuple[str, ...]] = ("t", "x", "y")
    scales: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {},
        "laptop": {
            "num_train": 200,
            "num_valid": 25,
            "num_test": 50,
            "num_points": 32,
            "num_times": 21,
            "refinement": 2,
        },
        "tiny": {
            "num_train": 8,
            "num_valid": 2,
            "num_test": 2,
            "num_points": 16,
            "num_times": 5,
            "refinement": 2,
        },
    }

    def __check_init__(self):
        check_count(refinement=self.refinement)
        check_least(num_times=(self.num_times, 2), num_points=(self.num_points, 8))

    @override
    def axes(self) -> tuple[Float[np.ndarray, " _"], ...]:
        side = np.linspace(0, np.pi, self.num_points)
        return np.linspace(0, 2, self.num_times), side, side

    @override
    def chunks(self, first: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        random = np.random.default_rng(self.seed)
        margin = _MARGIN * np.pi / 63
        centres = random.uniform(margin, np.pi - margin, (self.num_funcs, 2))
        for start in range(first, self.num_funcs, _CHUNK):
            outputs = self.waves(centres[start : start + _CHUNK]).astype(np.float32)
            yield outputs[:, 0, ..., None], outputs[..., None]

    def waves(
        self, centres: Float[np.ndarray, "funcs 2"]
    ) -> Float[np.ndarray, "funcs times x y"]:
        """Return the solutions from bumps at the given centres."""
        num_fine = (self.num_points - 1) * self.refinement + 1
        x = np.linspace(0, np.pi, num_fine)
        gap = x[1] - x[0]
        speed = 1 + np.sin(x)[:, None] * np.sin(x)
        spacing = 2 / (self.num_times - 1)
        num_steps = int(np.ceil(spacing * 2 * np.sqrt(2) / gap))  # stable below 1
        step = spacing / num_steps
        ratio = (speed[1:-1, 1:-1] * step / gap) ** 2
        now = _bumps(x, centres)
        before = now.copy()
        before[:, 1:-1, 1:-1] += ratio * _laplacian(now) / 2  # u(-h) = u(h)
        r = self.refinement
        kept = [now[:, ::r, ::r].copy()]
        for _ in range(self.num_times - 1):
            for _ in range(num_steps):
                after = 2 * now - before
                after[:, 1:-1, 1:-1] += ratio * _laplacian(now)
                before, now = now, after
            kept.append(now[:, ::r, ::r].copy())
        return np.stack(kept, axis=1)


def _bumps(x, centres):
    cell = np.pi / 63
    along = ((x - centres[:, :, None]) / cell) ** 2
    bumps = np.exp(-(along[:, 0, :, None] + along[:, 1, None, :]) / 10)
    walls = np.zeros(len(x), bool)
    walls[[0, -1]] = True
    bumps[:, walls[:, None] | walls] = 0
    return bumps


def _laplacian(u):
    """Return the discrete Laplacian times the squared grid spacing."""
    across = u[:, :-2, 1:-1] + u[:, 2:, 1:-1] + u[:, 1:-1, :-2] + u[:, 1:-1, 2:]
    return across - 4 * u[:, 1:-1, 1:-1]
