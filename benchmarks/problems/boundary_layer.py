"""Convection with weak diffusion: a thin layer at the outflow."""

import dataclasses
from typing import Any

import numpy as np
from typing_extensions import override

from vrba.core import check_positive
from vrba.domains import Box
from vrba.problems import Dirichlet, Problem, Reference


class BoundaryLayer(Problem):
    """`-diffusion u_xx + u_x = 1`, `u = 0` at both ends of `[0, 1]`.

    The solution is nearly `x`, and falls to zero in a layer of width `diffusion` at
    `x = 1`. A wider layer of width `w` adds about `1 / w` to the loss, so training can
    stop at a flat local minimum without a layer.

    Good values: `diffusion = 1e-3`. With 0.1 the layer is not thin.
    """

    diffusion: float = 1e-3
    domain = Box(x=(0, 1))

    def __check_init__(self):
        check_positive(diffusion=self.diffusion)

    @override
    def equations(self, u, x):
        return {"convection": u.x - self.diffusion * u.xx - 1}

    @override
    def conditions(self):
        return [Dirichlet(0.0, on="x")]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 20,001 points.

        The error is the difference from extended precision.
        """
        solution = lambda x: _solution(x, self.diffusion)
        found = Reference.from_function(self.domain, solution, (20_001,))
        finer = solution(found.axes["x"].astype(np.longdouble))
        difference = np.linalg.norm(found.values - finer) / np.linalg.norm(finer)
        error = max(float(difference), float(np.finfo(float).eps))
        return dataclasses.replace(found, error=error)


def _solution(x: Any, diffusion: float) -> Any:
    """Evaluate `x - (e^(x / d) - 1) / (e^(1 / d) - 1)` without overflow."""
    rise = np.expm1(-x / diffusion) / np.expm1(-1 / diffusion)
    return x - np.exp((x - 1) / diffusion) * rise
