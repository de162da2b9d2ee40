"""Given values with jumps and kinks stay terms of the loss."""

import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from vrba.problems import Formulation


class Heat(vrba.Problem):
    """An equation of second or fourth order with given initial and end values."""

    initial: object
    ends: object = 0.0
    order: int = 2
    domain = vrba.Box(t=(0, 1), x=(-1, 1))

    def equations(self, u, t, x):
        return {"heat": u.t + (u.xxxx if self.order == 4 else -u.xx)}

    def conditions(self):
        return [vrba.Initial(self.initial), vrba.Dirichlet(self.ends, on="x")]


SMOOTH = {
    "cosine": Heat(lambda x: jnp.cos(jnp.pi * x / 2)),
    "a front that the points resolve": Heat(lambda x: (1 - x**2) * jnp.tanh(x / 0.01)),
    "a kink of the second derivative": Heat(lambda x: (1 - x**2) * jnp.abs(x) ** 3),
    # the equation has one derivative in time
    "a kink in time": Heat(lambda x: 0 * x, lambda t, x: jnp.maximum(t - 0.5, 0) * x),
}
ROUGH = {
    "tent": Heat(lambda x: 1 - jnp.abs(x)),
    "plucked string": Heat(lambda x: jnp.minimum(x + 1, (1 - x) / 3)),
    "step": Heat(lambda x: jnp.where(jnp.abs(x) < 0.3, 1.0, 0.0)),
    "fourth order": Heat(lambda x: (1 - x**2) * jnp.abs(x) ** 3, order=4),
    "jump in time": Heat(lambda x: 0 * x, lambda t, x: jnp.where(t < 0.5, 0.0, x)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_values_become_exact(name):
    found = Formulation(SMOOTH[name]).with_exact_conditions().exact
    assert found.names == ("initial", "dirichlet x")


@pytest.mark.parametrize("name", ROUGH)
def test_values_with_a_jump_or_a_kink_stay_penalties(name):
    found = Formulation(ROUGH[name]).with_exact_conditions().exact
    assert found.names == ()
    where = "`t`" if "time" in name else "`x`"
    assert all(f"jump along {where}" in why for why in found.reasons.values())


def test_an_ansatz_would_hide_the_kink_of_a_tent():
    """The tent has no residual that automatic differentiation sees."""
    from vrba.problems import ExactConditions, find_exact_conditions

    problem = ROUGH["tent"]
    plain = Formulation(problem)
    form = find_exact_conditions(problem.domain, ("u",), (), plain.conditions)
    assert isinstance(form, ExactConditions) and form.names
    hidden = Formulation(problem, form)
    network, stack = lambda p: jnp.zeros(1), lambda *p: jnp.stack(p)
    points = jnp.asarray(problem.domain.sample(64, seed=0))
    residual = hidden.terms()["equations"]
    found = [residual(stack, network, (point, jnp.zeros(0))) for point in points[:8]]
    np.testing.assert_array_equal(np.asarray(found), 0)


class Ring(vrba.Problem):
    """Initial values whose slope jumps at the seam of a periodic coordinate."""

    domain = vrba.Box(t=(0, 1), x=(-1, 1))

    def equations(self, u, t, x):
        return {"heat": u.t - u.xx}

    def conditions(self):
        return [vrba.Initial(lambda x: x**2), vrba.Periodic("x")]


def test_the_seam_of_a_periodic_coordinate_counts():
    assert Formulation(Ring()).with_exact_conditions().exact.names == ()
