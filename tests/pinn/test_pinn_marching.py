"""Time marching: slabs of time that are solved one after another."""

import dataclasses
import itertools
import math
import signal
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import vrba
from tests.pinn.cases import Decay
from vrba.core import describe
from vrba.fields import downward_closure
from vrba.pinn import (
    Evaluator,
    Interval,
    March,
    MarchFiles,
    MarchState,
    Polish,
    Slabs,
    Solution,
    TimeMarching,
    Trainer,
    load_marched,
    marched_result,
    residual_shares,
    run_marching,
    train_slab,
    why_not_marched,
)
from vrba.problems import EQUATIONS, Formulation
from vrba.runs import (
    SOLVE,
    AbstractMeasurements,
    Logger,
    RunFolder,
    Silent,
    StopFlag,
    StopReason,
    describe_problem,
    load_header,
)

pytestmark = pytest.mark.xdist_group("marching")  # they share a run
END = 3.0
SMALL = TimeMarching(
    num_slabs=3,
    max_steps=20,
    tolerance=0.05,
    target=1e-4,
    polish=Polish(num_features=40, num_rounds=2, rows_per_column=4),
    max_sweeps=2,
)
EASY = TimeMarching(num_slabs=2, max_steps=2, tolerance=1e3, polish=None)


class Pendulum(vrba.Problem):
    """`u'' = -sin(u)`, `u(0) = 2`, `u'(0) = 0`."""

    domain = vrba.Box(t=(0, END))

    def equations(self, u, t):
        return {"motion": u.tt + jnp.sin(u.value)}

    def conditions(self):
        return [vrba.Initial(2.0), vrba.Initial(0.0, order=1)]


def recipe(**settings):
    chosen = {
        "model": vrba.MLP(width=6, depth=2),
        "num_points": 64,
        "pool_size": 256,
        "num_held_out": 64,
        "max_steps": 5,
        "exact_conditions": True,
        "polish": None,
    }
    return vrba.Recipe(**(chosen | settings))


def evaluator_of(problem, **settings):
    return Evaluator(Formulation(problem), recipe(**settings), 0)


TRAINER = Trainer(evaluator_of(Pendulum()))


ALL = ({"start": 0.0, "end": END},)


class Nothing(AbstractMeasurements):
    """Measure nothing."""

    def start(self, planned_seconds, record):
        pass

    def entry(self, state, check, loss, seconds):
        return {}

    def drawn_points(self, state):
        return None


class StopAfter(Silent):
    """Ask to stop, as by Ctrl-C, at a report."""

    def __init__(self, number):
        self.number, self.count = number, 0

    def on_check(self, entry, seconds_left):
        self.count += 1
        if self.count == self.number:
            signal.raise_signal(signal.SIGINT)


def marched(folder=None, callback=None, settings=SMALL, logger=None, **options):
    return run_marching(
        TRAINER,
        TRAINER.evaluator.initial_params(),
        settings,
        None if folder is None else RunFolder(folder),
        logger or Logger(Nothing(), callback or Silent(), None),
        step=5,
        seconds=1.0,
        reference=None,
        **({"max_seconds": math.inf, "tolerance": 0.1} | options),
    )


@pytest.fixture(scope="module")
def unbroken():
    return marched()


def values_at(found, times):
    evaluator, params = found.evaluator, found.params
    rate = evaluator.evaluate(params, _both, jnp.asarray(times)[:, None])
    return np.stack([rate["u"], rate["rate"]])


def _both(u, t):
    return {"u": u.value, "rate": u.t}


def exact(times):
    swing = lambda t, y: [y[1], -np.sin(y[0])]
    options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-13}
    return solve_ivp(swing, (0, END), [2.0, 0.0], t_eval=times, **options).y


def test_the_solution_agrees_with_a_method_of_high_order(unbroken):
    times = np.linspace(0, END, 61)
    found = unbroken.found
    error = np.linalg.norm(values_at(found, times) - exact(times))
    relative = error / np.linalg.norm(exact(times))
    assert relative < 1e-7
    result = found.result
    assert found.is_selected and result["marching"]["is_complete"]
    assert relative < 10 * result["estimated_error"] and result["estimate_is_reliable"]
    assert unbroken.stop_reason == StopReason.tolerance
    assert len(result["marching"]["sweeps"]) == 1 < SMALL.max_sweeps


def test_the_slabs_cover_the_interval_without_jumps(unbroken):
    slabs = unbroken.found.result["marching"]["slabs"]
    assert slabs[0]["start"] == 0 and slabs[-1]["end"] == END
    inner = [one["end"] for one in slabs[:-1]]
    assert inner == [one["start"] for one in slabs[1:]]
    before, after = (
        values_at(unbroken.found, np.asarray(inner) + shift) for shift in (-1e-9, 1e-9)
    )
    np.testing.assert_allclose(before, after, atol=1e-6)


def test_a_loaded_solution_is_the_same_function(unbroken, tmp_path):
    trained, found = TRAINER.evaluator.initial_params(), unbroken.found
    manifest = {
        "kind": SOLVE,
        "problem": describe_problem(Pendulum()),
        "recipe": describe(TRAINER.recipe),
        "seed": 0,
        "block_size": TRAINER.evaluator.block_size,
        "preparation": TRAINER.evaluator.preparation.description(),
        "minutes": None,
    }
    result = {"residual_l2": 0.0, "before_polish": {}, "manifest": manifest}
    first = Solution(TRAINER.evaluator, trained, trained, [], result)
    ends = found.params, found.params
    result = result | found.result
    solution = Solution(found.evaluator, *ends, [], result, None, first)
    solution.save(tmp_path)
    times = np.linspace(0, END, 7)
    loaded = Solution.load(tmp_path, Pendulum())
    again = load_marched(RunFolder(tmp_path), TRAINER.evaluator)
    assert jax.tree.all(jax.tree.map(np.array_equal, again.held_out, found.held_out))
    np.testing.assert_array_equal(loaded(times), solution(times))
    np.testing.assert_array_equal(solution(times), values_at(found, times)[0])
    np.testing.assert_array_equal(loaded.before_polish(times), first(times))


@pytest.mark.parametrize("report", [2, 3])
def test_a_stage_that_was_stopped_goes_on_bit_for_bit(unbroken, tmp_path, report):
    stopped = marched(tmp_path, StopAfter(report))
    assert stopped.stop_reason == StopReason.interrupted
    found = marched(tmp_path).found
    times = np.linspace(0, END, 7)
    expected = values_at(unbroken.found, times)
    np.testing.assert_array_equal(values_at(found, times), expected)
    assert found.result["marching"] == unbroken.found.result["marching"]
    again = marched(tmp_path, StopAfter(1)).found  # nothing is left to do
    np.testing.assert_array_equal(values_at(again, times), expected)


def test_a_trained_slab_is_kept_when_it_is_stopped(tmp_path):
    marched(tmp_path, StopAfter(1), EASY)
    header = load_header(RunFolder(tmp_path).checkpoint("marching"))
    assert header["slabs"] == [] and len(header["trained"]) == 1
    assert header["trained"][0]["steps"] == header["attempts"][0]["steps"]


def test_slabs_are_logged_once(tmp_path):
    folder = RunFolder(tmp_path)
    first, second = (Logger(Nothing(), Silent(), folder) for _ in range(2))
    first.add({"step": 5, "seconds": 1.0, "message": "stuck"})
    end = marched(tmp_path, settings=EASY, logger=first)
    first.add({"step": 5, "polish_step": 99, "seconds": 2.0, "message": "lost"})
    marched(tmp_path, settings=EASY, logger=second)
    attempts = end.found.result["marching"]["attempts"]
    places = [entry.get("polish_step", 0) for entry in folder.record()]
    assert places == list(range(len(attempts) + 1)) and second.record == folder.record()


def test_a_slab_that_is_stuck_is_halved_until_it_is_too_short():
    hard = dataclasses.replace(EASY, num_slabs=1, smallest=0.4, tolerance=1e-12)
    end = marched(settings=hard)
    assert end.stop_reason == StopReason.short_slab and not end.found.is_selected
    marching = end.found.result["marching"]
    assert marching["reached"] == 0.0 and not marching["is_complete"]
    lengths = [one["end"] - one["start"] for one in marching["attempts"]]
    assert lengths == [END, END / 2]


def marched_by_ticks(settings, max_seconds):
    """The state after marching with a clock that ticks once a look."""
    slabs, ticks = Slabs.of(TRAINER.evaluator), itertools.count()
    files, no_report = MarchFiles(None, slabs, settings, {}), lambda *_: None
    clock, flag = lambda: float(next(ticks)), StopFlag()
    limits = 0.0, max_seconds, None
    march = March(slabs, settings, files, no_report, flag, clock, *limits)
    return march.run(MarchState(END / 2))


def test_a_slab_that_is_stuck_has_a_time_limit():
    hard = dataclasses.replace(EASY, max_steps=10_000, tolerance=1e-12)
    state = marched_by_ticks(hard, 9.0)
    assert state.stop_reason == StopReason.time and state.attempts == ()


def test_a_trained_slab_is_kept_without_time_for_the_linear_stage():
    settings = dataclasses.replace(EASY, polish=SMALL.polish)
    state = marched_by_ticks(settings, 9.0)
    assert state.stop_reason == StopReason.time and not state.trained
    assert [one["change"] for one in state.slabs] == [None]
    assert [one["is_stuck"] for one in state.attempts] == [False]


def resting(angle):
    """A network that is constant: at rest, an angle of 0 or pi solves the equation."""
    params = TRAINER.evaluator.initial_params()
    fill = lambda leaf: jnp.full_like(leaf, angle * (leaf.shape == (1,)))
    return eqx.combine(jax.tree.map(fill, params), TRAINER.evaluator.skeleton)


def test_the_score_counts_the_start_and_jumps():
    slabs, plain = Slabs.of(TRAINER.evaluator), dataclasses.replace(SMALL, polish=None)
    ends = [(0.0, 1.0), (1.0, END)]
    described = tuple({"start": start, "end": end} for start, end in ends)
    state = MarchState(1.0, described, (resting(np.pi), resting(0.0)))
    trained = TRAINER.evaluator.initial_params()
    found = marched_result(TRAINER, trained, slabs, plain, state, 5, None)
    marching = found.result["marching"]
    assert marching["score"] == pytest.approx((np.pi - 2) ** 2 + np.pi**2, rel=1e-12)
    assert marching["largest_jump"] == pytest.approx(1.0, rel=1e-12)
    assert set(found.held_out) == {EQUATIONS, "initial", "initial d1"}
    shares = residual_shares(found.evaluator, found.params, found.held_out)
    least = (np.pi - 2) / np.sqrt(2 * np.pi**2 + 4)  # u = pi at the start, and inside
    assert shares["initial"] > least and shares[EQUATIONS] < 1e-12
    start = float(TRAINER.check_params(trained).score)
    assert found.is_selected == (marching["score"] < start)


@pytest.mark.parametrize("noise", [1e-5, 1e-3])
def test_an_estimate_below_its_noise_is_uncertain(noise):
    sweep = {"estimate": 1e-4, "noise": noise, "expected": 1e-4, "is_accepted": False}
    slabs, state = Slabs.of(TRAINER.evaluator), MarchState(END, ALL, (resting(0.0),))
    state = state.with_(sweeps=(sweep,))
    trained = TRAINER.evaluator.initial_params()
    result = marched_result(TRAINER, trained, slabs, EASY, state, 5, None).result
    assert result["estimated_error"] == 1e-4
    assert result["estimate_is_reliable"] == (noise < 1e-4)


def test_a_slab_has_the_equations_on_its_own_times():
    slabs = Slabs.of(TRAINER.evaluator)
    interval = Interval(1.0, 1.5)
    evaluator = slabs.evaluator(interval)
    sample = slabs.sampler(interval, slabs.first_values())
    points, numbers = sample(EQUATIONS, 32, seed=0)
    assert np.all((points >= 1.0) & (points <= 1.5))
    params = evaluator.initial_params()
    rows = jnp.asarray(points), jnp.asarray(numbers)
    found = evaluator.residual(params, EQUATIONS, rows)
    expected = evaluator.evaluate(params, Pendulum().equations, rows[0])["motion"]
    np.testing.assert_allclose(found[:, 0], 0.5**2 * expected, rtol=1e-12)
    start, values = sample("initial", 1, seed=0)
    assert start == [[1.0]] and values == [[2.0]]


class Driven(Pendulum):
    """A field whose boundary moves in time."""

    domain = vrba.Box(t=(0, 1), x=(0, 1))

    def equations(self, u, t, x):
        return {"heat": u.t - u.xx}

    def conditions(self):
        where = lambda t, x: x < 0.5 + t
        return [vrba.Initial(0.0), vrba.Dirichlet(0.0, on="x", where=where)]


class Waves(Driven):
    """A rate is missing."""

    def equations(self, u, t, x):
        return {"wave": u.tt - u.xx}

    def conditions(self):
        return [vrba.Initial(0.0), vrba.Dirichlet(0.0, on="x")]


class Warmed(Driven):
    """A plate of two materials, or with a given mean."""

    added: Any

    def conditions(self):
        return [vrba.Initial(0.0), self.added]


MOVING = Warmed(vrba.Interface(lambda t, x: x - 0.3 - 0.2 * t, (1.0, 2.0)))
RESTING = Warmed(vrba.Interface(lambda t, x: x - 0.3, (1.0, 2.0)))
REASONS = {
    "no initial": Decay(),
    "start an evolution": Waves(),
    "change along `t`": Driven(),
    "conditions change along": MOVING,
    "a mean over all": Warmed(vrba.Mean(0.0, at_each=())),
    "over all values": Warmed(vrba.Mean(0.0, at_each="x")),
}


@pytest.mark.parametrize("text", REASONS)
def test_problems_without_an_evolution_are_not_marched(text):
    assert text in why_not_marched(evaluator_of(REASONS[text]))
    assert why_not_marched(TRAINER.evaluator) == ""


@pytest.mark.parametrize("problem", [RESTING, Warmed(vrba.Mean(0.0))])
def test_interfaces_and_means_that_rest_are_marched(problem):
    assert why_not_marched(evaluator_of(problem)) == ""


class Quenched(Driven):
    """A boundary that disagrees with the initial value."""

    def conditions(self):
        return [vrba.Initial(1.0), vrba.Dirichlet(0.0, on="x")]


def test_terms_of_training_remain_without_exact_initial_values():
    known = evaluator_of(Quenched())
    assert known.formulation.exact.names == ()
    assert list(Slabs.of(known).whole.terms) == list(known.terms)


class Root(vrba.Problem):
    """`u' = 1 / u`, `u(0) = 2`: `u = sqrt(4 + 2 t)`, and `u = 0` has no residual."""

    domain = vrba.Box(t=(0, 1))

    def equations(self, u, t):
        return {"root": u.t - 1 / u}

    def conditions(self):
        return [vrba.Initial(2.0)]


def test_the_residual_of_a_slab_is_relative_where_zero_is_not_admissible():
    slabs = Slabs.of(evaluator_of(Root()))
    done = train_slab(
        slabs,
        slabs.interval,
        slabs.whole.initial_params(),
        slabs.first_values(),
        TimeMarching(max_steps=1, tolerance=1e-12, polish=None),
        is_stopped=lambda: False,
        is_late=lambda: False,
    )
    assert done is not None
    start = slabs.whole.fields(done.params, jnp.zeros((1, 1)))["u"]
    assert 0 < abs(float(start[0]) - 2) / 2 <= done.residual < np.inf


def test_orders_of_derivatives_are_known():
    slabs = Slabs.of(TRAINER.evaluator)
    assert slabs.time_order == 2
    assert (2,) in downward_closure(slabs.whole.terms[EQUATIONS].residual.indices)


def test_slabs_have_a_linear_stage_if_the_run_has_one():
    polish = Polish()
    has = lambda *run: SMALL.as_in_run(*run).polish is not None
    assert has(polish, "float64", None, 100) and has(polish, "float64", 60.0, 100)
    assert not has(None, "float64", None, 100)
    assert not has(polish, "float32", None, 100)
    assert not has(polish, "float64", 0.1, 100)


MISTAKES = {"num_slabs": 0, "smallest": 2.0, "tolerance": -1.0}


@pytest.mark.parametrize("name", MISTAKES)
def test_wrong_settings_are_refused(name):
    with pytest.raises(vrba.InputError, match=name):
        TimeMarching(**{name: MISTAKES[name]})


class Lorenz(vrba.Problem):
    """A chaotic system: training on the whole interval is stuck."""

    fields = ("x", "y", "z")
    domain = vrba.Box(t=(0, 1))

    def equations(self, x, y, z, t):
        return {
            "x": x.t - 10 * (y - x),
            "y": y.t - x * (28 - z) + y,
            "z": z.t - x * y + 8 / 3 * z,
        }

    def conditions(self):
        start = {"x": -8.0, "y": 7.0, "z": 27.0}
        return [vrba.Initial(value, field=name) for name, value in start.items()]


def stuck_recipe(max_steps=60):
    return vrba.default_recipe(
        Lorenz(),
        num_points=256,
        pool_size=1024,
        num_held_out=512,
        max_steps=max_steps,
        polish=None,
        time_marching=TimeMarching(num_slabs=5, max_steps=20),
    )


@pytest.mark.slow
def test_a_run_that_is_stuck_marches_in_time(tmp_path):
    found = vrba.solve(Lorenz(), stuck_recipe(), run=tmp_path / "a", callback=Silent())
    assert any("Solving one slab" in e.get("message", "") for e in found.record)
    marching = found.result["marching"]
    assert marching["is_complete"] and len(marching["slabs"]) >= 4
    assert "slabs of time" in found.sentence() or "errors" not in found.result
    times = np.linspace(0, 1, 21)
    slope = lambda t, u: [
        10 * (u[1] - u[0]),
        u[0] * (28 - u[2]) - u[1],
        u[0] * u[1] - 8 / 3 * u[2],
    ]
    exact = solve_ivp(
        slope, (0, 1), [-8, 7, 27], "DOP853", times, rtol=1e-10, atol=1e-10
    ).y
    error = lambda one: np.linalg.norm(np.stack([*one(times).values()]) - exact)
    before = found.before_polish
    assert error(found) < 1e-2 * np.linalg.norm(exact) < error(before)
    loaded = Solution.load(tmp_path / "a", Lorenz())
    np.testing.assert_array_equal(loaded(times)["z"], found(times)["z"])
    # Stopped before it was stuck, then resumed.
    vrba.solve(Lorenz(), stuck_recipe(30), run=tmp_path / "b", callback=Silent())
    again = vrba.solve(
        Lorenz(), stuck_recipe(), run=tmp_path / "b", resume=True, callback=Silent()
    )
    np.testing.assert_array_equal(again(times)["z"], found(times)["z"])
