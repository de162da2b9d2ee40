"""Parts of a solution that nothing determines are found, and means determine them."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from tests.pinn.cases import tiny_recipe
from vrba.compare import known_problems
from vrba.optim import LevenbergMarquardt
from vrba.pinn import Evaluator, Polish, Solution, default_recipe, find_undetermined
from vrba.problems import Cavity, Formulation, Problem
from vrba.runs import Silent

SQUARE = vrba.Box(x=(0, 1), y=(0, 1))
FLOW = ("u", "v", "p")


def problem(law, given, box=SQUARE, names=("u",)):
    """A problem from its parts."""

    class Case(Problem):
        fields = names
        domain = box
        equations = law

        def conditions(self):
            return list(given)

    return Case()


def parts_of(case, recipe=None, **settings):
    """The fields and coordinates of each undetermined part, and their advice."""
    recipe = dataclasses.replace(recipe or tiny_recipe(), **settings)
    evaluator = Evaluator(Formulation(case), recipe, 0)
    pools = {
        name: tuple(jnp.asarray(part, evaluator.dtype) for part in rows)
        for name, term in evaluator.terms.items()
        for rows in [term.residual.sample(64, seed=len(name))]
    }
    found = find_undetermined(evaluator, pools)
    return {(part.fields, part.coordinates): part.sentence() for part in found}


def poisson(self, u, x, y):
    return {"poisson": u.xx + u.yy}


def on_walls(kind, names=("u",), axes="xy"):
    return [kind(0.0, on=axis, field=name) for axis in axes for name in names]


def test_a_constant_of_a_neumann_problem():
    [(part, sentence)] = parts_of(problem(poisson, on_walls(vrba.Neumann))).items()
    assert part == (("u",), ())
    assert "`u` is determined only up to a constant" in sentence
    assert "Add `Mean(0.0)`, or a value of `u` at one place." in sentence


@pytest.mark.parametrize(
    "more",
    [vrba.Mean(0.0), vrba.Data([[0.5, 0.5]], [0.0]), vrba.Dirichlet(0.0, "x", 0.0)],
)
def test_nothing_once_the_constant_is_given(more):
    assert parts_of(problem(poisson, [*on_walls(vrba.Neumann), more])) == {}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", [vrba.Neumann, vrba.Dirichlet])
def test_missing_walls(kind, exact):
    case = problem(poisson, on_walls(kind, axes="x"))
    found = parts_of(case, exact_conditions=exact)
    expected = {} if kind is vrba.Dirichlet else {(("u",), ("y",)), (("u",), ())}
    assert set(found) == set(expected)


def test_the_pressure_of_the_cavity():
    class Free(Problem):
        fields = FLOW
        domain = SQUARE

        def equations(self, u, v, p, x, y):
            return Cavity().equations(u, v, p, x, y)

        def conditions(self):
            return Cavity().conditions()[:1]  # the ansatz

    [(part, sentence)] = parts_of(Free()).items()
    assert part == (("p",), ()) and 'Add `Mean(0.0, field="p")`' in sentence
    assert parts_of(Cavity()) == {}


def stokes(self, u, v, p, t, x, y):
    return {
        "x": u.t + p.x - 0.1 * (u.xx + u.yy),
        "y": v.t + p.y - 0.1 * (v.xx + v.yy),
        "mass": u.x + v.y,
    }


BOX = vrba.Box(t=(0, 2), x=(0, 1), y=(0, 1))
START = [vrba.Initial(0.0, field=name) for name in "uv"]


@pytest.mark.parametrize("exact", [False, True])
def test_the_pressure_of_unsteady_flow(exact):
    given = [*START, *on_walls(vrba.Dirichlet, "uv")]
    make = lambda *more: problem(stokes, [*given, *more], BOX, FLOW)
    check = lambda *more: parts_of(make(*more), exact_conditions=exact)
    [(part, sentence)] = check().items()
    assert part == (("p",), ("t",))
    assert "`p` is determined only up to a function of t" in sentence
    assert 'Add `Mean(0.0, field="p")`, or a value of `p` at one place' in sentence
    assert check(vrba.Mean(0.0, field="p")) == {}
    assert set(check(vrba.Mean(0.0, at_each=(), field="p"))) == {part}


def test_periodic_flow():
    given = [*START, vrba.Periodic("x"), vrba.Periodic("y", modes=2)]
    assert set(parts_of(problem(stokes, given, BOX, FLOW))) == {(("p",), ("t",))}


def test_a_combination_of_two_fields():
    def law(self, u, v, x, y):
        return {"one": u.xx + u.yy - (u - v), "two": v.xx + v.yy + (u - v)}

    given = on_walls(vrba.Neumann, "uv")
    make = lambda *more: problem(law, [*given, *more], names=("u", "v"))
    [(part, sentence)] = parts_of(make()).items()
    assert part == (("u", "v"), ())
    assert "A combination of `u` and `v` is determined only up to a const" in sentence
    assert parts_of(make(vrba.Mean(0.0, field="v"))) == {}


def test_rigid_motions_of_a_free_plate():
    def law(self, u, v, x, y):
        return {"x": 3 * u.xx + u.yy + 2 * v.xy, "y": v.xx + 3 * v.yy + 2 * u.xy}

    first = lambda u, v, x, y, normal: (
        (3 * u.x + v.y) * normal[0] + (u.y + v.x) * normal[1]
    )
    second = lambda u, v, x, y, normal: (
        (u.y + v.x) * normal[0] + (3 * v.y + u.x) * normal[1]
    )
    given = [vrba.Constraint(fn, on=on) for fn in (first, second) for on in "xy"]
    found = parts_of(problem(law, given, names=("u", "v")))
    rotation = ("u", "v"), ("x", "y")
    assert set(found) == {(("u",), ()), (("v",), ()), rotation}
    assert "certain functions of x and y" in found[rotation]


def test_a_residual_that_ignores_negative_values_determines_the_field():
    def law(self, u, x):
        return {"flow": jnp.maximum(u.value, 0.0) * u.x}

    case = problem(law, [vrba.Neumann(0.0, "x", 0.0)], vrba.Box(x=(0, 1)))
    assert parts_of(case) == {}


def test_in_single_precision():
    recipe = tiny_recipe(dtype="float32")
    make = lambda *more: problem(poisson, [*on_walls(vrba.Neumann), *more])
    assert set(parts_of(make(), recipe)) == {(("u",), ())}
    assert parts_of(make(vrba.Mean(0.0)), recipe) == {}


QUICK = ("heat", "burgers", "wave")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in known_problems()
    ],
)
def test_no_false_alarm(name):
    case = known_problems()[name]()
    assert parts_of(case, default_recipe(Formulation(case))) == {}


# Runs.


class Wave(Problem):
    """`u_xx + u_yy = f` with zero normal derivatives: known up to a constant."""

    given: tuple = ()
    domain = SQUARE

    def equations(self, u, x, y):
        source = 5 * jnp.pi**2 * jnp.cos(jnp.pi * x) * jnp.cos(2 * jnp.pi * y)
        return {"poisson": u.xx + u.yy + source}

    def conditions(self):
        return [*on_walls(vrba.Neumann), *self.given]

    def reference(self):
        exact = lambda x, y: jnp.cos(jnp.pi * x) * jnp.cos(2 * jnp.pi * y)
        return vrba.Reference.from_function(self.domain, exact, (17, 17))


class Kept(Silent):
    def __init__(self):
        self.warnings = []

    def on_check(self, entry, seconds_left):
        self.warnings += entry.get("warnings", [])


def test_a_run_warns_once_and_keeps_the_sentence(tmp_path):
    chosen = tiny_recipe(optimizer=LevenbergMarquardt(), max_steps=6, polish=None)
    few, callback = dataclasses.replace(chosen, max_steps=3), Kept()
    vrba.solve(Wave(), few, run=tmp_path, callback=callback)
    [text] = callback.warnings
    assert "up to a constant" in text and "Add `Mean(0.0)`" in text
    callback = Kept()
    found = vrba.solve(Wave(), chosen, run=tmp_path, resume=True, callback=callback)
    assert callback.warnings == []
    [sentence] = found.result["undetermined"]
    assert sentence in text and sentence in found.sentence()
    assert Solution.load(tmp_path, Wave()).result["undetermined"] == [sentence]


class Moving(Problem):
    """`u_xx = 0` with zero slope at one end: a function of time remains."""

    given: tuple = ()
    domain = vrba.Box(t=(0, 1), x=(0, 1))

    def equations(self, u, t, x):
        return {"straight": u.xx}

    def conditions(self):
        return [vrba.Neumann(0.0, on="x", at=0.0), *self.given]


def test_a_resumed_run_keeps_the_mean_at_each_time(tmp_path):
    case = Moving((vrba.Mean(lambda t: t),))
    chosen = tiny_recipe(optimizer=LevenbergMarquardt(), max_steps=6, polish=None)
    few = dataclasses.replace(chosen, max_steps=3)
    vrba.solve(case, few, run=tmp_path, callback=Silent())
    found = vrba.solve(case, chosen, run=tmp_path, resume=True, callback=Silent())
    whole = vrba.solve(case, chosen, callback=Silent())
    axis = np.linspace(0, 1, 9)
    np.testing.assert_array_equal(found(axis, axis), whole(axis, axis))
    loaded = Solution.load(tmp_path, case)
    np.testing.assert_array_equal(loaded(axis, axis), found(axis, axis))
    assert "undetermined" not in found.result and "mean" in found.result["residuals"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "case, exact",
    [
        (Wave((vrba.Mean(0.25),)), lambda a, x: 0.25 + wave(a, x)),
        (Moving((vrba.Mean(jnp.cos),)), lambda t, x: np.cos(t)),
    ],
)
def test_training_and_the_linear_stage_find_the_solution_with_this_mean(case, exact):
    stage = Polish(num_features=400, max_steps=1, num_rounds=2)
    chosen = tiny_recipe(
        model=vrba.MLP(width=8, depth=2),
        optimizer=LevenbergMarquardt(),
        num_points=128,
        pool_size=512,
        polish=stage,
    )
    found = vrba.solve(case, chosen, callback=Silent())
    grid = np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9))
    np.testing.assert_allclose(found(*grid), exact(*grid), atol=1e-9)


def wave(x, y):
    return np.cos(np.pi * x) * np.cos(2 * np.pi * y)
