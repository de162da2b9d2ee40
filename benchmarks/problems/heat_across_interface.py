"""PINNacle's heat equation with a varying coefficient, with an interface."""

import jax.numpy as jnp
from typing_extensions import override

from vrba.problems import Dirichlet, Initial, Interface, Problem, Reference

if __package__:
    from . import heat_in_two_materials as materials
else:  # as a file of the command line
    import heat_in_two_materials as materials


class HeatAcrossInterface(Problem):
    """`u_t = k lap u + 200 sin(pi x) sin(5 pi y) sin(pi t)` on each side of a curve.

    This is `HeatInTwoMaterials` in terms of `u` alone: an `Interface` gives each
    material outputs of its own, and makes `u` and `k du/dn` continuous.
    """

    domain = materials.HeatInTwoMaterials.domain

    @override
    def equations(self, u, t, x, y):
        level = materials.random_level(jnp, x, y)
        coefficient = jnp.where(level < 0, materials.INNER, materials.OUTER)
        source = jnp.sin(jnp.pi * t) * materials.source_shape(jnp, x, y)
        return {"heat": u.t - coefficient * (u.xx + u.yy) - source}

    @override
    def conditions(self):
        level = lambda t, x, y: materials.random_level(jnp, x, y)
        interface = Interface(level, (materials.INNER, materials.OUTER))
        sides = [Dirichlet(0.0, on=name) for name in ("x", "y")]
        return [Initial(0.0), *sides, interface]

    @override
    def reference(self) -> Reference:
        """Return that of `HeatInTwoMaterials`."""
        return materials.HeatInTwoMaterials().reference()
