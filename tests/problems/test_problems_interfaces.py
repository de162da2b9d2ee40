"""Interfaces: points on a level set, outputs for each side, and conditions there."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

import vrba
from tests.problems.test_problems_formulation import make
from tests.rooms import concrete
from vrba.problems import (
    AbstractInterfaceCondition,
    FluxJump,
    Formulation,
    InterfaceConstraint,
    Jump,
)

SQUARE = vrba.Box(x=(-1, 1), y=(-1, 1))
IN_TIME = vrba.Box(t=(0, 1), x=(-1, 2))
ORIGIN = (0, 0)


def circle(x, y):
    return (x - 0.1) ** 2 + y**2 - 0.25


def front(t, x):
    return x - 0.3 * t


def laplace(self, u, x, y):
    return {"laplace": u.xx + u.yy}


def heat(self, u, t, x):
    return {"heat": u.t - u.xx}


def plane(*conditions, names=("u",), law=laplace):
    walls = [vrba.Dirichlet(0.0, on="x", field=name) for name in names]
    return make([*walls, *conditions], law, names, SQUARE)


def rows_of(term, num_points, seed=0):
    return tuple(map(jnp.asarray, term.sample(num_points, seed=seed)))


def together(*point):
    return jnp.stack(point)


# Points.


def sample(level, domain, num_points, seed=0):
    points, numbers = Jump(0.0, level).sample(domain, num_points, seed=seed)
    return points, numbers[:, :-1]


def test_points_are_on_the_interface_with_normals_to_the_positive_side():
    points, normals = sample(circle, SQUARE, 500)
    x, y = points.T
    assert points.shape == normals.shape == (500, 2)
    np.testing.assert_allclose(circle(x, y), 0, atol=1e-15)
    np.testing.assert_allclose(normals, 2 * np.stack([x - 0.1, y], axis=1), atol=1e-14)


def test_points_depend_on_the_seed_alone():
    first, again, other = (sample(circle, SQUARE, 50, s)[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not set(map(tuple, first)) & set(map(tuple, other))


def test_the_density_is_nearly_uniform():
    """The angle of a circle, and the arc length of a curve of unequal curvature."""
    x, y = sample(circle, SQUARE, 2000)[0].T
    share = np.arctan2(y, x - 0.1) / (2 * np.pi) + 0.5
    assert kstest(share, "uniform").statistic < 0.04
    wave = lambda x, y: y - 0.3 * jnp.sin(2 * x)
    x = sample(wave, SQUARE, 2000)[0][:, 0]
    speed = lambda x: np.sqrt(1 + 0.36 * np.cos(2 * x) ** 2)
    length = lambda x: quad(speed, -1, x)[0]
    share = np.array([length(one) for one in x]) / length(1)
    assert kstest(share, "uniform").statistic < 0.05


def test_a_small_part_of_the_domain_may_have_the_interface():
    small = lambda x, y: (x - 0.7) ** 2 + (y + 0.2) ** 2 - 1e-4
    x, y = sample(small, SQUARE, 300)[0].T
    angle = np.arctan2(y + 0.2, x - 0.7) / (2 * np.pi) + 0.5
    np.testing.assert_allclose(small(x, y), 0, atol=1e-15)
    assert kstest(angle, "uniform").statistic < 0.15


def test_a_moving_interface_has_normals_in_space_and_all_times():
    points, normals = sample(front, IN_TIME, 1000)
    np.testing.assert_allclose(front(*points.T), 0, atol=1e-15)
    np.testing.assert_array_equal(normals, [[0.0, 1.0]] * 1000)
    assert kstest(points[:, 0], "uniform").statistic < 0.06


def test_on_a_line_the_points_are_the_roots():
    condition = Jump(0.0, lambda x: jnp.sin(np.pi * x))
    domain = vrba.Box(x=(0.5, 3.5))
    points, numbers = condition.sample(domain, 1, seed=3)
    assert condition.num_available(domain) == 3
    np.testing.assert_allclose(points[:, 0], [1, 2, 3], rtol=1e-14)
    np.testing.assert_array_equal(numbers[:, 0], [-1, 1, -1])


def test_points_in_single_precision():
    with jax.enable_x64(False):
        points, normals = sample(circle, SQUARE, 100)
    np.testing.assert_allclose(circle(*points.T), 0, atol=1e-6)
    np.testing.assert_allclose(np.sum(normals**2, axis=1), 1, rtol=1e-6)


# The outputs of each side.


def bends(p):
    """Two functions, smooth everywhere."""
    return jnp.stack([jnp.sin(p[0]) * p[1], jnp.exp(p[0] * p[1])])


def test_fields_and_derivatives_are_those_of_the_side():
    form = Formulation(plane(vrba.Interface(circle, (1.0, 2.0))))
    assert form.num_outputs == 2
    wanted = frozenset([(2, 0), (0, 2), (1, 1)])
    points = jnp.array([[0.1, 0.2], [0.9, -0.3], [0.6, 0.0], [0.5, 0.5]])
    find = lambda p: form.jets(together, bends, p, wanted)["u"]
    found = jax.vmap(find)(points)
    for k, point in enumerate(points):
        side = lambda p, k=k: bends(p)[0 if k == 0 else 1]
        hessian = jax.hessian(side)(point)
        expected = {(0, 0): side(point), (2, 0): hessian[0, 0], (1, 1): hessian[0, 1]}
        for index, value in expected.items():
            np.testing.assert_allclose(found[index][k], value, atol=1e-14)


def test_an_ansatz_holds_on_both_sides():
    ansatz = vrba.Ansatz(lambda x, y, N: x + (1 - x**2) * N)
    form = Formulation(plane(ansatz, vrba.Interface(circle, 1.0)))
    find = lambda p: form.jets(together, bends, p, frozenset([ORIGIN]))["u"][ORIGIN]
    points = jnp.array([[0.1, 0.2], [0.9, -0.3]])
    x, outputs = points[:, 0], jnp.diag(jax.vmap(bends)(points))
    np.testing.assert_allclose(
        jax.vmap(find)(points), x + (1 - x**2) * outputs, rtol=1e-15
    )


def test_parts_that_do_not_exist_have_no_outputs():
    """Two disjoint disks make three parts, two crossing lines four."""
    other = lambda x, y: (x + 0.7) ** 2 + y**2 - 0.01
    disks = plane(vrba.Interface(circle, 1.0), vrba.Interface(other, 1.0))
    form = Formulation(disks)
    assert form.num_outputs == 3
    network = lambda p: jnp.array([1.0, 2.0, 3.0])
    find = lambda p: form.jets(together, network, p, frozenset([ORIGIN]))["u"][ORIGIN]
    points = jnp.array([[0.1, 0.0], [-0.7, 0.0], [0.9, 0.9]])
    np.testing.assert_array_equal(jax.vmap(find)(points), [1, 2, 3])
    lines = [vrba.Interface(fn, 1.0) for fn in (lambda x, y: x, lambda x, y: y)]
    assert Formulation(plane(*lines)).num_outputs == 4


def test_a_thin_part_has_outputs():
    small = lambda x, y: (x - 0.7) ** 2 + (y + 0.2) ** 2 - 1e-6
    assert Formulation(plane(vrba.Interface(small, 1.0))).num_outputs == 2


# Conditions.


INSIDE = lambda x, y: jnp.exp(x) * jnp.cos(y) + x * y
OUTSIDE = lambda x, y: jnp.sin(x - 2 * y)


def conductivity(x, y):
    """Jumps at the circle, by another formula than the level."""
    radius = jnp.sqrt((x - 0.1) ** 2 + y**2)
    return jnp.where(radius < 0.5, 2.0 + x, 5.0)


def normal_slope(fn, x, y):
    slopes = jax.grad(fn, 0)(x, y), jax.grad(fn, 1)(x, y)
    return 2 * ((x - 0.1) * slopes[0] + y * slopes[1])


def jump(x, y):
    return OUTSIDE(x, y) - INSIDE(x, y)


def flux(x, y):
    return 5 * normal_slope(OUTSIDE, x, y) - (2 + x) * normal_slope(INSIDE, x, y)


def curved(negative, positive, x, y, normal):
    bend = jax.grad(jax.grad(OUTSIDE, 0), 0)(x, y)
    return positive.u.xx - bend + (negative.u - INSIDE(x, y)) * normal[0]


LISTED = [
    vrba.Interface(circle, (lambda x, y: 2 + x, 5.0), jump=jump, flux=flux),
    vrba.Interface(circle, conductivity, jump=jump, flux=flux),
    InterfaceConstraint(curved, circle, penalty=vrba.Penalty(name="bend")),
]
NAMES = ["jump", "flux", "jump 2", "flux 2", "bend"]


def test_conditions_vanish_on_the_solution_and_have_the_right_sign():
    form = Formulation(plane(*LISTED))
    terms = form.terms()
    assert list(terms)[2:] == NAMES
    # with `shift x` added inside, and `scale x^2` outside
    solution = lambda shift, scale: (
        lambda p: jnp.stack(
            [INSIDE(*p) + shift * p[0], OUTSIDE(*p) + scale * p[0] ** 2]
        )
    )
    for name in NAMES:
        points, numbers = rows_of(terms[name], 20)
        run = jax.jit(
            lambda shift, scale, name=name, rows=(points, numbers): jax.vmap(
                lambda row: terms[name](together, solution(shift, scale), row)
            )(rows)[:, 0]
        )
        x, normal = points[:, 0], numbers[:, 0]
        k_inside, k_outside = 2 + x, 5.0
        inside = {"jump": -x, "flux": -k_inside * normal, "bend": x * normal}
        outside = {"jump": x**2, "flux": k_outside * 2 * x * normal, "bend": 2 + 0 * x}
        kind = name.removesuffix(" 2")
        np.testing.assert_allclose(run(0.0, 0.0), 0, atol=1e-12, err_msg=name)
        close = {"rtol": 0, "atol": 1e-12, "err_msg": name}
        np.testing.assert_allclose(run(1.0, 0.0), inside[kind], **close)
        np.testing.assert_allclose(run(0.0, 1.0), outside[kind], **close)


def test_every_condition_is_tested():
    found = {Jump, FluxJump, InterfaceConstraint}
    assert found == set(concrete("vrba.problems", AbstractInterfaceCondition))


def test_the_known_part_of_an_ansatz_may_have_a_kink_at_the_interface():
    """Each side has its own branch: `|x|` has slopes -1 and 1."""
    level = lambda x, y: x
    kink = vrba.Ansatz(lambda x, y, N: jnp.where(x > 0, x, -x) + 0 * N)
    given = vrba.Interface(level, (3.0, 1.0))
    term = Formulation(make([kink, given], laplace, box=SQUARE)).terms()["flux"]
    network = lambda p: jnp.zeros(2)
    found = jax.vmap(lambda row: term(together, network, row))(rows_of(term, 30))
    np.testing.assert_allclose(found, 1 + 3, rtol=1e-15)


def test_each_field_has_its_own_conditions():
    names = ("u", "v")
    law = lambda self, u, v, x, y: {"one": u.xx + v.yy, "two": v.xx + u.yy}
    both = plane(vrba.Interface(circle, 1.0), names=names, law=law)
    form = Formulation(both)
    of_fields = ["jump of u", "flux of u", "jump of v", "flux of v"]
    assert list(form.conditions)[2:] == of_fields and form.num_outputs == 4
    apart = [
        vrba.Interface(circle, (1.0, 2.0), field="u"),
        vrba.Interface(circle, None, field="v", penalty=vrba.Penalty(name="wall")),
    ]
    form = Formulation(plane(*apart, names=names, law=law))
    assert list(form.conditions)[2:] == ["jump of u", "flux of u", "wall jump"]
    assert form.num_outputs == 4
    network = lambda p: jnp.array([1.0, 20.0, 300.0, 4000.0])
    for name, step in (("jump of u", 299), ("wall jump", 3980)):
        term = form.terms()[name]
        found = jax.vmap(lambda row, t=term: t(together, network, row))(
            rows_of(term, 5)
        )
        np.testing.assert_array_equal(found, np.full((5, 1), step))


def test_the_flux_of_a_moving_interface_is_that_in_space():
    listed = [vrba.Initial(0.0), vrba.Interface(front, (1.0, 4.0))]
    term = Formulation(make(listed, heat, box=IN_TIME)).terms()["flux"]
    assert term.indices == {(0, 0), (0, 1)}
    network = lambda p: jnp.stack([3 * p[1] + p[0], 5 * p[1] ** 2 - 7 * p[0]])
    points, numbers = rows_of(term, 10)
    found = jax.vmap(lambda row: term(together, network, row))((points, numbers))
    np.testing.assert_allclose(found[:, 0], 40 * points[:, 1] - 3, rtol=1e-12)


# Errors.


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: vrba.Interface(0.5, 1.0), r"level=...\)` must be a function"),
        (lambda: vrba.Interface(circle, (1.0, 2.0, 3.0)), "must be a pair"),
        (lambda: vrba.Interface(circle, None, flux=1.0), "needs a `coefficient`"),
        (lambda: InterfaceConstraint(curved, 1.0), r"level=...\)` must be a function"),
    ],
)
def test_bad_settings(given, message, as_a_user):
    with pytest.raises(ValueError, match=message):
        given()


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ([vrba.Interface(lambda x, y: x - 3, 1.0)], "lies between -4 and -2"),
        ([vrba.Interface(lambda x, y: x**2, 1.0)], "changes its sign nowhere"),
        ([vrba.Interface(lambda y, x: x, 1.0)], r"takes \(y, x\), but is called"),
        ([vrba.Interface(lambda x: x, 1.0)], "does not take them"),
        ([vrba.Interface(circle, 1.0, on=("t",))], r"`on=\('t',\)`"),
        ([vrba.Interface(circle, 1.0, field="v")], "`field='v'`, but the fields are u"),
        (
            [vrba.Interface(circle, 1.0), vrba.Interface(lambda x, y: circle(x, y), 1)],
            "lie at the same place",
        ),
        (
            [InterfaceConstraint(lambda a, b, x, y, n: 0.0, circle)],
            r"called with \(negative, positive, x, y, normal\)",
        ),
        (
            [InterfaceConstraint(lambda negative, positive, x, y, normal: 1, circle)],
            "must be one real number",
        ),
    ],
)
def test_bad_problems(listed, message):
    with pytest.raises(ValueError, match=message):
        Formulation(plane(*listed)).terms()


def test_an_interface_alone_is_no_boundary_condition():
    with pytest.raises(ValueError, match="no initial or boundary condition"):
        Formulation(make([vrba.Interface(circle, 1.0)], laplace, box=SQUARE))


def test_a_field_without_condition_on_the_interface():
    law = lambda self, u, v, x, y: {"one": u.xx + v.yy, "two": v.xx + u.yy}
    problem = plane(vrba.Interface(circle, 1.0, field="v"), names=("u", "v"), law=law)
    with pytest.raises(ValueError, match="`u` has no condition on an interface"):
        Formulation(problem)


def test_a_network_with_too_few_outputs():
    form = Formulation(plane(vrba.Interface(circle, 1.0)))
    with pytest.raises(ValueError, match="each of u on each of 2 parts"):
        form.jets(together, lambda p: p[:1], jnp.zeros(2), frozenset([ORIGIN]))


def test_an_interface_needs_infinitely_many_points():
    cloud = vrba.PointCloud(np.random.default_rng(0).uniform(-1, 1, (50, 2)), "xy")
    with pytest.raises(ValueError, match="has only 50 points"):
        Jump(0.0, circle).check(cloud)
