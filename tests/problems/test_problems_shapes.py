"""Problems on shapes: conditions on their boundaries, references, runs, figures."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.io import netcdf_file

import vrba
from tests.pinn.cases import tiny_recipe
from vrba import optim
from vrba.pinn import Evaluator, Trainer
from vrba.problems import Formulation
from vrba.report import plot_solution, write_figures

HOLE, PLATE = vrba.Disk(0.5, x=0.2, y=0.1), vrba.Box(x=(-1, 1), y=(-1, 1))
SHAPE = vrba.Box(t=(0, 2)) * (PLATE - HOLE)


def make(given, region=SHAPE, names=("u", "v")):
    """A problem whose equations do not matter."""

    class Case(vrba.Problem):
        fields = names
        domain = region

        def equations(self, *arguments):
            return {"none": 0.0 * arguments[0].x}

        def conditions(self):
            return given

    return Case()


def one(t, x, y):
    return jnp.exp(-t) * jnp.sin(x) * y


def two(t, x, y):
    return t + x**2 - y


def into_hole(t, x, y):
    """`du/dn` of `one` on the hole, by hand."""
    nx, ny = (0.2 - x) / 0.5, (0.1 - y) / 0.5
    return jnp.exp(-t) * (nx * jnp.cos(x) * y + ny * jnp.sin(x))


def slip(u, v, t, x, y, normal):
    return u.x * normal[1] + v.y * normal[2] + (v - two(t, x, y)) * t - normal[0]


GIVEN = [
    vrba.Initial(lambda x, y: one(0.0, x, y), field="u"),
    vrba.Dirichlet(one, on=PLATE, field="u"),
    vrba.Dirichlet(two, on=SHAPE, field="v"),
    vrba.Dirichlet(two, on="x", at=-0.5, field="v", where=lambda t, x, y: y > 0),
    vrba.Neumann(into_hole, on=HOLE, field="u"),
    vrba.Neumann(lambda t, x, y: 2 * x * x, on="x", field="v"),
    vrba.Robin(
        lambda t, x, y: 2 * one(t, x, y) + into_hole(t, x, y),
        on=HOLE,
        factor=2.0,
        field="u",
        where=lambda t, x, y: (x > 0.2) & (t < 1),
    ),
    vrba.Constraint(
        lambda u, v, t, x, y, normal: (
            slip(u, v, t, x, y, normal)
            - jnp.exp(-t) * jnp.cos(x) * y * normal[1]
            + normal[2]
        ),
        on=HOLE,
    ),
]
NAMES = [
    "initial of u", "dirichlet box of u", "dirichlet product of v",
    "dirichlet x=-0.5 of v", "neumann disk of u", "neumann x of v", "robin disk of u",
    "constraint disk",
]  # fmt: skip


@pytest.fixture(scope="module")
def terms():
    return Formulation(make(GIVEN)).terms()


def test_conditions_on_shapes_vanish_on_the_solution(terms):
    assert list(terms) == ["equations", *NAMES]
    rows = {n: tuple(map(jnp.asarray, terms[n].sample(40, seed=1))) for n in NAMES}
    together = lambda *p: jnp.stack(p)

    @jax.jit
    def run(rows, shift):
        both = lambda p: jnp.stack([one(*p) + shift * p[1], two(*p) + shift])
        residual = lambda name: lambda row: terms[name](together, both, row)
        return {name: jax.vmap(residual(name))(rows[name]) for name in NAMES}

    right, wrong = run(rows, 0.0), run(rows, 0.1)
    for name in NAMES:
        points = np.asarray(rows[name][0])
        assert SHAPE.contains(points).all() and points.shape == (40, 3)
        np.testing.assert_allclose(right[name], 0.0, atol=1e-12, err_msg=name)
    _, x, y = np.asarray(rows["neumann disk of u"][0]).T
    np.testing.assert_allclose(np.hypot(x - 0.2, y - 0.1), 0.5, rtol=1e-12)
    expected = 0.1 * (0.2 - x) / 0.5  # the slope of `0.1 x` along the normal
    np.testing.assert_allclose(wrong["neumann disk of u"][:, 0], expected, atol=1e-12)
    assert np.abs(wrong["constraint disk"]).min() > 0


def test_conditions_ask_only_for_derivatives_they_need(terms):
    assert terms["neumann x of v"].indices == {(0, 0, 0), (0, 1, 0)}
    plane = {(0, 0, 0), (0, 1, 0), (0, 0, 1)}
    assert terms["neumann disk of u"].indices == plane


def test_where_restricts_the_points(terms):
    t, x, _ = terms["robin disk of u"].sample(100, seed=0)[0].T
    assert x.min() > 0.2 and t.max() < 1
    _, x, y = terms["dirichlet x=-0.5 of v"].sample(100, seed=0)[0].T
    assert np.all(x == -0.5) and y.min() > 0


def test_an_inner_plane_avoids_the_hole():
    points, normals = vrba.Dirichlet(0.0, "x", 0.2).sample(PLATE - HOLE, 200, seed=0)
    assert np.abs(points[:, 1] - 0.1).min() >= 0.5 and not normals.any()


DISK = vrba.Disk(1.0)
EDGE, OUT = DISK.boundary(60, seed=0)
BARE = vrba.PointCloud(DISK.sample(50, seed=0), "xy", boundary=EDGE)


def form(condition, region=SHAPE, names=("u", "v")):
    return Formulation(make([condition], region, names)).terms()


MISTAKES = [
    (
        lambda: form(vrba.Dirichlet(0.0, "x"), DISK, ("u",)),
        "`dirichlet x` is on `x`, but the domain has no face across it: give `at`",
    ),
    (
        lambda: form(vrba.Neumann(0.0, "x", 0.0), DISK, ("u",)),
        "`neumann x=0` needs a face, and the domain has none across `x`, got 0",
    ),
    (
        lambda: form(vrba.Dirichlet(0.0, vrba.Disk(0.3), field="u")),
        "`dirichlet disk of u`: No point was found on the boundary of",
    ),
    (
        lambda: form(vrba.Dirichlet(0.0, HOLE, 0.5, field="u")),
        "is on a shape, which has no face at `at` = 0.5: select points by `where`",
    ),
    (
        lambda: form(vrba.Dirichlet(0.0, vrba.Box(z=(0, 1)), field="u")),
        "is on a shape with a coordinate `z`, but those of the domain are t, x, y",
    ),
    (
        lambda: form(vrba.Neumann(0.0, HOLE, where=lambda t, x, y: x > 5, field="u")),
        "`neumann disk of u`: No point",
    ),
    (
        lambda: form(vrba.Neumann(0.0, HOLE, where=lambda x, y: x > 0, field="u")),
        r"`where` of .* takes \(x, y\), but is called with \(t, x, y\), in this order",
    ),
    (
        lambda: form(vrba.Neumann(0.0, HOLE, where=lambda t, x, y: x, field="u")),
        "`where` of .* must be true or false for each of .* got float64",
    ),
    (
        lambda: form(vrba.Neumann(0.0, HOLE, where=3, field="u")),
        "`where` of .* must be a function, got 3",
    ),
    (
        lambda: form(vrba.Constraint(lambda u, v, x, y, normal: u, HOLE)),
        r"takes \(u, v, x, y, normal\), but is called with \(u, v, t, x, y, normal\)",
    ),
    (
        lambda: form(vrba.Constraint(lambda *all: jnp.zeros(2), HOLE)),
        r"`constraint disk` must be one real number, got float64 of shape \(2,\)",
    ),
    (
        lambda: form(vrba.Neumann(0.0, BARE), BARE, ("u",)),
        "`neumann pointcloud` needs outward normals, but its domain has none",
    ),
    (
        lambda: form(vrba.Constraint(lambda *all: all[0] * all[-1][0], BARE), BARE),
        "`constraint pointcloud` needs outward normals, but its domain has none",
    ),
]


@pytest.mark.parametrize(("mistake", "words"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_explained(mistake, words, as_a_user):
    with pytest.raises(ValueError, match=words):
        mistake()


# References.


def test_a_reference_counts_inside_only():
    asked = []

    def exact(x, y):
        asked.append(np.hypot(x, y).min())
        return np.log(np.hypot(x, y))  # not finite at the centre, which is outside

    ring = vrba.Disk(1.0) - vrba.Disk(0.5)
    found = vrba.Reference.from_function(ring, exact, (21, 21)).check(ring, ("u",))
    values = found.values["u"]
    assert asked[0] >= 0.5 - 1e-9
    is_inside = ring.contains(found.points()).reshape(21, 21)
    np.testing.assert_array_equal(np.isfinite(values), is_inside)
    assert 0 < is_inside.sum() < 21 * 21
    given = np.where(is_inside, 1.0, np.nan)
    axes = found.axes
    assert np.isnan(vrba.Reference(axes, given).check(ring, ("u",)).values["u"][0, 0])
    with pytest.raises(ValueError, match="`u` is not finite everywhere"):
        vrba.Reference(axes, given * np.nan).check(ring, ("u",))
    with pytest.raises(ValueError, match="has no point in the domain"):
        vrba.Reference({"x": [0.0], "y": [0.0]}, [[1.0]]).check(ring, ("u",))


# Runs.

ADAM = {"optimizer": optim.Adam(), "max_steps": 2, "check_every": 2}


def load_example():
    path = Path(__file__).parents[2] / "examples" / "my_geometry.py"
    spec = importlib.util.spec_from_file_location("my_geometry", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_runs_and_is_blank_outside(tmp_path):
    problem = load_example().CooledPlate()
    run = tmp_path / "run"
    solution = vrba.solve(problem, recipe=tiny_recipe(**ADAM), run=run)
    assert set(solution.result["residuals"]) == {
        "equations", "dirichlet polygon", "robin disk",
    }  # fmt: skip
    assert 0 < solution.errors()["last"] < np.inf
    grid = solution.grid(30, 20)
    points = np.stack(np.meshgrid(grid["x"], grid["y"], indexing="ij"), axis=-1)
    is_inside = problem.domain.contains(points.reshape(-1, 2)).reshape(30, 20)
    np.testing.assert_array_equal(np.isfinite(grid["u"]), is_inside)
    assert vrba.pinn.disagreement([solution, solution]) == 0
    with netcdf_file(solution.export(tmp_path / "u.nc", 30, 20), mmap=False) as file:
        np.testing.assert_array_equal(np.isfinite(file.variables["u"][:]), is_inside)
    path = write_figures(run)[0]
    assert path.read_bytes().startswith(b"\x89PNG")
    with np.load(run / "fields.npz") as file:
        figure = plot_solution(dict(file))
    panels = {axes.get_title(): axes for axes in figure.axes if axes.get_title()}
    assert list(panels) == ["u", "error of u", "16 sampled points"]
    assert all(axes.get_aspect() == 1 for axes in panels.values())
    shown = np.ma.masked_invalid(panels["u"].collections[0].get_array())
    assert 0 < shown.mask.sum() < shown.size


def test_the_conditions_of_the_example_fit_its_solution():
    problem = load_example().CooledPlate()
    exact, k = problem.reference(), problem.loss**0.5
    solution = lambda p: jnp.stack([jnp.cosh(k * p[0]) + jnp.sinh(k * p[1])])
    for name, term in Formulation(problem).terms().items():
        rows = tuple(map(jnp.asarray, term.sample(50, seed=0)))
        run = lambda row, term=term: term(lambda *p: jnp.stack(p), solution, row)
        np.testing.assert_allclose(jax.vmap(run)(rows), 0, atol=1e-10, err_msg=name)
        np.testing.assert_allclose(exact(*rows[0].T), jax.vmap(solution)(rows[0])[:, 0])


def test_five_coordinates_have_a_reference_and_a_figure(tmp_path):
    names = ("a", "b", "c", "x", "y")

    class Poisson(vrba.Problem):
        fields = ("u", "v")
        domain = vrba.Ball(1.0, **dict.fromkeys(names, 0.0))

        def equations(self, u, v, a, b, c, x, y):
            return {"u": u.xx - 2.0, "v": v.a - u.b}

        def conditions(self):
            return [vrba.Dirichlet(0.0, on=self.domain, field="u")]

        def reference(self):
            return lambda a, b, c, x, y: {"u": x**2, "v": a}

    run = tmp_path / "run"
    solution = vrba.solve(Poisson(), recipe=tiny_recipe(**ADAM), run=run)
    assert 0 < solution.errors()["last"] < np.inf
    with np.load(run / "fields.npz") as file:
        fields = dict(file)
    assert fields["u"].shape == (10,) * 5
    titles = [axes.get_title() for axes in plot_solution(fields).axes]
    assert [title for title in titles if title][0].startswith("u at a = 0.111, b =")
    assert write_figures(run)


def test_a_slice_outside_the_domain_is_blank():
    line = np.linspace(0, 1, 5)
    nothing = np.full((5, 5, 5), np.nan)
    fields = {"x": line, "y": line, "z": line, "u": nothing, "reference u": nothing}
    fields |= {"coordinates": np.array(["x", "y", "z"]), "fields": np.array(["u"])}
    figure = plot_solution(fields)
    figure.canvas.draw()
    assert figure.axes


def test_a_point_cloud_is_split_into_training_and_held_out_points():
    cloud = vrba.PointCloud(DISK.sample(50, seed=0), "xy", boundary=EDGE, normals=OUT)
    problem = make([vrba.Neumann(0.0, on=cloud)], cloud, ("u",))
    with jax.enable_x64(True):
        trainer = Trainer(
            Evaluator(Formulation(problem), tiny_recipe(num_points=64), 0)
        )
    for name, known in (("equations", cloud.points), ("neumann pointcloud", EDGE)):
        pool = {tuple(row) for row in np.asarray(trainer.pools[name][0])}
        held = {tuple(row) for row in np.asarray(trainer.held_out[name][0])}
        assert pool | held == {tuple(row) for row in known} and not pool & held
        assert len(held) == len(known) // 5
    state = trainer.init()
    assert state.ids["equations"].size == 40
    assert state.ids[name].size == len(trainer.pools[name][0])


def test_a_single_point_is_trained_on_and_held_out():
    where = lambda x, y: x == EDGE[0, 0]
    few = make([vrba.Dirichlet(0.0, BARE, where=where)], BARE, ("u",))
    trainer = Trainer(Evaluator(Formulation(few), tiny_recipe(), 0))
    for rows in (trainer.pools, trainer.held_out):
        assert rows["dirichlet pointcloud"][0].shape == (1, 2)
