"""Formulations, conditions and references of a problem, and their error messages."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import qmc

from tests.rooms import concrete
from vrba.domains import Box
from vrba.fields import coordinate_jets, downward_closure, propagate
from vrba.models import MLP, Embedding, Network, Tanh
from vrba.problems import (
    AbstractCondition,
    AbstractInterfaceCondition,
    Ansatz,
    Constraint,
    Data,
    Dirichlet,
    Formulation,
    FourierFeatures,
    GivenInitial,
    Initial,
    Mean,
    Neumann,
    Penalty,
    Periodic,
    Problem,
    Reference,
    Robin,
)

BOX = Box(t=(0, 1), x=(-1, 2))
QUICK = {"xla_backend_optimization_level": 0}  # to compile, not to run


def heat(self, u, t, x):
    return {"heat": u.t - u.xx}


def make(given, law=heat, names=("u",), box=BOX):
    """A problem from its parts."""

    class Case(Problem):
        fields = names
        domain = box
        equations = law

        def conditions(self):
            return given

    return Case()


def some_network(*sizes, dtype=float):
    """Layers of these sizes with random weights."""
    random, shapes = np.random.default_rng(5), zip(sizes[1:], sizes[:-1], strict=True)
    weights = [jnp.asarray(random.normal(0, 0.5, shape), dtype) for shape in shapes]
    biases = [jnp.asarray(random.normal(0, 0.5, len(w)), dtype) for w in weights]
    return Network(weights, biases, Tanh())


# Domains.


def mean_error(points, box=BOX):
    """How far the mean over points of smooth, centred functions is from zero."""
    lower, upper = np.array([box.bounds(name) for name in box.coordinates]).T
    unit = (points - lower) / (upper - lower)
    parts = [np.cos(np.pi * unit[:, 0]), unit[:, 0] * unit[:, 1] - 0.25]
    return np.abs([np.mean(part) for part in parts]).max()


@pytest.mark.parametrize("num_points", [256, 300, 1000])
def test_points_are_inside_and_more_uniform_than_random(num_points):
    ours, random = [], []
    lower, upper = np.array([0.0, -1.0]), np.array([1.0, 2.0])
    for seed in range(8):
        points = BOX.sample(num_points, seed=seed)
        assert points.shape == (num_points, 2) and points.dtype == float
        assert np.all((points > lower) & (points < upper))
        loose = np.random.default_rng(seed).uniform(lower, upper, points.shape)
        unit = [(p - lower) / (upper - lower) for p in (points, loose)]
        ours.append((mean_error(points), qmc.discrepancy(unit[0])))
        random.append((mean_error(loose), qmc.discrepancy(unit[1])))
    assert np.all(np.mean(ours, axis=0) < 0.2 * np.mean(random, axis=0))


def test_seeds_fix_the_points():
    one, again, other = (BOX.sample(64, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 0.1
    assert BOX.sample(1, seed=0).shape == (1, 2)


def share_in_lower_half(points, stride):
    """The worst share, over coordinates and the parts that a stride makes."""
    unit = (points - [0.0, -1.0]) / [1.0, 3.0]
    shares = [np.mean(unit[k::stride] < 0.5, axis=0) for k in range(stride)]
    return np.abs(np.array(shares) - 0.5).max()


@pytest.mark.parametrize("stride", [2, 3, 4, 8])
def test_a_stride_through_the_points_is_uniform(stride):
    num_points = 1024
    bound = 5 * 0.5 / np.sqrt(num_points / stride)
    for seed in range(4):
        assert share_in_lower_half(BOX.sample(num_points, seed=seed), stride) < bound
    if stride % 2 == 0:  # as they come, every second one lies in the same half
        raw = qmc.scale(qmc.Sobol(2, rng=0).random(num_points), [0, -1], [1, 2])
        assert share_in_lower_half(raw, stride) > bound


def test_faces_are_exact():
    for name, value in [("t", 0.0), ("t", 1.0), ("x", -1.0), ("x", 2.0), ("x", 0.1)]:
        points = BOX.sample_face(50, name, value, seed=3)
        k = BOX.coordinates.index(name)
        assert np.all(points[:, k] == value) and BOX.contains(points).all()
        lower, upper = BOX.bounds(BOX.coordinates[1 - k])
        counts, _ = np.histogram(points[:, 1 - k], bins=10, range=(lower, upper))
        assert counts.min() >= 3 and counts.max() <= 7
    np.testing.assert_array_equal(
        Box(t=(0, 3)).sample_face(2, "t", 3.0, seed=0), [[3.0], [3.0]]
    )


def test_contains_is_closed():
    points = [[0, -1], [1, 2], [0.5, 0], [-1e-9, 0], [0.5, 2.1], [np.nan, 0]]
    expected = [True, True, True, False, False, False]
    np.testing.assert_array_equal(BOX.contains(np.array(points, float)), expected)
    assert BOX.coordinates == ("t", "x") and BOX.bounds("x") == (-1.0, 2.0)


# Embeddings.


def test_embedding_scales_and_is_periodic():
    embedding = Embedding((0.0, -1.0), (2.0, 3.0), (0, 3))
    points = jnp.array([[0.0, -1.0], [2.0, 3.0], [0.5, 0.3], [0.5, 4.3]])
    indices = downward_closure([(1, 3)])
    run = lambda p: propagate(embedding, coordinate_jets(p, 2), indices)
    jets = jax.jit(jax.vmap(run), compiler_options=QUICK)(points)
    values = jets[0, 0]
    assert values.shape == (4, embedding.num_outputs) == (4, 7)
    np.testing.assert_array_equal(values[:2, 0], [-1, 1])
    for part in jets.values():  # values and derivatives meet at the ends
        np.testing.assert_allclose(part[0, 1:], part[1, 1:], rtol=0, atol=1e-12)
        np.testing.assert_allclose(part[2, 1:], part[3, 1:], rtol=0, atol=1e-12)
    angle = np.pi * (0.3 - 1.0) / 2
    waves = [f(k * angle) for k in (1, 2, 3) for f in (np.cos, np.sin)]
    np.testing.assert_allclose(values[2, 1:], waves, rtol=1e-14)
    np.testing.assert_allclose(jets[1, 0][:, 0], 1.0, rtol=1e-15)


def test_fourier_features_keep_the_coordinate_and_are_not_periodic():
    embedding = Embedding((0.0, -1.0), (2.0, 3.0), (0, 1), (2, 0))
    found = np.stack([embedding(*p) for p in jnp.array([[0.0, 0.0], [2.0, 0.0]])])
    assert found.shape == (2, embedding.num_outputs) == (2, 7)
    # On an interval twice as long, the second mode swings once.
    scaled, angle = np.array([-1.0, 1.0]), np.pi / 2 * np.array([-1.0, 1.0])
    waves = [f(k * angle) for k in (1, 2) for f in (np.cos, np.sin)]
    np.testing.assert_allclose(found[:, :5].T, [scaled, *waves], atol=1e-15)
    np.testing.assert_array_equal(found[0, 5:], found[1, 5:])


# Conditions.


def exact(t, x):
    return jnp.exp(-t) * jnp.sin(2 * x) + t * x**2


def slope(t, x):
    return 2 * jnp.exp(-t) * jnp.cos(2 * x) + 2 * t * x


def outwards(t, x):
    return jnp.where(x > 0, slope(t, x), -slope(t, x))


SOME = np.array([[0.1, 0.2], [1.0, -1.0], [0.0, 2.0]])
KINDS = [
    Initial(lambda x: jnp.sin(2 * x)),
    Initial(lambda x: x**2 - jnp.sin(2 * x), order=1),
    Initial(lambda t: exact(t, -1.0), on="x"),
    Dirichlet(exact, "x"),
    Dirichlet(lambda t, x: exact(t, 0.5), "x", 0.5),
    Dirichlet(0, "x", 0, penalty=Penalty(name="middle")),
    Neumann(outwards, "x"),
    Neumann(lambda t, x: -slope(t, -1.0), "x", -1),
    Neumann(slope, "x", 2),
    Robin(lambda t, x: exact(t, x) + outwards(t, x), "x"),
    Robin(
        lambda t, x: t * exact(t, x) + 3 * slope(t, x),
        "x",
        2,
        factor=lambda t, x: t,
        slope=3,
    ),
    Constraint(lambda u, t, x, normal: normal[1] * (u.x - slope(t, x)), "x"),
    Constraint(lambda u, t, x, normal: u - exact(t, x) + normal[0], "x", 0.5),
    Data(SOME, [float(exact(*p)) for p in SOME]),
]
# What each residual becomes where the solution is too large by `x / 10`.
SHIFTS = [
    lambda t, x: x,
    lambda t, x: 0 * x,
    lambda t, x: x,
    lambda t, x: x,
    lambda t, x: x,
    lambda t, x: x,
    lambda t, x: np.sign(x),
    lambda t, x: -1 + 0 * x,
    lambda t, x: 1 + 0 * x,
    lambda t, x: x + np.sign(x),
    lambda t, x: t * x + 3,
    lambda t, x: np.sign(x),
    lambda t, x: x,
    lambda t, x: x,
]
NAMES = [
    "initial", "initial d1", "initial 2", "dirichlet x", "dirichlet x=0.5", "middle",
    "neumann x", "neumann x=-1", "neumann x=2", "robin x", "robin x=2",
    "constraint x", "constraint x=0.5", "data",
]  # fmt: skip


def test_conditions_vanish_on_the_solution_and_have_the_right_sign():
    form = Formulation(make(KINDS))
    assert list(form.conditions) == NAMES
    terms = form.terms()
    assert list(terms) == ["equations", *NAMES]
    rows = {
        name: tuple(map(jnp.asarray, terms[name].sample(7, seed=1))) for name in NAMES
    }
    together = lambda *p: jnp.stack(p)

    @jax.jit
    def run(rows, shift):
        solution = lambda p: jnp.stack([exact(*p) + shift * p[1]])
        residual = lambda name: lambda row: terms[name](together, solution, row)
        return {name: jax.vmap(residual(name))(rows[name]) for name in NAMES}

    right, shifted = run(rows, 0.0), run(rows, 0.1)
    for name, shift in zip(NAMES, SHIFTS, strict=True):
        points = np.asarray(rows[name][0])
        assert (
            len(points) == (3 if name == "data" else 7) and BOX.contains(points).all()
        )
        close = dict(rtol=0, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(right[name], np.zeros((len(points), 1)), **close)
        expected = 0.1 * shift(*points.T)
        np.testing.assert_allclose(shifted[name][:, 0], expected, **close)


def test_every_condition_is_tested():
    found = {type(condition) for condition in KINDS}
    others = {*concrete("vrba.problems", AbstractInterfaceCondition)}
    others |= {Mean, GivenInitial}  # test_problems_mean.py, test_pinn_marching.py
    assert found == set(concrete("vrba.problems", AbstractCondition)) - others


def test_boundary_points_and_outward_normals():
    for num_points in (1, 8, 9):
        points, normals = Neumann(0, "x").sample(BOX, num_points, seed=0)
        assert points.shape == normals.shape == (num_points, 2)
        sides = normals[:, 1]
        assert not normals[:, 0].any()
        np.testing.assert_array_equal(sides, np.where(points[:, 1] == 2, 1, -1))
        assert set(points[:, 1]) <= {-1.0, 2.0}
        assert abs(sides.sum()) <= 1
    _, sides = Dirichlet(0, "x", 0.5).sample(BOX, 4, seed=0)
    assert not sides.any()
    points, _ = Initial(0).sample(BOX, 5, seed=0)
    assert not points[:, 0].any()


def test_data_are_all_used():
    data = Data(SOME.tolist(), [1, 2, 3], field="v")
    points, values = data.sample(BOX, 1000, seed=0)
    np.testing.assert_array_equal(points, SOME)
    np.testing.assert_array_equal(values, [[1.0], [2.0], [3.0]])
    assert data.label() == "data of v"


def test_names_are_unique_and_say_the_field():
    given = [
        Initial(0, field="u"),
        Initial(0, field="v"),
        Initial(0, field="u"),
        Initial(0, field="v", order=1),
        Dirichlet(0, "x", field="u", penalty=Penalty(name="equations")),
        Dirichlet(0, "x", field="v", penalty=Penalty(name="wall", weight=10)),
        Neumann(0, "x", 2, field="v", penalty=Penalty(name="wall")),
    ]
    law = lambda self, u, v, t, x: {"one": u.t - v.x, "two": v.t - u.x}
    seen = [Periodic("x", modes=2), FourierFeatures("t", modes=3)]
    form = Formulation(make([*seen, *given], law, ("u", "v")))
    assert list(form.conditions) == [
        "initial of u", "initial of v", "initial of u 2", "initial d1 of v",
        "equations 2", "wall", "wall 2",
    ]  # fmt: skip
    assert form.periods == {"x": 2} and form.fourier_features == {"t": 3}
    assert form.ansatz is None and form.domain == BOX
    terms = form.terms()
    assert terms["equations"].labels == ("one", "two")
    assert terms["initial d1 of v"].indices == {(0, 0), (1, 0)}
    assert terms["equations"].indices == {(0, 0), (1, 0), (0, 1)}
    assert terms["wall"].labels == ("wall",)


# Residuals.


def two_fields(self, u, v, t, x):
    return {
        "wave": u.t + u * v.x - 0.1 * u.xxx,
        "heat": v.t - v.xx * u.x + jnp.sin(u) * t + v.tx,
    }


def walls(t, x, U, V):
    return t * U + jnp.cos(jnp.pi * x), t * (x + 1) * (2 - x) * V + x * t


def test_residual_equals_nested_jvps():
    law = make([Ansatz(walls)], two_fields, ("u", "v"))
    term = Formulation(law).terms()["equations"]
    assert term.labels == ("wave", "heat")
    assert term.indices == {(0, 0), (1, 0), (0, 1), (0, 2), (0, 3), (1, 1)}
    network = some_network(3, 6, 6, 2)
    embedding = Embedding((0.0, -1.0), (1.0, 2.0), (0, 1))
    points, numbers = map(jnp.asarray, term.sample(5, seed=0))
    assert points.shape == (5, 2) and numbers.shape == (5, 0)

    def by_hand(point):
        fields = lambda p: jnp.stack(walls(*p, *network(embedding(*p))))
        along = lambda fn, k: lambda p: jax.jvp(fn, (p,), (jnp.eye(2)[k],))[1]
        t, x = along(fields, 0), along(fields, 1)
        xx, tx = along(x, 1), along(t, 1)
        (u, _), (u_t, v_t), (u_x, v_x) = fields(point), t(point), x(point)
        (u_xxx, _), (_, v_xx), (_, v_tx) = along(xx, 1)(point), xx(point), tx(point)
        wave = u_t + u * v_x - 0.1 * u_xxx
        return jnp.stack([wave, v_t - v_xx * u_x + jnp.sin(u) * point[0] + v_tx])

    ours = lambda row: term(embedding, network, row)
    both = jax.jit(
        lambda rows: (jax.vmap(ours)(rows), jax.vmap(by_hand)(rows[0])),
        compiler_options=QUICK,
    )
    got, expected = both((points, numbers))
    assert got.shape == (5, 2)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


def test_ansatz_holds_exactly_for_any_network():
    start = lambda x: jnp.sin(jnp.pi * x)
    fn = lambda t, x, N: start(x) + t * (x + 1) * (2 - x) * N
    conditions = [Ansatz(fn), Initial(start), Dirichlet(lambda t, x: start(x), "x")]
    terms = Formulation(make(conditions)).terms()
    network = some_network(2, 4, 1)
    embedding = Embedding((0.0, -1.0), (1.0, 2.0), (0, 0))
    for name in ("initial", "dirichlet x"):
        rows = tuple(map(jnp.asarray, terms[name].sample(4, seed=0)))
        found = jax.vmap(lambda row, n=name: terms[n](embedding, network, row))(rows)
        np.testing.assert_allclose(found, np.zeros((4, 1)), rtol=0, atol=1e-15)


def test_float32_stays_float32():
    """The ansatz may return a plain number, as for a field that is known."""
    fn = lambda t, x, U, V: (t * U, 1)
    law = lambda self, u, v, t, x: {"one": u.t + v * u.x, "two": v.t, "three": v - 1}
    given = [Ansatz(fn), Initial(0, field="u"), Neumann(lambda t, x: 0, "x", field="v")]
    given += [Dirichlet(lambda t, x: 3, "x", field="v")]
    terms = Formulation(make(given, law, ("u", "v"))).terms()
    network = some_network(2, 3, 2, dtype=jnp.float32)
    row = jnp.array([0.3, 2.0], jnp.float32), jnp.array([0.0, 1.0], jnp.float32)
    embedding = Embedding((0.0, -1.0), (1.0, 2.0), (0, 0))
    for term in terms.values():
        found = term(embedding, network, row)
        assert found.dtype == jnp.float32 and found.shape == (len(term.labels),)
    for name, part in [("equations", 1), ("equations", 2), ("neumann x of v", 0)]:
        assert terms[name](embedding, network, row)[part] == 0
    assert terms["dirichlet x of v"](embedding, network, row) == -2


def test_equations_may_take_any_arguments():
    law = lambda self, *arguments: {"decay": arguments[0].t + arguments[0]}
    term = Formulation(make([Initial(1)], law, box=Box(t=(0, 2)))).terms()["equations"]
    decay = lambda p: jnp.exp(-p)
    row = jnp.array([0.7]), jnp.zeros(0)
    found = term(lambda t: jnp.stack([t]), decay, row)
    np.testing.assert_allclose(found, [0.0], atol=1e-16)


# References.


def test_reference_from_a_function():
    grid = Reference.from_function(BOX, lambda t, x: t + 10 * x, (3, 4), error=1e-9)
    checked = grid.check(BOX, ("u",))
    np.testing.assert_array_equal(checked.axes["x"], [-1, 0, 1, 2])
    points = checked.points()
    assert points.shape == (12, 2) and checked.error == 1e-9
    values = points[:, 0] + 10 * points[:, 1]
    np.testing.assert_allclose(checked.values["u"].ravel(), values, rtol=1e-15)
    whole = Reference.from_function(BOX, lambda t, x: {"u": t, "v": x})
    values = whole.check(BOX, ("u", "v")).values
    assert values["u"].shape == values["v"].shape == (316, 316)


# Mistakes.

AXES = {"t": [0.0, 1.0], "x": [-1.0, 0.0, 2.0]}
GRID = np.zeros((2, 3))
TWO = lambda self, u, v, t, x: {"one": u.t - v.x}
FREE = lambda self, *arguments: {"one": arguments[0]}
SECOND = [Initial(0, field="u"), Initial(0, field="v")]


def form(given, *args, **kwargs):
    return Formulation(make(given, *args, **kwargs))


def terms(given, law=heat, *args, **kwargs):
    return Formulation(make(given, law, *args, **kwargs)).terms()


def law_of(value):
    """A problem whose equations return what `value(u, x)` gives."""
    return lambda: terms([Initial(0)], lambda self, u, t, x: value(u, x))


def check(axes=AXES, values=GRID, names=("u",)):
    return Reference(axes, values).check(BOX, names)


def call(network, given=None, names=("u",), law=heat):
    term = terms(given or [Initial(0)], law, names)["equations"]
    return term(lambda t, x: jnp.stack([t, x]), network, (jnp.zeros(2), jnp.zeros(0)))


MISTAKES = {
    "Box": [
        (lambda: Box(), r"`Box\(\)` has no coordinate"),
        (lambda: Box(x=3), r"`Box\(x=...\)` must be a lower and a larger upper end"),
        (lambda: Box(x=(1, 0)), r"larger upper end, got \(1, 0\)"),
        (lambda: Box(x=(1, 1)), "larger upper end"),
        (lambda: Box(x=(0, 1, 2)), "larger upper end"),
        (lambda: Box(t=(0, np.inf)), r"`Box\(t=...\)` .* larger upper end"),
        (lambda: Box(t=(np.nan, 1)), "larger upper end"),
        (lambda: Box(t=("0", "1")), r"`Box\(t=...\)` .* got \('0', '1'\)"),
        (lambda: Box(d=(0, 1)), "cannot be called `d`"),
        (lambda: Box(value=(0, 1)), "cannot be called `value`"),
        (lambda: Box(_x=(0, 1)), "cannot be called `_x`"),
        (lambda: Box(x=(0, 1), xx=(0, 1)), "`xx` is also a derivative"),
        (lambda: BOX.bounds("y"), "`y` is no coordinate of the domain, which has t, x"),
        (lambda: BOX.sample_face(3, "y", 0.0, seed=0), "`y` is no coordinate"),
        (lambda: BOX.sample(0, seed=0), "`num_points` must be at least 1, got 0"),
    ],
    "settings": [
        (lambda: Embedding((0,), (1, 2), (0,)), "one entry for each coordinate"),
        (lambda: Embedding((0,), (0,), (0,)), "`upper` must be more than `lower`"),
        (lambda: Embedding((0,), (1,), (-1,)), "`modes` at least 0"),
        (lambda: MLP(width=0), "`width` must be at least 1"),
        (lambda: MLP(depth=0), "`depth` must be at least 1"),
        (lambda: Embedding((0,), (1,), (0,), (1, 1)), "must have an entry"),
        (lambda: Embedding((0,), (1,), (0,), (-1,)), "num_freq.* at least 0"),
        (lambda: Periodic("x", modes=0), "`modes` must be at least 1"),
        (lambda: FourierFeatures("x", modes=0), "`modes` must be at least 1"),
        (lambda: Penalty(weight=0.0), "`weight` must be"),
        (lambda: Penalty(weight=np.nan), "`weight` must be positive, got nan"),
        (lambda: Penalty(weight=np.inf), "`weight` must be finite, got inf"),
        (lambda: Penalty(weight="2"), "`weight` must be a number, got '2'"),
        (
            lambda: Penalty(num_points=2.5),
            "`num_points` must be a whole number, got 2.5",
        ),
        (lambda: Initial(0, order=1.5), "`order` must be a whole number, got 1.5"),
        (lambda: MLP(width="9"), "`width` must be a whole number, got '9'"),
        (lambda: Penalty(num_points=0), "`num_points` must be at least 1"),
        (lambda: Initial(0, order=-1), "`order` must be at least 0, got -1"),
    ],
    "problem": [
        (lambda: Formulation(3), "`problem` must be a `Problem` such as .* got 3"),
        (lambda: form([], box=None), "`Case.domain` must be a domain such as `Box`"),
        (lambda: form([], names="u"), "`Case.fields` must be names .* got 'u'"),
        (lambda: form([], names=()), "`Case.fields` must be names"),
        (lambda: form([], names=3), "`Case.fields` must be names"),
        (lambda: form([], names=("u", 1)), "`Case.fields` must be names"),
        (lambda: form([], names=("u", "u")), "names a field twice"),
        (lambda: form([], FREE, ("t",)), "`Case.fields`: `t` is also a coordinate"),
        (lambda: form([], FREE, ("file",)), "cannot be called 'file'"),
        (lambda: form([], FREE, ("u", "fields")), "cannot be called 'fields'"),
        (lambda: form([], FREE, ("pool points",)), "cannot be called 'pool points'"),
        (lambda: form([], FREE, box=Box(file=(0, 1))), "cannot be called 'file'"),
        (
            lambda: form([], lambda self, u, x, t: {}),
            r"equations` takes \(u, x, t\), but .* are \(u, t, x\), in this order",
        ),
        (lambda: form([], lambda self, u: {}), r"takes \(u\), but"),
        (lambda: form([], names=("u", "v")), r"are \(u, v, t, x\)"),
        (lambda: form(None), "`conditions` must return a list, got NoneType"),
        (lambda: form(Initial(0)), "must return a list, got Initial"),
        (lambda: form([]), "`conditions` has no initial or boundary condition"),
        (
            lambda: form([FourierFeatures("x", modes=1)]),
            "no initial or boundary condition",
        ),
        (lambda: form([0.0]), "such as `Initial` or `Dirichlet`, got 0.0"),
        (lambda: form([Initial]), "must hold conditions"),
    ],
    "conditions": [
        (
            lambda: form([Dirichlet(0, "y")]),
            "`dirichlet y` is on `y`, but the coordinates of the domain are t, x",
        ),
        (lambda: form([Dirichlet("x", 0)]), "is on `0`, but the coordinates"),
        (
            lambda: form([Dirichlet(0, "x", 3)]),
            "`dirichlet x=3` is at x = 3, outside the domain, .* between -1 and 2",
        ),
        (lambda: form([Dirichlet(0, "x", np.nan)]), "outside the domain"),
        (lambda: form([Neumann(0, "x", 3)]), "outside the domain"),
        (lambda: form([Neumann(0, "x", 0)]), "needs a face, x = -1 or 2, got 0"),
        (lambda: form([Robin(0, "x", 0)]), "`robin x=0` needs a face"),
        (lambda: form([Robin(0, "y")]), "`robin y` is on `y`"),
        (lambda: form([Initial(0, on="s")]), "`initial` is on `s`"),
        (lambda: form([Periodic("y")]), r"`Periodic\('y'\)`: the coordinates .* t, x"),
        (lambda: form([Periodic("x"), Periodic("x")]), r"`Periodic\('x'\)` twice"),
        (
            lambda: form([Initial(0), FourierFeatures("y", 1)]),
            r"`FourierFeatures\('y'\)`: the coordinates",
        ),
        (
            lambda: form([Periodic("x"), FourierFeatures("x", 1)]),
            r"`Periodic\('x'\)` and `FourierFeatures\('x'\)`. Use `Periodic` alone",
        ),
        (
            lambda: form([Initial(0)], TWO, ("u", "v")),
            "`initial` must name its field, one of u, v: write `field='u'`",
        ),
        (
            lambda: form([Initial(0, field="w")], TWO, ("u", "v")),
            "`initial of w` has `field='w'`, but the fields are u, v",
        ),
        (lambda: form([Dirichlet(0, "x", field="v")]), "but the fields are u"),
    ],
    "data": [
        (
            lambda: form([Data([[0.0, 0.0]], [1.0, 2.0])]),
            r"points of shape \(n, 2\) and n values, got shapes \(1, 2\) and \(2,\)",
        ),
        (lambda: form([Data([0.0], [1.0])]), r"needs points of shape \(n, 2\)"),
        (lambda: form([Data(np.zeros((0, 2)), [])]), "needs points of shape"),
        (
            lambda: form([Data([[0.5, 9.0]], [1.0])]),
            r"row 0, point \[0.5, 9.0\] .*outside",
        ),
        (lambda: form([Data(SOME, [1.0, np.nan, 2.0])]), "row 1, .* is not finite"),
        (lambda: form([Data([[np.nan, 0.0]], [1.0])]), "is not finite or outside"),
        (lambda: Data(SOME, 1j * np.ones(3)), "`values` must hold real numbers, got c"),
        (lambda: Data([["0", "0"]], [1.0]), "`points` must hold real numbers, got <U1"),
    ],
    "equations": [
        (law_of(lambda u, x: None), "must return a dictionary .* got NoneType"),
        (law_of(lambda u, x: u.t - u.xx), "must return a dictionary of residuals"),
        (law_of(lambda u, x: [u.t]), "must return a dictionary .* got list"),
        (law_of(lambda u, x: {}), "must return a dictionary .* got an empty one"),
        (
            law_of(lambda u, x: {"a": jnp.stack([u.t, u.x])}),
            r"`a` must be one number at a point, got shape \(2,\)",
        ),
        (law_of(lambda u, x: {"a": 0}), "`a` must be a real number, got int"),
        (
            law_of(lambda u, x: {"a": jax.lax.complex(u.x, x)}),
            "`a` must be a real number, got complex",
        ),
        (law_of(lambda u, x: {"a": u.y}), "`u.y` is a derivative by `y`"),
        (law_of(lambda u, x: {"a": u.d("xx")}), "derivative by `xx`"),
    ],
    "values": [
        (
            lambda: terms([Initial(lambda t, x: 0.0)]),
            r"value of the condition `initial` is called with 1 coordinates \(x\), but",
        ),
        (
            lambda: terms([Dirichlet(lambda t: 0.0, "x")]),
            "`dirichlet x` is called with 2 coordinates .* but does not take them",
        ),
        (
            lambda: terms([Robin(0, "x", factor=lambda t: t)]),
            "`robin x` is called with 2 coordinates",
        ),
        (
            lambda: terms([Dirichlet(lambda x, t: t + 2 * x, "x")]),
            r"`dirichlet x` takes \(x, t\), but is called with \(t, x\), in this order",
        ),
        (
            lambda: terms([Neumann(lambda s, t: s, "x")]),
            r"takes \(s, t\), but is called with \(t, x\)",
        ),
        (
            lambda: terms([Robin(0, "x", slope=lambda x, t: t)]),
            r"`robin x` takes \(x, t\)",
        ),
        (
            lambda: terms([Initial(lambda t: t)]),
            r"`initial` takes \(t\), but is called with \(x\)",
        ),
        (
            lambda: terms([Initial(lambda x: jnp.stack([x, x]))]),
            r"`initial` must be one number at a point, got shape \(2,\)",
        ),
        (
            lambda: terms([Initial(np.zeros(3))]),
            r"one number at a point, got .* \(3,\)",
        ),
        (
            lambda: terms([Initial(lambda x: jnp.exp(1j * x.astype(complex)))]),
            "`initial` must be a real number, got complex128",
        ),
        (lambda: terms([Dirichlet(1j, "x")]), "`dirichlet x` must be a real number"),
        (
            lambda: terms([Dirichlet("0", "x")]),
            "`dirichlet x` must be a number or a function of the coordinates, got '0'",
        ),
    ],
    "ansatz": [
        (
            lambda: form([Ansatz(lambda x, N: N)]),
            "is called with 3 arguments, the coord",
        ),
        (
            lambda: form([Ansatz(lambda t, x, N: (N, N))]),
            r"`Ansatz` must return one number for each of u, got shapes \[\(\), \(\)\]",
        ),
        (
            lambda: form([Ansatz(lambda t, x, N: jnp.stack([N, N]))]),
            r"`Ansatz` must return one number for each of u, got shapes \[\(2,\)\]",
        ),
        (
            lambda: form([Ansatz(lambda t, x, U, V: U)], TWO, ("u", "v")),
            "`Ansatz` must return one number for each of u, v",
        ),
        (lambda: form([Ansatz(lambda t, x, N: N)] * 2), "more than one `Ansatz`"),
        (
            lambda: form([Ansatz(lambda t, x, N: jax.lax.complex(N, x))]),
            "`Ansatz` must return a real number for each of u, got complex ones",
        ),
        (
            lambda: form([Ansatz(lambda x, t, N: N)]),
            r"`Ansatz` takes \(x, t, N\), but is called with \(t, x, u\), in this",
        ),
        (
            lambda: form([Ansatz(lambda t, x, v, u: (v, u))], TWO, ("u", "v")),
            r"`Ansatz` takes \(t, x, v, u\)",
        ),
    ],
    "network": [
        (
            lambda: call(lambda p: p),
            r"must return one number for each of u, shape \(1,\), got shape \(2,\)",
        ),
        (lambda: call(lambda p: p[0]), r"each of u, shape \(1,\), got shape \(\)"),
        (
            lambda: call(lambda p: p[:1], SECOND, ("u", "v"), TWO),
            r"each of u, v, shape \(2,\), got shape \(1,\)",
        ),
    ],
    "reference": [
        (
            lambda: check({"x": [0.0, 1.0], "t": [0.0, 1.0]}),
            "axes of the reference are x, t, the coordinates of the domain t, x",
        ),
        (lambda: check({"t": [0.0]}), "axes of the reference are t, the coord"),
        (
            lambda: check(values=np.zeros((3, 2))),
            r"reference of `u` has shape \(3, 2\), its axes make \(2, 3\)",
        ),
        (lambda: check(values=GRID * np.nan), "`u` is not finite everywhere"),
        (lambda: check(values=GRID * 1j), "`reference of u` must hold real numbers"),
        (
            lambda: check(names=("u", "v")),
            r"values of \[\], the fields .* \['u', 'v'\]",
        ),
        (lambda: check(values={"v": GRID}), r"values of \['v'\], the fields"),
        (lambda: check(AXES | {"t": [0.0, 1.5]}), "reaches outside the domain"),
        (lambda: check(AXES | {"t": [0.0, np.nan]}), "grid .* is not finite or"),
        (
            lambda: Reference.from_function(BOX, lambda t, x: t, (3,)),
            r"`shape` must be a count for each of t, x, got \(3,\)",
        ),
        (
            lambda: Reference.from_function(BOX, lambda x, t: t),
            r"reference takes \(x, t\), but is called with \(t, x\), in this order",
        ),
    ],
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_are_explained(kind, as_a_user):
    for mistake, words in MISTAKES[kind]:
        with pytest.raises((ValueError, AttributeError), match=words):
            mistake()


def test_arguments_may_have_names_of_their_own():
    given = [
        Dirichlet(lambda time, place: time * place, "x"),
        Dirichlet(lambda *point: point[0], "x"),
        Dirichlet(jnp.arctan2, "x"),
        Initial(lambda x, t=3.0: t * x),
        Initial(jnp.sin, on="x"),  # of t, whatever the sine calls it
        Ansatz(lambda t, x, N: N),
    ]
    assert len(terms(given)) == 6
    lines = Reference.from_function(BOX, lambda a, b: a + 10 * b, (2, 2))
    np.testing.assert_array_equal(lines.values, [[-10, 20], [-9, 21]])


def test_errors_of_a_users_own_function_are_left_alone():
    with pytest.raises(TypeError, match="unsupported operand"):
        terms([Initial(lambda x: x + "a")])
    with pytest.raises(TypeError, match="unsupported operand"):
        form([Ansatz(lambda t, x, N: N + "a")])
