"""The physics-informed DeepONet: derivatives, sizes, names, and a run with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from vrba.fields import coordinate_jets, downward_closure, propagate
from vrba.models import (
    MLP,
    AbstractArchitecture,
    Embedding,
    PhysicsInformedDeepONet,
    count_params,
)
from vrba.problems import Formulation
from vrba.runs import Silent

pytestmark = pytest.mark.xdist_group("train")

KEY = jax.random.key(3)
# Coordinates t, a, x, b: `a` and `b` describe the function. x is periodic and t has
# Fourier features, so that a coordinate is not one input.
LOWER, UPPER = (0.0, -1.0, 0.0, 2.0), (2.0, 1.0, 3.0, 5.0)
EMBEDDING = Embedding(LOWER, UPPER, (0, 0, 2, 0), (1, 0, 0, 0))
NAMES = ("t", "t", "t", "a", "x", "x", "x", "x", "b")
POINT = jnp.array([0.4, -0.3, 1.1, 2.7])
SMALL = PhysicsInformedDeepONet(("b", "a"), branch=MLP(5, 1), trunk=MLP(4, 2), latent=3)
TOP = [(0, 0, 2, 0), (1, 0, 0, 0), (1, 0, 1, 0), (0, 1, 1, 0), (0, 1, 0, 1)]
TOP += [(0, 2, 0, 0), (0, 0, 0, 1), (0, 0, 3, 0), (1, 1, 0, 1)]


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


class SineOfLinear(AbstractArchitecture):
    """A network of one's own, without its own rule for derivatives."""

    def build(self, num_inputs, num_outputs, *, key, dtype, names=()):
        weight = jax.random.normal(key, (num_outputs, num_inputs), dtype)
        return lambda inputs: jnp.sin(weight @ inputs)


def network_of(model, num_outputs=2):
    size = EMBEDDING.num_outputs
    given = {"key": KEY, "dtype": jnp.float64, "names": NAMES}
    return model.build(size, num_outputs, **given)


def derived(fn, index):
    """Return a derivative by nested `jax.jacfwd`."""
    for k, count in enumerate(index):
        for _ in range(count):
            fn = lambda p, fn=fn, k=k: jax.jacfwd(fn)(p)[..., k]
    return fn


def jets_of(network, point, indices):
    """Return the derivatives by the rule of the network, and by the general rule."""
    jets = coordinate_jets(point, 4)
    inputs = propagate(EMBEDDING, jets, indices)
    own = propagate(network, [inputs], indices)
    return own, propagate(lambda z: network(z), [inputs], indices)


# Derivatives.


@pytest.mark.parametrize("trunk", [MLP(4, 2), SineOfLinear()], ids=["MLP", "own"])
def test_derivatives_agree_with_jax(trunk):
    model = PhysicsInformedDeepONet(("b", "a"), branch=MLP(5, 1), trunk=trunk, latent=3)
    network, indices = network_of(model), downward_closure(TOP)
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
    indices = downward_closure([(0, 0, 2, 0), (2, 0, 0, 0), (1, 0, 1, 0)])
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
    """Count the matrix products in a program of these derivatives."""
    network = network_of(SMALL)

    def run(point):
        jets = coordinate_jets(point, 4)
        inputs = propagate(EMBEDDING, jets, indices)
        return propagate(network, [inputs], indices)

    return str(jax.make_jaxpr(run)(POINT)).count("dot_general")


def test_derivatives_by_places_need_only_the_trunk():
    value, twice = downward_closure([(0, 0, 0, 0)]), downward_closure([(0, 0, 2, 0)])
    of_function = downward_closure([(0, 2, 0, 0)])
    branch, trunk = 2, 3  # layers
    assert num_products(value) == branch + trunk
    # The first derivative needs all layers. The second needs those behind an
    # activation, and the first layer if the coordinate has Fourier features.
    assert num_products(twice) - num_products(value) == 2 * trunk
    assert num_products(of_function) - num_products(value) == 2 * branch - 1


# Sizes and names.


def layers(num_inputs, width, depth, num_outputs):
    inner = (depth - 1) * (width * width + width)
    return (num_inputs + 1) * width + inner + (width + 1) * num_outputs


def test_number_of_parameters_follows_its_formula():
    network, num_fields = network_of(SMALL, 2), 2
    expected = layers(2, 5, 1, 3 * num_fields) + layers(7, 4, 2, 3 * num_fields)
    assert count_params(network) == expected
    assert network(EMBEDDING(*POINT)).shape == (num_fields,)


def test_float32_stays_float32():
    given = {"key": KEY, "dtype": jnp.float32, "names": NAMES}
    size = EMBEDDING.num_outputs
    run = lambda inputs: SMALL.build(size, 2, **given)(inputs)
    inputs = jax.ShapeDtypeStruct((size,), jnp.float32)
    assert jax.eval_shape(run, inputs).dtype == jnp.float32


def test_each_part_depends_on_its_own_coordinates():
    network = network_of(SMALL)
    moved = jax.jacfwd(network.branch)(EMBEDDING(*POINT))
    is_input = np.any(moved != 0, axis=0)
    assert [n for n, is_own in zip(NAMES, is_input, strict=True) if is_own] == [
        "a",
        "b",
    ]
    moved = jax.jacfwd(network.trunk)(EMBEDDING(*POINT))
    assert np.all(np.any(moved != 0, axis=0) != is_input)


@pytest.mark.parametrize(
    ("coefficients", "words"),
    [
        (
            ("a", "c"),
            "`PhysicsInformedDeepONet` names `c`, but the coordinates are t, a, x, b",
        ),
        (("a", "b", "t", "x"), "leave out places and times"),
    ],
)
def test_wrong_names_raise(coefficients, words):
    with pytest.raises(ValueError, match=words):
        network_of(PhysicsInformedDeepONet(coefficients))


@pytest.mark.parametrize("coefficients", ["a", (), ["a", "b"], (1, 2)])
def test_anything_but_names_raises(coefficients, as_a_user):
    with pytest.raises(ValueError, match="`coefficients` must be a tuple"):
        PhysicsInformedDeepONet(coefficients)


def test_latent_is_positive():
    with pytest.raises(ValueError, match="`latent` must be at least 1, got 0"):
        PhysicsInformedDeepONet(("a",), latent=0)


def test_names_are_required():
    with pytest.raises(ValueError, match="the coordinates are not given"):
        SMALL.build(2, 1, key=KEY, dtype=jnp.float64)


# Runs.


def test_a_problem_brings_its_model():
    formulation = Formulation(Forced())
    assert vrba.default_recipe(formulation).model == Forced.model
    assert vrba.default_recipe(formulation, optimizer=vrba.optim.Adam()).model == (
        Forced.model
    )
    given = vrba.default_recipe(formulation, model=MLP(3, 1))
    assert given.model == MLP(3, 1)


def test_a_run_is_saved_and_read(tmp_path):
    recipe = vrba.Recipe(
        model=Forced.model,
        optimizer=vrba.optim.LevenbergMarquardt(),
        num_points=16,
        pool_size=64,
        num_condition_points=8,
        resample_every=4,
        check_every=3,
        num_held_out=32,
        max_steps=9,
    )
    solution = vrba.solve(Forced(), recipe, callback=Silent())
    residuals = [entry["residual_l2"] for entry in solution.record]
    assert residuals[-1] < residuals[0]
    place = (0.3, np.linspace(0, 1, 5), -0.2)
    again = vrba.Solution.load(solution.save(tmp_path / "run"), Forced())
    for field, values in solution(*place).items():
        np.testing.assert_array_equal(again(*place)[field], values)
    assert again.recipe.model == Forced.model
