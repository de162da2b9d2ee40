"""A network of branch and trunk: derivatives, sizes, names, and a run with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.pinn.cases import tiny_recipe

import vrba
from vrba.fields import closure, coordinate_jets, propagate
from vrba.models import (
    MLP,
    AbstractArchitecture,
    Embedding,
    PhysicsInformedDeepONet,
    count_params,
)
from vrba.problems import Formulation
from vrba.train import Silent, default_recipe

pytestmark = pytest.mark.xdist_group("train")

KEY = jax.random.key(3)
# Coordinates t, a, x, b: those of the function stand between the others; x is periodic
# and t has waves, so that a coordinate is not one input.
LOWER, UPPER = (0.0, -1.0, 0.0, 2.0), (2.0, 1.0, 3.0, 5.0)
EMBEDDING = Embedding(LOWER, UPPER, modes=(0, 0, 2, 0), waves=(1, 0, 0, 0))
NAMES = ("t", "t", "t", "a", "x", "x", "x", "x", "b")
POINT = jnp.array([0.4, -0.3, 1.1, 2.7])
SMALL = PhysicsInformedDeepONet(("b", "a"), branch=MLP(5, 1), trunk=MLP(4, 2), latent=3)
ASKED = [(0, 0, 2, 0), (1, 0, 0, 0), (1, 0, 1, 0), (0, 1, 1, 0), (0, 1, 0, 1)]
ASKED += [(0, 2, 0, 0), (0, 0, 0, 1), (0, 0, 3, 0), (1, 1, 0, 1)]


class Forced(vrba.Problem):
    """`u'' + u^3 = a sin(pi x) + b sin(2 pi x)` for all `a` and `b`, two fields."""

    fields = ("u", "v")
    domain = vrba.Box(a=(-1, 1), x=(0, 1), b=(-1, 1))
    model = PhysicsInformedDeepONet(
        ("a", "b"), branch=MLP(4, 1), trunk=MLP(4, 1), latent=3
    )

    def equations(self, u, v, a, x, b):
        force = a * jnp.sin(jnp.pi * x) + b * jnp.sin(2 * jnp.pi * x)
        return {"u": u.xx + u**3 - force, "v": v.x - u + b * v.d("a")}

    def conditions(self):
        return [vrba.Ansatz(lambda a, x, b, U, V: (x * (1 - x) * U, x * V))]


class Line(AbstractArchitecture):
    """A network of one's own, which does not propagate by itself."""

    def build(self, num_inputs, num_outputs, *, key, dtype, names=()):
        """Sines of a linear map."""
        weight = jax.random.normal(key, (num_outputs, num_inputs), dtype)
        return lambda inputs: jnp.sin(weight @ inputs)


def network_of(model, num_outputs=2):
    size = EMBEDDING.num_outputs
    given = {"key": KEY, "dtype": jnp.float64, "names": NAMES}
    return model.build(size, num_outputs, **given)


def derived(fn, index):
    """A derivative by nested `jax.jacfwd`."""
    for k, count in enumerate(index):
        for _ in range(count):
            fn = lambda p, fn=fn, k=k: jax.jacfwd(fn)(p)[..., k]
    return fn


def jets_of(network, point, indices):
    """By the network's own way, and by the general rule."""
    jets = coordinate_jets(point, 4)
    inputs = propagate(EMBEDDING, jets, indices)
    own = propagate(network, [inputs], indices)
    return own, propagate(lambda z: network(z), [inputs], indices)


# Derivatives.


@pytest.mark.parametrize("trunk", [MLP(4, 2), Line()], ids=["MLP", "own"])
def test_derivatives_are_those_of_jax(trunk):
    model = PhysicsInformedDeepONet(("b", "a"), branch=MLP(5, 1), trunk=trunk, latent=3)
    network, indices = network_of(model), closure(ASKED)
    own, general = jax.jit(lambda p: jets_of(network, p, indices))(POINT)
    fn = lambda p: network(EMBEDDING(*p))
    true = jax.jit(lambda p: {i: derived(fn, i)(p) for i in indices})(POINT)
    assert set(own) == set(general) == indices
    for index in indices:
        assert np.all(np.abs(true[index]) > 0)
        np.testing.assert_allclose(own[index], true[index], rtol=1e-10)
        np.testing.assert_allclose(general[index], true[index], rtol=1e-10)


def test_gradient_and_hessian_by_places():
    network = network_of(SMALL, 1)
    indices = closure([(0, 0, 2, 0), (2, 0, 0, 0), (1, 0, 1, 0)])
    own, _ = jax.jit(lambda p: jets_of(network, p, indices))(POINT)
    fn = lambda p: network(EMBEDDING(*p))[0]
    gradient, hessian = jax.jit(lambda p: (jax.grad(fn)(p), jax.hessian(fn)(p)))(POINT)
    unit = np.eye(4, dtype=int)
    for k in (0, 2):
        first = own[tuple(unit[k].tolist())][0]
        np.testing.assert_allclose(first, gradient[k], rtol=1e-10)
        for j in (0, 2):
            second = own[tuple((unit[k] + unit[j]).tolist())][0]
            np.testing.assert_allclose(second, hessian[k, j], rtol=1e-10)


def num_products(indices):
    """How many products with a matrix a program of these derivatives holds."""
    network = network_of(SMALL)

    def run(point):
        jets = coordinate_jets(point, 4)
        inputs = propagate(EMBEDDING, jets, indices)
        return propagate(network, [inputs], indices)

    return str(jax.make_jaxpr(run)(POINT)).count("dot_general")


def test_derivatives_by_places_ask_only_the_trunk():
    value, twice = closure([(0, 0, 0, 0)]), closure([(0, 0, 2, 0)])
    of_function = closure([(0, 2, 0, 0)])
    branch, trunk = 2, 3  # layers
    assert num_products(value) == branch + trunk
    # the first derivative in all layers; the second in those behind an activation,
    # and in the first where the coordinate is embedded as waves
    assert num_products(twice) - num_products(value) == 2 * trunk
    assert num_products(of_function) - num_products(value) == 2 * branch - 1


# Sizes and names.


def layers(num_inputs, width, depth, num_outputs):
    inner = (depth - 1) * (width * width + width)
    return (num_inputs + 1) * width + inner + (width + 1) * num_outputs


def test_parameters_are_counted_by_formula():
    network, num_fields = network_of(SMALL, 2), 2
    expected = layers(2, 5, 1, 3 * num_fields) + layers(7, 4, 2, 3 * num_fields)
    assert count_params(network) == expected
    assert network(EMBEDDING(*POINT)).shape == (num_fields,)


def test_numbers_are_of_the_type_that_was_asked_for():
    given = {"key": KEY, "dtype": jnp.float32, "names": NAMES}
    size = EMBEDDING.num_outputs
    run = lambda inputs: SMALL.build(size, 2, **given)(inputs)
    inputs = jax.ShapeDtypeStruct((size,), jnp.float32)
    assert jax.eval_shape(run, inputs).dtype == jnp.float32


def test_each_part_sees_its_own():
    network = network_of(SMALL)
    moved = jax.jacfwd(network.branch)(EMBEDDING(*POINT))
    is_seen = np.any(moved != 0, axis=0)
    assert [n for n, seen in zip(NAMES, is_seen, strict=True) if seen] == ["a", "b"]
    moved = jax.jacfwd(network.trunk)(EMBEDDING(*POINT))
    assert np.all(np.any(moved != 0, axis=0) != is_seen)


@pytest.mark.parametrize(
    ("coefficients", "words"),
    [
        (
            ("a", "c"),
            "`coefficients` of `PhysicsInformedDeepONet` names `c`, but the coordinates are",
        ),
        (("a", "b", "t", "x"), "leave out places and times"),
    ],
)
def test_names_that_do_not_suit_are_told(coefficients, words):
    with pytest.raises(ValueError, match=words):
        network_of(PhysicsInformedDeepONet(coefficients))


@pytest.mark.parametrize("coefficients", ["a", (), ["a", "b"], (1, 2)])
def test_what_is_no_names_is_refused(coefficients, as_a_user):
    with pytest.raises(ValueError, match="`coefficients` must be a tuple"):
        PhysicsInformedDeepONet(coefficients)


def test_latent_is_positive():
    with pytest.raises(ValueError, match="`latent` must be at least 1, got 0"):
        PhysicsInformedDeepONet(("a",), latent=0)


def test_names_are_needed():
    with pytest.raises(ValueError, match="the coordinates are not given"):
        SMALL.build(2, 1, key=KEY, dtype=jnp.float64)


# Runs.


def test_a_problem_brings_its_model():
    formulation = Formulation(Forced())
    assert default_recipe(formulation).model == Forced.model
    assert default_recipe(formulation, optimizer=vrba.optim.Adam()).model == (
        Forced.model
    )
    asked = default_recipe(formulation, model=MLP(3, 1))
    assert asked.model == MLP(3, 1)


def test_a_run_is_saved_and_read(tmp_path):
    optimizer = vrba.optim.LevenbergMarquardt()
    recipe = tiny_recipe(model=Forced.model, optimizer=optimizer, max_steps=9)
    solution = vrba.solve(Forced(), recipe, callback=Silent())
    residuals = [entry["residual_l2"] for entry in solution.record]
    assert residuals[-1] < residuals[0]
    place = (0.3, np.linspace(0, 1, 5), -0.2)
    again = vrba.Solution.load(solution.save(tmp_path / "run"), Forced())
    for field, values in solution(*place).items():
        np.testing.assert_array_equal(again(*place)[field], values)
    assert again.trainer.recipe.model == Forced.model
