"""Points where a function of the coordinates, the level, is zero."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core import InputError
from ..domains import AbstractDomain

_BLOCK = 4096  # candidates that are projected together
_MAX_BLOCKS = 2048
_MAX_EMPTY = 8  # blocks without a point, after which there is none
_KEPT_SHARE = 1 / 8  # of the candidates, those nearest to the level set
_NUM_STEPS = 60  # of Newton's method
_SEED = 0  # the roots on a line do not depend on the seed

Level = Callable[[Float[Array, " dim"]], Float[Array, ""]]


class LevelSet(eqx.Module):
    """The points of a domain where `level(point)` is zero and changes its sign.

    `columns` are the coordinates along which points are projected. Normals have zeros
    for all others. They point to the side where the level is positive. Error messages
    contain `name`.
    """

    level: Level
    domain: AbstractDomain
    columns: tuple[int, ...]
    name: str

    @property
    def num_available(self) -> int | None:
        """The number of points on a line, `None` in more dimensions."""
        return len(self.roots()[0]) if len(self.domain.coordinates) == 1 else None

    def roots(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all points on a line, and their normals."""
        points, normals, _ = self._project(_SEED)
        if len(points) == 0:
            raise self._emptiness()
        order = np.argsort(points[:, 0])
        points, normals = points[order], normals[order]
        gaps = np.diff(points[:, 0], prepend=-np.inf)
        is_new = gaps > self._step_size() * self.domain.extent
        return points[is_new], normals[is_new]

    def sample(self, num_points: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return points and their unit normals; on a line, all points.

        Points of the domain are projected by Newton steps along the gradient. Those
        that begin nearest to the level set are kept. They fill a layer of equal
        thickness on both sides, so the density is nearly uniform.
        """
        if len(self.domain.coordinates) == 1:
            return self.roots()
        random = np.random.default_rng(seed)
        reach, found, count = None, [], 0
        for number in range(_MAX_BLOCKS):
            points, normals, distance = self._project(int(random.integers(2**31)))
            if reach is None and len(points):
                nearest = min(len(points), round(_KEPT_SHARE * _BLOCK))
                reach = np.partition(distance, nearest - 1)[nearest - 1]
            if reach is not None:
                is_near = distance <= reach
                found.append((points[is_near], normals[is_near]))
                count += int(np.sum(is_near))
            if count >= num_points or (number >= _MAX_EMPTY and count == 0):
                break
        if count < num_points:
            raise self._emptiness()
        first, second = map(np.concatenate, zip(*found, strict=True))
        return first[:num_points], second[:num_points]

    def _project(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return points on the level set, normals, and how far the points moved."""
        start = self.domain.sample(_BLOCK, seed=seed)
        size = self._step_size() * self.domain.extent
        with jax.ensure_compile_time_eval():  # also while a program is traced
            given = jnp.asarray(start, float), jnp.asarray(size, float)
            found = _newton(self.level, self.columns, *given)
            points, normals, is_reached = (np.asarray(part) for part in found)
        is_reached = is_reached & np.all(np.isfinite(points), axis=1)
        start, points, normals = (
            part[is_reached].astype(float) for part in (start, points, normals)
        )
        is_inside = self.domain.contains(points)
        points, normals = points[is_inside], normals[is_inside]
        return points, normals, np.linalg.norm(points - start[is_inside], axis=1)

    def _step_size(self) -> float:
        """Return a small distance, relative to the size of the domain."""
        return float(np.sqrt(jnp.finfo(jnp.zeros(()).dtype).eps))

    def _emptiness(self) -> InputError:
        points = jnp.asarray(self.domain.sample(_BLOCK, seed=_SEED), float)
        values = np.asarray(jax.vmap(self.level)(points))
        return InputError(
            f"The level of {self.name} changes its sign nowhere in the domain: at "
            f"{_BLOCK:,} points it lies between {np.nanmin(values):.3g} and "
            f"{np.nanmax(values):.3g}. It must be negative on one side, positive on "
            "the other, and differentiable at its zeros."
        )


@eqx.filter_jit
def _newton(level: Level, columns: tuple[int, ...], points: Any, size: Any) -> Any:
    """Return projected points, unit normals, and where the level changes its sign.

    A sign must change within the distance `size`.
    """
    chosen = np.isin(np.arange(points.shape[1]), columns)

    def gradient(point):
        value, slope = jax.value_and_grad(level)(point)
        return value, jnp.where(chosen, slope, 0)

    def step(point):
        value, slope = gradient(point)
        return point - value * slope / jnp.sum(slope**2)

    def at(point):
        point = jax.lax.fori_loop(0, _NUM_STEPS, lambda _, p: step(p), point)
        slope = gradient(point)[1]
        normal = slope / jnp.linalg.norm(slope)
        before, after = level(point - size * normal), level(point + size * normal)
        return point, normal, (before < 0) & (after > 0)

    return jax.vmap(at)(points)
