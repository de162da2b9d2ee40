"""From a problem to a solution: what is trained, selected, told and kept."""

import dataclasses
import io
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.io import netcdf_file

import vrba
from tests.pinn.cases import Decay, Edge, tiny_recipe
from vrba import optim
from vrba.pinn import (
    BalanceState,
    Evaluator,
    Trainer,
    default_recipe,
    reference_of,
    with_max_steps,
)
from vrba.problems import EQUATIONS, Formulation
from vrba.runs import PrintLines, Silent

pytestmark = pytest.mark.xdist_group("train")


LM = optim.LevenbergMarquardt()


def solve(problem=None, recipe=None, **options):
    options = {"callback": Silent()} | options
    return vrba.solve(problem or Decay(), recipe or tiny_recipe(), **options)


@pytest.fixture(scope="module")
def solution():
    return solve(recipe=tiny_recipe(max_steps=60))


def test_exact_solution_is_found(solution):
    errors = solution.errors()
    assert errors["selected"] < 1e-5 and errors == solution.result["errors"]
    x = np.linspace(0, 2, 7)
    np.testing.assert_allclose(solution(x), np.exp(-x), atol=1e-5)
    assert solution(x.reshape(7, 1)).shape == (7, 1)
    assert solution(0.5).shape == ()


class Plane(vrba.Problem):
    """`u = t + 2 x` for any network."""

    domain = vrba.Box(t=(0, 1), x=(-1, 1))

    def equations(self, u, t, x):
        return {"slope": u.x - 2 * u.t}

    def conditions(self):
        return [vrba.Ansatz(lambda t, x, N: t + 2 * x + 0 * N)]


def untrained(problem):
    trainer = Trainer(Evaluator(Formulation(problem), tiny_recipe(), 0))
    params = trainer.evaluator.initial_params()
    return vrba.Solution(trainer.evaluator, params, params, [], {})


def test_axes_are_taken_by_name():
    plane, t, x = untrained(Plane()), np.linspace(0, 1, 3), np.linspace(-1, 1, 4)
    for axes in ({"t": t, "x": x}, {"x": x, "t": t}):
        found = plane.on_axes(axes)
        assert list(found) == ["t", "x", "u"]
        np.testing.assert_allclose(found["u"], np.add.outer(t, 2 * x), atol=1e-15)
    for axes in ({"t": t}, {"t": t, "x": x, "y": x}, {"t": t, "y": x}):
        with pytest.raises(ValueError, match="`axes` must have an array for each of"):
            plane.on_axes(axes)


def test_residual_is_that_of_the_equation(solution):
    u = lambda x: float(solution(x))
    step = 1e-5
    slope = (u(0.7 + step) - u(0.7 - step)) / (2 * step)
    found = solution.residual(0.7)
    assert list(found) == ["decay"]
    assert float(found["decay"]) == pytest.approx(slope + u(0.7), abs=1e-9)


def test_expressions_have_derivatives(solution):
    x = np.asarray([[0.2, 0.7], [1.0, 1.5]])
    found = solution.evaluate(lambda u, x: {"slope": u.x, "both": x * u + u.xx}, x)
    assert found["slope"].shape == x.shape
    slope = solution.evaluate(lambda u, x: u.x, x)
    assert np.array_equal(slope, found["slope"])
    assert np.array_equal(solution.evaluate(lambda u, x: u, x), solution(x))
    step = 1e-5
    difference = (solution(x + step) - solution(x - step)) / (2 * step)
    np.testing.assert_allclose(slope, difference, rtol=1e-8)
    decay = solution.evaluate(Decay().equations, x)["decay"]
    assert np.array_equal(decay, solution.residual(x)["decay"])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (lambda u: u.x, r"must take \(u, x\)"),
        (lambda u, x: jnp.stack([u.x, x]), "one number at a point"),
        (lambda u, x: u.y, "y"),
        (lambda x, u: x, r"takes \(x, u\), but is called with \(u, x\)"),
    ],
)
def test_bad_expressions_are_named(solution, expression, message):
    with pytest.raises((ValueError, AttributeError), match=message):
        solution.evaluate(expression, 0.5)


def test_solution_within_a_compiled_program(solution):
    """Also if that computes with single precision."""
    slope = solution.evaluate(lambda u, x: u.x, 0.7)
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5)):
        with jax.enable_x64(dtype == "float64"):
            x = jnp.asarray(0.7)
            found = jax.jit(jax.grad(solution))(x)
            mapped = jax.vmap(solution)(jnp.full((3, 2), x))
        assert found.dtype == dtype and mapped.dtype == dtype
        assert float(found) == pytest.approx(float(slope), rel=tolerance)
        np.testing.assert_allclose(mapped, solution(0.7), rtol=tolerance)


def test_numbers_within_a_compiled_program(solution):
    """Coordinates that are not traced, while something else is."""
    nodes = np.linspace(0.1, 1.0, 4)
    found = jax.jit(lambda factor: factor * solution(nodes))(2.0)
    np.testing.assert_allclose(found, 2 * solution(nodes), rtol=1e-12)
    slopes = jax.jit(lambda f: f * solution.evaluate(lambda u, x: u.x, nodes))(1.0)
    np.testing.assert_allclose(slopes, solution.evaluate(lambda u, x: u.x, nodes))
    with pytest.raises(ValueError, match=r"only `solution\(...\)` takes"):
        jax.jit(lambda x: solution.evaluate(lambda u, x: u.x, x))(0.5)


def test_an_expression_is_compiled_once(solution):
    count = 0

    def slope(u, x):
        nonlocal count
        count += 1
        return u.x

    solution.evaluate(slope, 0.5)
    compiled = count
    solution.evaluate(slope, 0.7)
    assert count == compiled + 1  # what it asks for is looked up again, no more


def test_a_network_of_ones_own_need_not_be_double(tmp_path):
    """It is trained in the precision of the recipe, whatever it was made in."""
    with jax.enable_x64(False):
        network = eqx.nn.MLP(1, 1, 8, 2, jnp.tanh, key=jax.random.key(0))
    recipe = tiny_recipe(model=network, max_steps=20)
    solution = solve(recipe=recipe)
    assert all(leaf.dtype == "float64" for leaf in jax.tree.leaves(solution.params))
    assert solution.result["residual_l2"] < 1e-3
    path = solution.save(tmp_path / "kept")
    again = vrba.Solution.load(path, problem=Decay(), recipe=recipe)
    assert np.array_equal(again(0.3), solution(0.3))


def test_steps_not_told_are_those_of_the_time():
    adam = optim.Adam()
    recipes = [tiny_recipe(max_steps=None, optimizer=o) for o in (LM, adam)]
    found = [[with_max_steps(one, t).max_steps for t in (None, 1.0)] for one in recipes]
    assert found == [[300, 100_000], [30_000, 1_000_000]]
    assert vrba.default_recipe(Decay()).max_steps is None
    assert vrba.default_recipe(Decay(), 1.0).max_steps == 100_000
    short = solve(recipe=dataclasses.replace(recipes[1], check_every=1), minutes=0.01)
    assert short.recipe.max_steps == 1_000_000 > short.result["step"]


def test_default_recipe_of_a_problem_with_changes():
    recipe = vrba.default_recipe(Decay(), 2, num_points=77, max_steps=5)
    assert recipe.num_points == 77 and recipe.max_steps == 5
    assert recipe.model == vrba.default_recipe(Formulation(Decay()), 2).model
    with pytest.raises(ValueError, match="no `points`"):
        vrba.default_recipe(Decay(), points=77)


def test_selected_iterate_has_the_lowest_score(solution):
    scores = [entry["score"] for entry in solution.record]
    best = int(np.argmin(scores))
    entry = solution.record[best]
    assert solution.result["selected_step"] == entry["step"]
    assert solution.result["residual_l2"] == pytest.approx(entry["residual_l2"])
    assert solution.result["residual_l2"] ** 2 == pytest.approx(min(scores))


def test_held_out_points_are_not_in_the_pool():
    trainer = Trainer(Evaluator(Formulation(Decay()), tiny_recipe(), 0))
    pool, held_out = trainer.pools[EQUATIONS][0], trainer.held_out[EQUATIONS][0]
    assert not set(np.ravel(pool).tolist()) & set(np.ravel(held_out).tolist())


def test_same_seed_same_solution(solution):
    again = solve(recipe=tiny_recipe(max_steps=60))
    other = solve(recipe=tiny_recipe(max_steps=60), seed=1)
    assert np.array_equal(again(0.3), solution(0.3))
    assert not np.array_equal(other(0.3), solution(0.3))
    gap = vrba.pinn.disagreement([solution, other])
    assert 0 < gap < 1e-3
    x = np.linspace(0, 2, 40_000)
    between = np.linalg.norm(solution(x) - other(x)) / np.linalg.norm(solution(x))
    assert gap == pytest.approx(between, rel=1e-3)
    assert vrba.pinn.disagreement([solution, again]) == 0


def test_save_and_load(solution, tmp_path):
    path = solution.save(tmp_path / "kept")
    loaded = vrba.Solution.load(path, problem=Decay())
    x = np.linspace(0, 2, 5)
    assert np.array_equal(loaded(x), solution(x))
    assert loaded.record == solution.record
    assert loaded.result["errors"] == solution.result["errors"]
    with pytest.raises(ValueError, match="is a run of"):
        vrba.Solution.load(path, problem=Decay(rate=3.0))


def test_export(solution, tmp_path):
    solution.export(tmp_path / "u.npz", 11)
    with np.load(tmp_path / "u.npz") as file:
        assert np.array_equal(file["x"], np.linspace(0, 2, 11))
        assert np.array_equal(file["u"], solution(file["x"]))
    solution.export(tmp_path / "u.nc", 11)
    with netcdf_file(tmp_path / "u.nc", mmap=False) as file:
        assert np.array_equal(file.variables["u"][:], solution(np.linspace(0, 2, 11)))
        assert file.variables["u"].dimensions == ("x",)
    with pytest.raises(ValueError, match=r"\.npz or \.nc"):
        solution.export(tmp_path / "u.txt")
    with pytest.raises(ValueError, match="a number of points for each of x"):
        solution.grid(3, 4)


def test_a_failed_export_leaves_the_file_that_was_there(
    solution, tmp_path, monkeypatch
):
    files = [solution.export(tmp_path / name, 5) for name in ("u.npz", "u.nc")]
    before = [file.read_bytes() for file in files]
    broken = {"x": np.zeros(3), "u": np.asarray([object()] * 3)}
    for file in files:
        with pytest.raises(ValueError, match="`num_points of x` must be at least 1"):
            solution.export(file, 0)
        with monkeypatch.context() as patch, pytest.raises((ValueError, TypeError)):
            patch.setattr(vrba.Solution, "grid", lambda *_: broken)
            solution.export(file, 3)
    assert before == [file.read_bytes() for file in files]
    assert sorted(tmp_path.iterdir()) == sorted(files)


def test_solution_shows_itself(solution):
    shown = solution._repr_html_()
    assert shown.startswith("<table>") and "relative L2 error" in shown
    assert repr(solution) == f"Solution({solution.sentence()})"
    with pytest.raises(ValueError, match="takes 1 coordinates, x, got 2"):
        solution(0.1, 0.2)


def test_error_below_that_of_the_reference_is_a_bound(solution):
    errors = solution.result["errors"] | {"of_reference": 1e-3}
    rough = eqx.tree_at(
        lambda s: s.result, solution, solution.result | {"errors": errors}
    )
    assert "<3.00e-03 (selected" in rough.sentence()


def test_a_reference_of_ones_own_is_checked(solution):
    x = np.linspace(0, 2, 5)
    good = vrba.Reference({"x": x}, np.exp(-x))
    assert solution.errors(good)["selected"] < 1e-5
    bad = [
        (vrba.Reference({"x": x}, np.full(5, np.nan)), "is not finite everywhere"),
        (vrba.Reference({"x": x}, np.ones((5, 1))), r"has shape \(5, 1\)"),
        (vrba.Reference({"t": x}, x), "axes of the reference are t"),
        (vrba.Reference({"x": x}, x, unknowns={"k": 1.0}), "a true value of `k`"),
    ]
    for reference, message in bad:
        with pytest.raises(ValueError, match=message):
            solution.errors(reference)


def test_a_reference_need_not_be_a_method():
    x = np.linspace(0, 2, 5)

    class Known(Decay):
        reference = vrba.Reference({"x": x}, np.exp(-x))

    found = reference_of(Formulation(Known()))
    assert np.array_equal(found.values["u"], np.exp(-x))


def test_warm_start_begins_where_the_other_ended(solution):
    """With another coefficient: nearer than from a random network."""
    recipe = tiny_recipe(max_steps=3, optimizer=optim.LevenbergMarquardt())
    near = Decay(rate=1.01)
    warm = solve(near, recipe, init_from=solution)
    cold = solve(near, recipe)
    assert warm.result["errors"]["last"] < 0.1 * cold.result["errors"]["last"]


def test_a_start_brings_its_network():
    """Without a recipe the network of the start is taken, whatever the time given."""
    wide = solve(recipe=tiny_recipe(model=vrba.MLP(width=7, depth=1), max_steps=1))
    found = vrba.solve(Decay(), init_from=wide, minutes=1e-5, callback=Silent())
    assert found.recipe.model == vrba.MLP(width=7, depth=1)
    with pytest.raises(ValueError, match=r"`init_from` has the network MLP\(width=7"):
        solve(init_from=wide)


class Cubic(eqx.Module):
    """A network of one's own: a polynomial, with a function that is not trained."""

    factors: jax.Array
    fn: object = staticmethod(jnp.polyval)

    def __call__(self, inputs):
        return self.fn(self.factors, inputs[:1])


def test_a_network_of_ones_own():
    own = Cubic(jnp.zeros(6))
    recipe = tiny_recipe(model=own, optimizer=optim.LevenbergMarquardt(), max_steps=9)
    found = solve(recipe=recipe)
    assert found.result["errors"]["selected"] < 1e-3
    assert found.result["manifest"]["num_params"] == 6


def test_a_policy_that_descends_no_mean_of_squares_is_refused():
    policy = vrba.Weighting(vrba.Quadratic(), objective=vrba.adapt.FirstPowerLoss())
    with pytest.raises(ValueError, match="policy of `equations` has the objective"):
        solve(recipe=tiny_recipe(policy=policy))


def test_data_take_no_part_in_the_selection(pair):
    squares = {name: value**2 for name, value in pair.result["residuals"].items()}
    assert squares["data of u"] > 0
    rest = sum(square for name, square in squares.items() if name != "data of u")
    assert pair.result["score"] == pytest.approx(rest)


def test_numbers_of_numpy_are_numbers(tmp_path):
    given = {"seed": np.int64(3), "minutes": np.int64(1), "run": tmp_path / "run"}
    found = vrba.solve(Decay(), tiny_recipe(max_steps=1), callback=Silent(), **given)
    about = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert (about["seed"], about["minutes"]) == (3, 1)
    same = vrba.solve(Decay(), tiny_recipe(max_steps=1), 3, callback=Silent())
    assert np.array_equal(found(1.0), same(1.0))


def test_seeds_are_checked():
    with pytest.raises(ValueError, match="`seed` must be between 0"):
        solve(seed=-1)


def test_lines_tell_plan_progress_and_result():
    stream = io.StringIO()
    solve(callback=PrintLines(stream))
    first, *checks, last = stream.getvalue().splitlines()
    assert "float64" in first and "s a step" in first and "blocks of" in first
    assert len(checks) == 6 and all(line.startswith("step") for line in checks)
    assert "error" in checks[0] and "left" in checks[0]
    assert "relative L2 error" in last


def test_minutes_end_a_run():
    found = solve(recipe=tiny_recipe(max_steps=10**6), minutes=1e-4)
    assert (found.result["stop_reason"], found.result["status"]) == ("time", "no_step")
    assert found.result["step"] == 0
    assert "No step was made: compilation took all of the time" in found.sentence()
    assert "No step" not in solve(recipe=tiny_recipe(max_steps=1)).sentence()
    with pytest.raises(ValueError, match="`minutes` must be positive, got 0"):
        solve(minutes=0)


def test_float32_stays_float32():
    found = solve(recipe=tiny_recipe(dtype="float32", max_steps=8))
    assert found(np.linspace(0, 1, 3)).dtype == np.float32
    kinds = {leaf.dtype for leaf in jax.tree.leaves(found.params)}
    assert kinds == {np.dtype("float32")}


class Blows(vrba.Problem):
    domain = vrba.Box(x=(0, 1))

    def equations(self, u, x):
        return {"root": u.x - jnp.sqrt(x - 0.5)}

    def conditions(self):
        return [vrba.Dirichlet(0.0, on="x", at=0.0)]


def test_residual_that_is_not_finite_names_equation_and_point():
    with pytest.raises(ValueError, match=r"`root` is nan at x = 0\.\d+"):
        solve(Blows())


class Pair(vrba.Problem):
    """`u' = v`, `v' = -u`, with data for one and a condition for the other."""

    fields = ("u", "v")
    domain = vrba.Box(x=(0, 1))

    def equations(self, u, v, x):
        return {"first": u.x - v, "second": v.x + u}

    def conditions(self):
        data = vrba.Data([[0.0], [0.5]], np.sin([0.0, 0.5]), field="u")
        return [data, vrba.Dirichlet(1.0, on="x", at=0.0, field="v")]

    def reference(self):
        axes = {"x": np.linspace(0, 1, 9)}
        values = {"u": np.sin(axes["x"]), "v": np.cos(axes["x"])}
        return vrba.Reference(axes, values)


@pytest.fixture(scope="module")
def pair():
    recipe = tiny_recipe(
        optimizer=optim.LevenbergMarquardt(), max_steps=40, num_condition_points=4
    )
    return solve(Pair(), recipe)


def test_two_fields_with_soft_conditions(pair):
    assert pair.result["errors"]["selected"] < 1e-4
    found = pair(0.25)
    assert set(found) == {"u", "v"}
    assert float(found["v"]) == pytest.approx(np.cos(0.25), abs=1e-4)
    assert set(pair.residual(0.25)) == {"first", "second"}
    assert set(pair.result["residuals"]) == {
        EQUATIONS,
        "data of u",
        "dirichlet x=0 of v",
    }


def test_weighting_sees_only_the_points_it_trained_on():
    recipe = tiny_recipe(
        optimizer=optim.Adam(0.01),
        policy=vrba.presets.vrba_weighting(),
        resample_every=1,
        scans_pool=False,
        max_steps=3,
    )
    trainer = Trainer(Evaluator(Formulation(Decay()), recipe, 0))
    state = trainer.init()
    seen = np.asarray(state.ids[EQUATIONS])
    before = np.asarray(state.policies[EQUATIONS].weight)
    after = np.asarray(trainer.resample(state).policies[EQUATIONS].weight)
    assert set(np.flatnonzero(before != after).tolist()) == set(seen.tolist())


def test_objective_is_the_weighted_mean_square_of_drawn_points():
    trainer = Trainer(Evaluator(Formulation(Decay()), tiny_recipe(), 0))
    state = trainer.resample(trainer.init())
    ids = state.ids[EQUATIONS]
    rows = jax.tree.map(lambda leaf: leaf[ids], trainer.pools[EQUATIONS])
    residual = trainer.evaluator.residual(state.params, EQUATIONS, rows)[:, 0]
    weights = trainer.recipe.policy.weights(state.policies[EQUATIONS], ids)
    wanted = jnp.mean((weights * residual) ** 2)
    assert float(trainer.objective(state).value(state.params)) == pytest.approx(
        float(wanted), rel=1e-13
    )


def test_balance_follows_the_ratio_of_gradients():
    rule = vrba.pinn.GradientNorms(inertia=0.5, memory=0.25)
    number = jnp.asarray
    state = BalanceState(
        {"equations": number(0.0), "edge": number(0.0)},
        {"equations": number(1.0), "edge": number(10.0)},
    )
    norms = {"equations": number(8.0), "edge": number(2.0)}
    state = rule.update(state, norms, "equations")
    assert float(state.factors["edge"]) == 0.5 * 10 + 0.5 * 8 / 2
    assert float(state.factors["equations"]) == 1
    state = rule.update(state, norms | {"edge": number(4.0)}, "equations")
    smooth = 0.25 * 2 + 0.75 * 4
    assert float(state.factors["edge"]) == 0.5 * 7 + 0.5 * 8 / smooth
    state = rule.update(state, norms | {"edge": number(jnp.nan)}, "equations")
    assert np.isfinite(float(state.factors["edge"]))


def test_default_recipe_follows_the_problem():
    class Third(vrba.Problem):
        domain = vrba.Box(t=(0, 1), x=(0, 1), y=(0, 1))

        def equations(self, u, t, x, y):
            return {"third": u.t + u.xxx + u.y}

        def conditions(self):
            return [vrba.Initial(lambda x, y: x * y)]

    small, large = Formulation(Decay()), Formulation(Third())
    assert default_recipe(large).model.width > default_recipe(small).model.width
    assert default_recipe(large).pool_size > default_recipe(small).pool_size
    longer = default_recipe(large, minutes=60)
    assert longer.model.width > default_recipe(large).model.width
    line = default_recipe(small, minutes=60)  # one dimension needs no more
    assert (line.model.width, line.num_points) == (14, 2048)


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"num_points": 100, "pool_size": 50}, "`num_points` is 100, more than"),
        ({"dtype": "float16"}, "`dtype` must be"),
        ({"resample_every": 0}, "`resample_every` must be at least 1"),
        ({"check_every": 1.5}, "`check_every` must be a whole number, got 1.5"),
        ({"num_condition_points": 0}, "`num_condition_points` must be at least 1"),
        ({"max_steps": float("nan")}, "`max_steps` must be a whole number, got nan"),
        ({"optimizer": "adam"}, "`optimizer` must be of the kind `AbstractOptimizer`"),
        ({"optimizer": optim.Adam}, r"got <class .*: write `Adam\(...\)`"),
        ({"policy": None}, "`policy` must be of the kind `AbstractPolicy`, got None"),
        ({"balance": 1.0}, "`balance` must be of the kind `AbstractBalance`"),
        ({"model": vrba.MLP}, r"`model` must be .* write `MLP\(...\)`"),
        ({"model": 20}, "`model` must be an architecture such as"),
    ],
)
def test_bad_recipes(settings, text, as_a_user):
    with pytest.raises(ValueError, match=text):
        vrba.Recipe(**settings)


def test_a_policy_of_a_condition_is_a_policy(as_a_user):
    penalty = vrba.Penalty(policy="uniform")
    with pytest.raises(ValueError, match="`policy of edge` must be of the kind"):
        Trainer(Evaluator(Formulation(Edge(penalty)), tiny_recipe(), 0))


def test_bad_calls():
    with pytest.raises(ValueError, match="`problem` is missing"):
        vrba.solve()
    with pytest.raises(ValueError, match="needs the folder"):
        vrba.solve(Decay(), resume=True)
