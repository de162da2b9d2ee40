"""Unknown coefficients and held-out data."""

from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from tests.pinn.cases import decay_ansatz, tiny_recipe
from vrba import optim, problems
from vrba.pinn import Evaluator, Trainer
from vrba.problems import Burgers, Formulation, InverseBurgers, InverseHeat
from vrba.runs import Silent

cole_hopf = problems.burgers.cole_hopf
pytestmark = pytest.mark.xdist_group("train")

PLACES = np.linspace(0, 2, 60)
RATE, SOURCE = 1.7, -0.4


class Sought(vrba.Problem):
    """`u' = -rate u + source`, `u(0) = 1`, with values of the exact solution."""

    noise: Any = eqx.field(default_factory=lambda: np.zeros(()))  # compiles once
    num_values: int = 60
    domain = vrba.Box(x=(0, 2))
    unknowns = {"source": vrba.Unknown(0.0), "rate": vrba.Unknown(0.5, True)}

    def equations(self, u, x, source, rate):
        return {"decay": u.x + rate * u - source}

    def conditions(self):
        x = PLACES[: self.num_values]
        noise = self.noise * np.random.default_rng(0).standard_normal(x.size)
        data = vrba.Data(x[:, None], exact(x) + noise)
        return [vrba.Ansatz(decay_ansatz), data]

    def reference(self):
        grid = np.linspace(0, 2, 33)
        true = {"rate": RATE, "source": SOURCE}
        return vrba.Reference({"x": grid}, exact(grid), unknowns=true)


def exact(x):
    level = SOURCE / RATE
    return level + (1 - level) * np.exp(-RATE * x)


def solve(problem, **options):
    recipe = tiny_recipe(optimizer=optim.LevenbergMarquardt(), max_steps=40)
    return vrba.solve(problem, recipe, callback=Silent(), **options)


@pytest.fixture(scope="module")
def solution():
    return solve(Sought())


def test_exact_data_determine_the_coefficients(solution):
    found = solution.unknowns
    assert list(found) == ["source", "rate"]
    assert found["rate"] == pytest.approx(RATE, rel=1e-4)
    assert found["source"] == pytest.approx(SOURCE, rel=1e-3)
    errors = solution.result["errors"]
    assert errors["unknown rate"] == pytest.approx(abs(found["rate"] / RATE - 1))
    assert f"rate = {found['rate']:.6g}" in solution.sentence()
    last = solution.record[-1]
    assert {"unknown rate", "unknown source"} <= set(last)


def test_noisy_data_give_the_standard_error_of_the_exact_model():
    """The standard error by the exact model's Jacobian, known field of two numbers."""
    noise = 0.01
    model = lambda z: (
        z[1] / z[0] + (1 - z[1] / z[0]) * jnp.exp(-z[0] * jnp.asarray(PLACES))
    )
    slopes = np.asarray(jax.jacobian(model)(jnp.array([RATE, SOURCE])))
    covariance = noise**2 * np.linalg.inv(slopes.T @ slopes)
    found = solve(Sought(np.asarray(noise))).unknowns
    away = np.array([found["rate"] - RATE, found["source"] - SOURCE])
    distance = away @ np.linalg.solve(covariance, away)
    assert distance < 16  # four standard errors; a fifth of the data are held out
    assert abs(away[0]) > 1e-6  # noise was there


def test_unknowns_are_saved_and_read(solution, tmp_path):
    path = solution.save(tmp_path / "run")
    again = vrba.Solution.load(path, Sought(), solution.recipe)
    assert again.unknowns == solution.unknowns


def test_a_true_value_of_no_unknown_is_refused_before_training():
    class Misspelt(Sought):
        pass

    wrong = vrba.Reference({"x": PLACES}, exact(PLACES), unknowns={"rat": RATE})
    Misspelt.reference = lambda self: wrong
    with pytest.raises(ValueError, match="true value of `rat`, but .* source, rate"):
        solve(Misspelt())


def test_positive_unknowns_stay_positive():
    one = vrba.Unknown(0.3, is_positive=True)
    values = [float(one.value(jnp.asarray(z))) for z in (-20.0, 0.0, 2.0)]
    assert 0 < values[0] < values[1] < values[2]
    assert values[1] == pytest.approx(0.3)
    free = vrba.Unknown(1.0, scale=10.0)
    assert float(free.value(jnp.asarray(-0.5))) == pytest.approx(-4.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"start": -1.0, "is_positive": True}, "positive unknown.*-1.0"),
        ({"start": float("nan")}, "`start` must be finite, got nan"),
        ({"start": 1.0, "scale": 0.0}, "`scale` must be positive, got 0.0"),
        ({"start": 1.0, "is_positive": True, "scale": 2.0}, "`scale` has no effect"),
    ],
)
def test_bad_unknowns_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        vrba.Unknown(**settings)


@pytest.mark.parametrize(
    ("unknowns", "message"),
    [
        ({"rate": 1.0}, "must be a dictionary such as"),
        ({"u": vrba.Unknown(1.0)}, "`u` is also a field or a coordinate"),
        ({"k": vrba.Unknown(1.0)}, r"then the unknowns, .*\(u, x, k\)"),
    ],
)
def test_unknowns_that_do_not_fit_are_refused(unknowns, message):
    class Wrong(vrba.Problem):
        domain = vrba.Box(x=(0, 2))

        def equations(self, u, x, rate):
            return {"decay": u.x + rate * u}

        def conditions(self):
            return [vrba.Ansatz(decay_ansatz)]

    Wrong.unknowns = unknowns
    with pytest.raises(ValueError, match=message):
        Formulation(Wrong())


def test_a_fifth_of_many_data_is_held_out():
    trainer = Trainer(Evaluator(Formulation(Sought()), tiny_recipe(), 0))
    pool, check = (part["data"][0][:, 0] for part in (trainer.pools, trainer.held_out))
    assert (pool.size, check.size) == (48, 12)
    together = np.sort(np.concatenate([pool, check]))
    np.testing.assert_array_equal(together, PLACES)
    assert trainer.init().ids["data"].size == 48


def test_few_data_are_trained_on_and_checked():
    trainer = Trainer(Evaluator(Formulation(Sought(num_values=49)), tiny_recipe(), 0))
    np.testing.assert_array_equal(
        np.sort(trainer.pools["data"][0][:, 0]),
        np.sort(trainer.held_out["data"][0][:, 0]),
    )


def test_data_take_part_in_selection():
    """Of two networks that meet the equation alike, that nearer to the data is kept."""
    trainer = Trainer(Evaluator(Formulation(Sought()), tiny_recipe(), 0))
    check = trainer.check(trainer.init())[1]
    parts = check.mean_squares
    assert float(parts["data"]) > 0.01
    assert float(check.score) == pytest.approx(
        float(parts["equations"] + parts["data"])
    )


@pytest.mark.parametrize("kind", [InverseBurgers, InverseHeat])
def test_sensor_noise_has_the_given_level(kind):
    exactly, noisy = (kind(noise=noise).conditions()[1] for noise in (0.0, 0.02))
    num_values = kind().num_places * kind().num_times
    assert exactly.values.size == num_values
    misread = noisy.values - exactly.values
    level = 0.02 * np.sqrt(np.mean(exactly.values**2))
    assert np.std(misread) == pytest.approx(level, rel=4 / np.sqrt(2 * num_values))
    other = kind(noise=0.02, noise_seed=1).conditions()[1]
    assert not np.any(other.values == noisy.values)
    with pytest.raises(ValueError, match="`noise` must be at least 0, got -1"):
        kind(noise=-1.0)
    with pytest.raises(ValueError, match="`noise_seed` must be at least 0, got -1"):
        kind(noise_seed=-1)


def heat(t, x):
    modes = ((1, 1.0), (3, 0.5))
    rate = lambda n: 0.1 * (n * jnp.pi) ** 2 + 1
    return sum(a * jnp.exp(-rate(n) * t) * jnp.sin(n * jnp.pi * x) for n, a in modes)


def test_heat_solves_its_equation_with_the_true_coefficients():
    problem, reference = InverseHeat(noise=0.0), InverseHeat().reference()
    terms = Formulation(problem).terms()
    true = {n: jnp.asarray(reference.unknowns[n]) for n in problem.unknowns}

    def jet(point):
        slopes = {(1, 0): jax.grad(heat), (0, 2): jax.grad(jax.grad(heat, 1), 1)}
        return {index: fn(*point) for index, fn in ({(0, 0): heat} | slopes).items()}

    for term in terms.values():
        for row in zip(*(part[:5] for part in term.sample(5, seed=0)), strict=True):
            point, numbers = map(jnp.asarray, row)
            found = term.evaluate({"u": jet(point).__getitem__}, point, numbers, true)
            assert max(abs(float(v)) for v in found.values()) < 1e-13
    on_grid = jax.vmap(jax.vmap(heat, (None, 0)), (0, None))
    own = on_grid(*(jnp.asarray(axis) for axis in reference.axes.values()))
    np.testing.assert_allclose(reference.values, own, atol=1e-14)


def test_inverse_burgers_is_burgers_with_the_true_coefficients():
    problem, forward = InverseBurgers(noise=0.0), Burgers()
    true = problem.reference().unknowns
    assert true == {"advection": 1.0, "viscosity": forward.viscosity}
    field = SimpleNamespace(t=0.3, x=-2.0, xx=5.0)
    u = type("U", (SimpleNamespace,), {"__mul__": lambda u, a: 0.7 * a})
    u.__rmul__ = u.__mul__
    parts = vars(field)
    ours = problem.equations(u(**parts), 0.1, 0.2, **true)
    assert ours == pytest.approx(forward.equations(u(**parts), 0.1, 0.2))
    data = problem.conditions()[1]
    for (t, x), value in zip(data.points[::97], data.values[::97], strict=True):
        single = cole_hopf(np.array([t]), np.array([x]), forward.viscosity, step=0.1)
        assert value == pytest.approx(float(single[0, 0]), abs=1e-12)


def test_documented_standard_error_of_the_viscosity():
    """The standard error by Cole and Hopf: in `s = advection t`, the equation has
    the viscosity `viscosity / advection`."""
    data = InverseBurgers().conditions()[1]
    t, x = (np.unique(column) for column in data.points.T)
    truth = lambda a, k: cole_hopf(a * t, x, k * 0.01 / np.pi / a, step=0.08).ravel()
    step = 1e-4
    slopes = np.stack(
        [
            (truth(1 + step, 1) - truth(1 - step, 1)) / (2 * step),
            (truth(1, 1 + step) - truth(1, 1 - step)) / (2 * step),
        ]
    )
    level = 0.01 * np.sqrt(np.mean(truth(1, 1) ** 2))
    errors = level * np.sqrt(np.diag(np.linalg.inv(slopes @ slopes.T)))
    assert errors[1] == pytest.approx(0.002, rel=0.3)
    assert errors[0] < errors[1]
