"""PINNacle's heat equation with a varying coefficient: two materials."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.sparse.linalg import splu
from typing_extensions import override

from vrba.domains import Box
from vrba.problems import Dirichlet, Initial, Problem, Reference

if __package__:
    from ._finite_elements import assemble, build_mesh, decay, interpolation
else:  # as a file of the command line
    from _finite_elements import assemble, build_mesh, decay, interpolation

INNER, OUTER = 1.0, 12.0  # the coefficient where the level is negative or positive
_STRENGTH, _END = 200.0, 5.0
_ORDERS = [(m, n) for m in range(4) for n in range(-3, 4) if m > 0 or n > 0]
_RANDOM = np.random.default_rng(0).standard_normal((2, len(_ORDERS)))
_SIZES = _RANDOM / np.array([m**2 + n**2 for m, n in _ORDERS])
_NUM_TIMES, _NUM_PLACES = 51, 41


class HeatInTwoMaterials(Problem):
    """`u_t = div(k grad u) + 200 sin(pi x) sin(5 pi y) sin(pi t)` on the unit square,
    for `t` from 0 to 5, `u = 0` at the start and on all sides.

    The coefficient `k` is 1 where a random function is negative, 12 elsewhere. The
    function is a Fourier series whose terms fall like one over the square of the wave
    number. The fields `p` and `q` are the flux `k grad u`, so no derivative of `k`
    appears. Slopes of `u` jump where `k` does. This is Heat2d-VC of Hao et al. (2023),
    with a coefficient of our own. Only `u` is compared.
    """

    fields = ("u", "p", "q")
    domain = Box(t=(0, _END), x=(0, 1), y=(0, 1))

    @override
    def equations(self, u, p, q, t, x, y):
        coefficient = jnp.where(random_level(jnp, x, y) < 0, INNER, OUTER)
        source = jnp.sin(jnp.pi * t) * source_shape(jnp, x, y)
        return {
            "heat": u.t - p.x - q.y - source,
            "flux x": p - coefficient * u.x,
            "flux y": q - coefficient * u.y,
        }

    @override
    def conditions(self):
        sides = [Dirichlet(0.0, on=name, field="u") for name in ("x", "y")]
        return [Initial(0.0, field="u"), *sides]

    @override
    def reference(self) -> Reference:
        """Return quadratic finite elements of size 0.018 on 51 x 41 x 41 points.

        The error is the difference from the size 0.03. The triangles follow the curve
        where the coefficient jumps. There are no time steps.
        """
        values, coarse = solve_heat(0.018), solve_heat(0.03)
        error = float(np.linalg.norm(coarse - values) / np.linalg.norm(values))
        axis = np.linspace(0, 1, _NUM_PLACES)
        axes = {"t": np.linspace(0, _END, _NUM_TIMES), "x": axis, "y": axis}
        return Reference(axes, {"u": values}, error)


def random_level(xp: Any, x: Any, y: Any) -> Any:
    """Evaluate the random function, with `numpy` or `jax.numpy` as `xp`."""
    total = 0 * x
    for (m, n), along, across in zip(_ORDERS, *_SIZES.tolist(), strict=True):
        phase = 2 * np.pi * (m * x + n * y)
        total = total + along * xp.cos(phase) + across * xp.sin(phase)
    return total


def source_shape(xp: Any, x: Any, y: Any) -> Any:
    """Evaluate the source without its pulse, with `numpy` or `jax.numpy` as `xp`."""
    return _STRENGTH * xp.sin(np.pi * x) * xp.sin(5 * np.pi * y)


def solve_heat(spacing: float) -> np.ndarray:
    """Return the solution on the grid of the reference.

    It is the imaginary part of `w(x, y) e^(i pi t)`, plus a part that decays.
    """
    level = lambda x, y: random_level(np, x, y)
    mesh = build_mesh((0, 1, 0, 1), spacing, interface=level)
    coefficient = np.where(mesh.side < 0, INNER, OUTER)
    matrices = assemble(mesh, coefficient, lambda x, y: source_shape(np, x, y))
    is_free = np.min(np.minimum(mesh.nodes, 1 - mesh.nodes), axis=1) > 1e-9
    rows = np.nonzero(is_free)[0]
    stiffness, mass = (
        part[rows][:, rows].tocsc() for part in (matrices.stiffness, matrices.mass)
    )
    inner = matrices._replace(stiffness=stiffness, mass=mass)
    pulse = splu((stiffness + 1j * np.pi * mass).tocsc())
    periodic = pulse.solve(matrices.load[rows].astype(complex))
    times = np.linspace(0, _END, _NUM_TIMES)
    nodal = np.imag(np.exp(1j * np.pi * times)[:, None] * periodic)
    early = slice(1, 11)  # later the part that decays is negligible
    nodal[early] += decay(inner, times[early], lambda s: -mass @ periodic.imag)
    nodal[0] = 0
    grid = np.meshgrid(*[np.linspace(0, 1, _NUM_PLACES)] * 2, indexing="ij")
    points = np.stack([np.ravel(part) for part in grid], axis=1)
    side = np.where(level(*points.T) < 0, -1.0, 1.0)
    matrix = interpolation(mesh, points, side)[:, rows]
    return (nodal @ matrix.T).reshape(_NUM_TIMES, _NUM_PLACES, _NUM_PLACES)
