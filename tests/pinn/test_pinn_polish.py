"""The linear stage: how accurate it is, what it says of it, and how it goes on."""

import dataclasses
import math
import shutil
import signal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from tests.pinn.cases import Decay, Edge, tiny_recipe
from vrba import InputError
from vrba.core import use_precision
from vrba.optim import LevenbergMarquardt
from vrba.pinn import (
    Choice,
    Evaluator,
    Polish,
    PolishDraws,
    Polisher,
    Solution,
    Trainer,
    attempt_shot,
    best_of,
    error_estimate,
    is_converged,
    limits_of_attempts,
    meets_tolerance,
    why_left_out,
)
from vrba.problems import Formulation
from vrba.runs import POLISH_STEP, RunFolder, Silent, load_header

pytestmark = pytest.mark.xdist_group("polish")

TINY = Polish(num_features=20, max_steps=3, num_rounds=2, pool_factor=2)


def recipe(polish=TINY, **settings):
    settings = {"optimizer": LevenbergMarquardt(), "max_steps": 6} | settings
    return tiny_recipe(polish=polish, **settings)


class Rate(vrba.Problem):
    """`u' = -rate u` with an unknown rate, and data of `exp(-1.5 x)` with noise."""

    noise: float = 0.0
    unknowns = {"rate": vrba.Unknown(1.0)}
    domain = vrba.Box(x=(0, 2))

    def equations(self, u, x, rate):
        return {"decay": u.x + rate * u}

    def conditions(self):
        x = np.linspace(0, 2, 40)
        noise = self.noise * np.random.default_rng(0).standard_normal(x.size)
        return [vrba.Data(x[:, None], np.exp(-1.5 * x) + noise)]

    def reference(self):
        return vrba.Reference.from_function(
            self.domain, lambda x: jnp.exp(-1.5 * x), (65,)
        )


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "solved"
    return vrba.solve(Decay(), recipe(), run=path, callback=Silent()), path


def test_a_linear_problem_is_solved_to_many_digits(solved):
    solution, _ = solved
    before = solution.before_polish.result["errors"]["selected"]
    after = solution.result["errors"]["selected"]
    assert after < 1e-9 and after < 1e-5 * before
    x = np.linspace(0, 2, 9)
    np.testing.assert_allclose(solution(x), np.exp(-x), rtol=1e-8)
    np.testing.assert_allclose(
        solution.evaluate(lambda u, x: u.xx, x), np.exp(-x), atol=1e-6
    )


def test_the_estimate_is_close_to_the_error(solved):
    """Before each step: the distance to the least damped step is the error."""
    solution, _ = solved
    steps = solution.result["polish"]["steps"]
    errors = [solution.before_polish.result["errors"]["selected"]]
    errors += [step["error"] for step in steps[:-1]]
    for step, error in zip(steps, errors, strict=True):
        bound = max(step["estimate"], step["noise"])
        assert error / 10 < bound
        if step["noise"] < 0.1 * step["estimate"]:
            np.testing.assert_allclose(step["estimate"], error, rtol=0.5)


def test_the_log_holds_every_step_and_the_sentence_both_errors(solved):
    solution, path = solved
    steps = solution.result["polish"]["steps"]
    entries = [entry for entry in solution.record if POLISH_STEP in entry]
    assert [entry[POLISH_STEP] for entry in entries] == list(range(1, len(steps) + 1))
    assert entries[-1]["error"] == solution.result["errors"]["selected"]
    assert RunFolder(path).record()[-1]["error"] == entries[-1]["error"]
    assert "before the linear stage" in solution.sentence()
    assert "estimated relative error" in solution.sentence()


def test_a_loaded_solution_is_the_same_function(solved):
    solution, path = solved
    x = np.linspace(0, 2, 9)
    loaded = Solution.load(path, Decay())
    np.testing.assert_array_equal(loaded(x), solution(x))
    assert loaded.result["score"] == solution.result["score"]
    before, expected = loaded.before_polish, solution.before_polish
    np.testing.assert_array_equal(before(x), expected(x))
    assert before.errors()["selected"] == expected.result["errors"]["selected"]
    assert before.result["score"] == expected.result["score"]
    assert "linear stage" not in before.sentence()


def test_a_copy_of_the_solution_can_be_saved(solved, tmp_path):
    solution, _ = solved
    path = solution.save(tmp_path / "copy")
    x = np.linspace(0, 2, 9)
    loaded = Solution.load(path, Decay())
    np.testing.assert_array_equal(loaded(x), solution(x))
    np.testing.assert_array_equal(loaded.before_polish(x), solution.before_polish(x))


class Logistic(vrba.Problem):
    """`u' = u (1 - u)`, `u(0) = 0.1`: not linear, so it takes several steps."""

    domain = vrba.Box(x=(0, 4))

    def equations(self, u, x):
        return {"growth": u.x - u * (1 - u)}

    def conditions(self):
        return [vrba.Ansatz(lambda x, N: 0.1 + x * N)]

    def reference(self):
        exact = lambda x: 1 / (1 + 9 * jnp.exp(-x))
        return vrba.Reference.from_function(self.domain, exact, (65,))


class StopAfter(Silent):
    """Die after a step of the linear stage."""

    def __init__(self, step):
        self.step = step

    def on_check(self, entry, seconds_left):
        if entry.get(POLISH_STEP) == self.step:
            raise KeyboardInterrupt


class DieAt(Silent):
    """Die after a step of training."""

    def __init__(self, step):
        self.step = step

    def on_check(self, entry, seconds_left):
        if entry["step"] == self.step and POLISH_STEP not in entry:
            raise KeyboardInterrupt


class Flagged(Silent):
    """Send Ctrl-C to this process at a step of training."""

    def __init__(self, step):
        self.step = step

    def on_check(self, entry, seconds_left):
        if entry["step"] == self.step:
            signal.raise_signal(signal.SIGINT)


class FlaggedAfter(Silent):
    """Send Ctrl-C to this process after a step of the linear stage."""

    def __init__(self, step):
        self.step = step

    def on_check(self, entry, seconds_left):
        if entry.get(POLISH_STEP) == self.step:
            signal.raise_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def unbroken():
    return vrba.solve(Logistic(), recipe(max_steps=9), callback=Silent())


def test_steps_converge_quadratically(unbroken):
    steps = unbroken.result["polish"]["steps"]
    estimates = [step["estimate"] for step in steps]
    assert len(steps) > 1 and steps[0]["is_accepted"]
    assert steps[0]["error"] < 10 * estimates[0] ** 2
    assert unbroken.result["errors"]["selected"] < 1e-9


@pytest.mark.parametrize("step", [1, 2])
def test_a_stage_that_was_stopped_goes_on_bit_for_bit(unbroken, tmp_path, step):
    chosen = recipe(max_steps=9)
    with pytest.raises(KeyboardInterrupt):
        vrba.solve(Logistic(), chosen, run=tmp_path, callback=StopAfter(step))
    found = vrba.solve(Logistic(), run=tmp_path, resume=True, callback=Silent())
    same = jax.tree.map(np.array_equal, found.params, unbroken.params)
    assert all(jax.tree.leaves(same))
    assert without_times(found.record) == without_times(unbroken.record)
    steps = found.result["polish"]["steps"]
    assert without_times(steps) == without_times(unbroken.result["polish"]["steps"])


def without_times(entries):
    times = ("seconds", "step_seconds", "parts")
    return [{k: v for k, v in e.items() if k not in times} for e in entries]


def test_a_stopped_step_begins_anew(unbroken, tmp_path, monkeypatch):
    """Ctrl-C ends a step after the round of points; a resume repeats the step."""
    add_round = Polisher.add_round

    def stopped(self, state, rounds):
        signal.raise_signal(signal.SIGINT)
        return add_round(self, state, rounds)

    with monkeypatch.context() as patch:
        patch.setattr(Polisher, "add_round", stopped)
        options = {"run": tmp_path, "callback": Silent()}
        found = vrba.solve(Logistic(), recipe(max_steps=9), **options)
    assert found.result["stop_reason"] == "interrupted"
    assert found.before_polish is None  # the trained network is there
    found = vrba.solve(Logistic(), run=tmp_path, resume=True, callback=Silent())
    same = jax.tree.map(np.array_equal, found.params, unbroken.params)
    assert all(jax.tree.leaves(same))


def test_a_polished_network_is_not_lost_while_its_run_is_trained_further(
    solved, tmp_path
):
    """Neither one whose stage ended, nor one whose stage was stopped."""
    path = shutil.copytree(solved[1], tmp_path / "ended")
    x = np.linspace(0, 2, 9)
    options = {"resume": True, "callback": DieAt(9)}
    with pytest.raises(KeyboardInterrupt):
        vrba.solve(Decay(), recipe(max_steps=12), run=path, **options)
    loaded = Solution.load(path, Decay())
    np.testing.assert_array_equal(loaded(x), solved[0](x))
    assert loaded.result["estimated_error"] == solved[0].result["estimated_error"]
    assert "estimated relative error" in loaded.sentence()

    path = tmp_path / "stopped"
    chosen = recipe(max_steps=9)
    first = vrba.solve(Logistic(), chosen, run=path, callback=FlaggedAfter(1))
    assert first.result["stop_reason"] == "interrupted" and first.before_polish
    options = {"resume": True, "callback": Flagged(12)}
    found = vrba.solve(Logistic(), recipe(max_steps=20), run=path, **options)
    assert found.result["stop_reason"] == "interrupted"
    np.testing.assert_array_equal(found(x), first(x))
    np.testing.assert_array_equal(Solution.load(path, Logistic())(x), first(x))


def test_more_training_starts_another_stage(solved, tmp_path):
    few = vrba.solve(Decay(), recipe(max_steps=3), run=tmp_path, callback=Silent())
    assert few.result["step"] == 3
    more = vrba.solve(Decay(), recipe(), run=tmp_path, resume=True, callback=Silent())
    same = jax.tree.map(np.array_equal, more.params, solved[0].params)
    assert more.result["step"] == 6 and all(jax.tree.leaves(same))
    later = [entry["seconds"] for entry in more.record if entry["step"] > 3]
    assert min(later) >= few.result["seconds"] - 1e-3  # the first stage counts
    assert load_header(RunFolder(tmp_path).checkpoint("polished"))["step"] == 6


def test_penalties_and_unknown_coefficients():
    solution = vrba.solve(Rate(), recipe(max_steps=15), callback=Silent())
    assert solution.result["polish"]["is_selected"]
    assert abs(solution.unknowns["rate"] - 1.5) < 1e-7
    assert solution.result["errors"]["selected"] < 1e-7


def test_the_estimate_includes_the_noise_of_data():
    """The noise of 40 values moves one or two numbers, so its effect is random: the
    estimate is right up to a factor."""
    solution = vrba.solve(Rate(0.02), recipe(max_steps=15), callback=Silent())
    error = solution.result["errors"]["selected"]
    assert error > 1e-4
    assert error / 5 < solution.result["estimated_error"] < 5 * error
    exact = vrba.solve(Rate(), recipe(max_steps=15), callback=Silent())
    assert exact.result["estimated_error"] < 1e-6


def test_a_network_without_layers_and_one_that_is_too_large_for_a_tangent():
    few = eqx.tree_at(lambda p: p.max_columns, TINY, 30)
    solution = vrba.solve(Edge(), recipe(few), callback=Silent())
    assert solution.result["polish"]["steps"][0]["num_columns"] == 20
    plain = eqx.nn.MLP(1, 1, 4, 1, activation=jnp.tanh, key=jax.random.key(0))
    solution = vrba.solve(Decay(), recipe(model=plain), callback=Silent())
    assert solution.result["errors"]["selected"] < 1e-6


@pytest.mark.parametrize(
    ("settings", "minutes", "text"),
    [
        ({"dtype": "float32"}, None, "it needs float64, not float32"),
        ({}, 0.01, "it needs 0.5 minutes in all"),
    ],
)
def test_a_stage_that_is_left_out_says_why(settings, minutes, text):
    chosen = recipe(max_steps=2, **settings)
    solution = vrba.solve(Decay(), chosen, minutes=minutes, callback=Silent())
    assert "polish" not in solution.result
    assert text in solution.sentence()


def test_without_settings_there_is_no_stage():
    solution = vrba.solve(Decay(), recipe(None, max_steps=2), callback=Silent())
    assert "polish" not in solution.result and "note" not in solution.result


def test_a_stage_with_more_features_goes_on_bit_for_bit(tmp_path):
    settings = Polish(num_features=6, max_columns=25, num_rounds=2, max_growths=2)
    chosen = recipe(settings, model=vrba.MLP(width=12, depth=2))
    whole = vrba.solve(Edge(), chosen, callback=Silent())
    grown = [step["num_growths"] for step in whole.result["polish"]["steps"]]
    assert max(grown) > 0
    last = grown.index(max(grown))  # killed when the features were just added
    with pytest.raises(KeyboardInterrupt):
        vrba.solve(Edge(), chosen, run=tmp_path, callback=StopAfter(last))
    found = vrba.solve(Edge(), run=tmp_path, resume=True, callback=Silent())
    assert without_times(found.record) == without_times(whole.record)
    same = jax.tree.map(np.array_equal, found.params, whole.params)
    assert all(jax.tree.leaves(same))


@pytest.mark.slow
def test_training_goes_on_if_a_stage_gains_nothing(monkeypatch):
    """It uses the time that the stage has left."""
    monkeypatch.setattr(Choice, "is_accepted", property(lambda self: False))
    few = Polish(num_features=3, num_rounds=1, has_tangent=False, time_share=0.9)
    chosen = recipe(few, max_steps=10**6, check_every=10)
    found = vrba.solve(Logistic(), chosen, minutes=0.4, callback=Silent())
    places = [e["step"] for e in found.record if POLISH_STEP in e]
    assert len(set(places)) >= 2 and places == sorted(places)
    assert found.result["stop_reason"] == "no_gain" and found.before_polish is None


def test_training_does_not_go_on_when_all_of_its_steps_were_made(monkeypatch):
    """Although the stage gains nothing and leaves time."""
    monkeypatch.setattr(Choice, "is_accepted", property(lambda self: False))
    few = Polish(num_features=3, num_rounds=1, has_tangent=False)
    chosen = recipe(few, max_steps=3)
    found = vrba.solve(Logistic(), chosen, minutes=10, callback=Silent())
    assert [e["step"] for e in found.record if POLISH_STEP in e] == [3]
    assert found.result["stop_reason"] == "no_gain"


def test_the_least_time_of_the_stage_is_enough():
    """The message names a time with which the stage is not left out."""
    for num_params in (0, 1120, 1341, 2400, 4999):
        text = why_left_out(Polish(), "float64", 0.01, num_params)
        minutes = float(text.split()[-4])
        assert why_left_out(Polish(), "float64", minutes, num_params) == ""
        assert why_left_out(Polish(), "float64", minutes - 0.02, num_params)


def test_features_are_added_when_a_step_is_not_taken():
    """Few features and no tangent: the basis is the limit until it grows."""
    settings = Polish(num_features=6, max_columns=60, num_rounds=2, max_growths=2)
    small = eqx.tree_at(lambda p: p.max_columns, settings, 25)
    big = vrba.MLP(width=12, depth=2)
    solution = vrba.solve(Edge(), recipe(small, model=big), callback=Silent())
    columns = [step["num_columns"] for step in solution.result["polish"]["steps"]]
    assert columns[0] == 6 and max(columns) in (12, 24)


def test_the_budget_is_shared_with_training():
    problem = vrba.problems.Burgers()
    default = vrba.default_recipe(problem, 2)
    alone = vrba.default_recipe(problem, 2, polish=None)
    assert default.model == vrba.default_recipe(problem, 1, polish=None).model
    assert default.model != alone.model


class Small(vrba.Problem):
    """`u' = -u`, `u(0) = size`: the untrained network is of another size."""

    size: float = 1.0
    domain = vrba.Box(x=(0, 2))

    def equations(self, u, x):
        return {"decay": u.x + u}

    def conditions(self):
        return [vrba.Ansatz(lambda x, N: self.size + x * N)]

    def reference(self):
        exact = lambda x: self.size * jnp.exp(-x)
        return vrba.Reference.from_function(self.domain, exact, (65,))


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_the_estimate_is_relative_to_the_solution_not_to_the_start(size):
    chosen = recipe(max_steps=1)
    step = vrba.solve(Small(size), chosen, callback=Silent()).result["polish"]["steps"]
    before = Small(size).reference()
    trained = recipe(None, max_steps=1)
    error = vrba.solve(Small(size), trained, callback=Silent()).result["errors"]
    assert before.values.max() < 1.1 * size
    # Norms over random points and over a grid differ by some per cent.
    np.testing.assert_allclose(step[0]["estimate"], error["selected"], rtol=0.1)


def test_a_stage_of_another_problem_does_not_count(tmp_path):
    """The parameters and the steps are the same, but the equation is not."""
    chosen = recipe(max_steps=3)
    vrba.solve(Decay(), chosen, run=tmp_path, callback=Silent())
    options = {"run": tmp_path, "resume": True, "allow_change": True}
    found = vrba.solve(Decay(1.2), callback=Silent(), **options)
    assert found.result["errors"]["selected"] < 1e-6


def test_equations_on_a_finite_set_have_one_round():
    """Other rounds would repeat the rows, and hide the difference of the halves."""
    points = vrba.PointCloud(np.linspace(0, 2, 200)[:, None], ["x"])

    class Cloud(Decay):
        domain = points

    with use_precision("float64"):
        trainer = Trainer(Evaluator(Formulation(Cloud()), recipe(), 0))
        polisher = Polisher(
            TINY, trainer.evaluator, trainer.init().params, trainer.pools
        )
        _, info = polisher.step(polisher.init())
    assert TINY.num_rounds > 1 and len(info.rounds) == 1


def test_more_features_than_columns_are_refused():
    with pytest.raises(InputError, match="raise `max_columns` too"):
        Polish(num_features=8000)


def test_a_recipe_needs_settings_of_the_stage():
    with pytest.raises(InputError, match="`polish` must be"):
        vrba.default_recipe(Decay(), 2, polish=True)


# A tolerance.


POOR = Polish(num_features=3, max_steps=1, num_rounds=1, has_tangent=False)


@pytest.fixture
def no_shot(monkeypatch):
    monkeypatch.setattr("vrba.pinn.stages._SHOT_DIM", 0)


def test_attempts_that_are_over_are_not_repeated(no_shot, tmp_path):
    """A run killed in its second attempt goes on there, bit for bit."""
    chosen = recipe(POOR, max_steps=162)
    options = {"tolerance": 1e-12, "callback": Silent()}
    whole = vrba.solve(Logistic(), chosen, run=tmp_path / "whole", **options)
    places = [e["step"] for e in whole.record if POLISH_STEP in e]
    assert places == [40, 81, 162]
    killed = tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        vrba.solve(Logistic(), chosen, run=killed, tolerance=1e-12, callback=DieAt(60))
    found = vrba.solve(Logistic(), run=killed, resume=True, callback=Silent())
    assert without_times(found.record) == without_times(whole.record)
    same = jax.tree.map(np.array_equal, found.params, whole.params)
    assert all(jax.tree.leaves(same))
    again = vrba.solve(Logistic(), run=killed, resume=True, callback=Silent())
    assert without_times(again.record) == without_times(whole.record)


def test_a_stopped_attempt_keeps_the_result_of_an_earlier_one(no_shot, tmp_path):
    options = {"tolerance": 1e-15, "run": tmp_path, "callback": Flagged(60)}
    some = Polish(num_features=6, max_steps=1, num_rounds=2)
    found = vrba.solve(Logistic(), recipe(some, max_steps=162), **options)
    assert found.result["stop_reason"] == "interrupted"
    assert found.result["polish"]["is_selected"]
    loaded = Solution.load(tmp_path, Logistic())
    np.testing.assert_array_equal(loaded(0.5), found(0.5))


def test_timed_attempts_train_for_their_share_of_the_time_left(no_shot, monkeypatch):
    """Each attempt trains, also if an earlier stage took all of its time."""
    monkeypatch.setattr("vrba.pinn.stages._FIRST_SECONDS", 3.0)
    few = dataclasses.replace(POOR, time_share=0.9)  # else there is no stage
    chosen = recipe(few, max_steps=10**6, check_every=10)
    options = {"minutes": 0.3, "tolerance": 1e-12, "callback": Silent()}
    found = vrba.solve(Logistic(), chosen, **options)
    places = [e["step"] for e in found.record if POLISH_STEP in e]
    assert len(places) >= 2 and len(set(places)) == len(places)


def test_one_shot_is_no_start_for_training():
    options = {"tolerance": 1e-8, "callback": Silent()}
    found = vrba.solve(Decay(), recipe(max_steps=60), **options)
    with pytest.raises(InputError, match="never trained"):
        vrba.solve(Decay(), recipe(), init_from=found)


def test_one_shot_meets_a_tolerance_without_training(tmp_path):
    chosen = recipe(max_steps=60)
    options = {"tolerance": 1e-8, "callback": Silent()}
    solution = vrba.solve(Decay(), chosen, run=tmp_path, **options)
    result = solution.result
    assert (result["step"], result["stop_reason"]) == (0, "tolerance")
    assert result["status"] is None and result["estimate_is_reliable"]
    assert result["errors"]["selected"] < 1e-8 and result["estimated_error"] <= 1e-8
    x = np.linspace(0, 2, 9)
    loaded = Solution.load(tmp_path, Decay())
    np.testing.assert_array_equal(loaded(x), solution(x))
    np.testing.assert_allclose(loaded(x), np.exp(-x), rtol=1e-7)


class Oscillator(vrba.Problem):
    """`u' = v`, `v' = -k u` with an unknown `k`, and data of `cos(2 x)`."""

    unknowns = {"k": vrba.Unknown(4.5)}
    fields = ("u", "v")
    domain = vrba.Box(x=(0, 1))

    def equations(self, u, v, x, k):
        return {"place": u.x - v, "speed": v.x + k * u}

    def conditions(self):
        x = np.linspace(0, 1, 20)[:, None]
        return [
            vrba.Ansatz(lambda x, U, V: (1 + x * U, x * V)),
            vrba.Data(x, np.cos(2 * x[:, 0]), field="u"),
        ]


@pytest.mark.slow
def test_one_shot_of_two_fields_and_an_unknown():
    found = vrba.solve(Oscillator(), recipe(), tolerance=1e-6, callback=Silent())
    assert found.result["step"] == 0 and found.result["polish"]["step"] == 0
    assert abs(found.unknowns["k"] - 4) < 1e-5
    x = np.linspace(0, 1, 9)
    np.testing.assert_allclose(found(x)["v"], -2 * np.sin(2 * x), atol=1e-5)


def test_one_shot_has_the_settings_of_the_stage_and_needs_other_points():
    few = Polish(max_columns=900, num_features=100, draws=PolishDraws(1, 0, 0))
    with use_precision("float64"):
        trainer = Trainer(Evaluator(Formulation(Decay()), recipe(few), 0))
        settings = attempt_shot(trainer, 2.0).polisher.settings
    assert settings.num_features == 900 and settings.draws == PolishDraws(1, 0, 0)

    class Cloud(Decay):
        domain = vrba.PointCloud(np.linspace(0, 2, 200)[:, None], ["x"])

    found = vrba.solve(Cloud(), recipe(), tolerance=1e-6, callback=Silent())
    assert found.result["step"] > 0


@pytest.fixture(scope="module")
def shot():
    """A polisher of an equation that is not linear, and one round of points."""
    with use_precision("float64"):
        trainer = Trainer(Evaluator(Formulation(Logistic()), recipe(), 0))
        yield attempt_shot(trainer, 2.0), trainer


def test_rounds_that_exist_are_not_repeated(shot):
    """A step that goes on from them is the step from the beginning, bit for bit."""
    found, _ = shot
    polisher = found.polisher
    again, _ = polisher.step(polisher.init(), found.begun)
    whole, _ = polisher.step(polisher.init())
    jax.tree.map(np.testing.assert_array_equal, again.params, whole.params)


def test_the_held_out_loss_judges_the_columns(shot):
    """It is linearised: the quadratic part of the residual does not count."""
    found, _ = shot
    residual = found.polisher.residual(found.begun.solutions[-1])
    assert found.loss < 1e-6 * np.mean(residual**2)
    begun = found.polisher.begin(found.polisher.init())
    unchanged = dataclasses.replace(begun, solutions=[found.polisher.trained])
    before = found.polisher.held_out_loss(found.polisher.init(), unchanged)
    initial = found.polisher.residual(found.polisher.trained)
    np.testing.assert_allclose(before, np.mean(initial**2), rtol=0.05)


def test_another_scale_compiles_nothing(shot):
    _, trainer = shot
    num_compiled = []
    count = lambda event, _, **__: num_compiled.append("backend_compile" in event)
    jax.monitoring.register_event_duration_secs_listener(count)
    try:
        attempt_shot(trainer, 4.0)
    finally:
        jax.monitoring.unregister_event_duration_listener(count)
    assert not any(num_compiled)


@pytest.mark.parametrize(
    ("is_accepted", "estimate", "noise", "expected", "is_met"),
    [
        (True, 1.0, 1e-9, 5e-9, True),
        (True, 1.0, 1e-9, 5e-8, False),
        (False, 8e-9, 1e-9, 1.0, True),
        (False, 2e-9, 3e-9, 1.0, True),  # not reliable, but both are small
        (False, 4e-9, 8e-9, 1.0, False),
    ],
)
def test_a_tolerance_is_met(is_accepted, estimate, noise, expected, is_met):
    step = {"is_accepted": is_accepted, "estimate": estimate, "noise": noise}
    step |= {"expected": expected, "remainder": 0.0, "data_noise": 0.0}
    assert meets_tolerance([step], 1e-8) == is_met


@pytest.mark.parametrize("name", ["estimate", "noise", "expected", "data_noise"])
@pytest.mark.parametrize("is_accepted", [True, False])
def test_a_step_that_is_not_finite_meets_nothing(name, is_accepted):
    step = dict.fromkeys(("estimate", "noise", "expected", "data_noise"), 1e-12)
    step |= {"remainder": 0.0, "is_accepted": is_accepted, name: math.nan}
    matters = name in ("expected", "data_noise") if is_accepted else name != "expected"
    if matters:
        assert error_estimate([step]) == (math.inf, False)
        assert not meets_tolerance([step], 1.0)
        assert not is_converged([step])


def test_the_best_seed_has_the_lowest_estimate_if_all_are_reliable(solved):
    def one(estimate, is_reliable, score):
        names = ("estimated_error", "estimate_is_reliable", "score")
        values = (estimate, is_reliable, score)
        result = dict(zip(names, values, strict=True))
        return dataclasses.replace(solved[0], result=result)

    first, second = one(1e-9, True, 1e-3), one(1e-8, True, 1e-4)
    assert best_of([first, second]) == 0
    assert best_of([first, second, one(None, False, 1e-2)]) == 1
    trained = dataclasses.replace(solved[0], result={"score": 1e-5})
    assert best_of([first, second, trained]) == 2


def test_another_tolerance_goes_on_from_one_that_was_met(no_shot, tmp_path):
    chosen = recipe(POOR, max_steps=162)
    options = {"run": tmp_path, "callback": Silent()}
    loose = vrba.solve(Logistic(), chosen, tolerance=0.5, **options)
    assert loose.result["stop_reason"] == "tolerance" and loose.result["step"] < 162
    again = vrba.solve(Logistic(), resume=True, tolerance=0.5, **options)
    assert without_times(again.record) == without_times(loose.record)
    tight = vrba.solve(Logistic(), resume=True, tolerance=1e-12, **options)
    assert tight.result["step"] == 162


def test_an_estimate_survives_a_later_step_that_is_not_finite():
    good = dict.fromkeys(("estimate", "noise", "expected", "data_noise"), 1e-6)
    good |= {"remainder": 0.0, "is_accepted": True}
    bad = good | {"estimate": math.nan, "noise": math.nan, "is_accepted": False}
    assert error_estimate([good, bad]) == (1e-6, False)
    assert not meets_tolerance([good, bad], 1.0)


class Hole(Decay):
    """Not a number in a small part of the domain, which training does not meet."""

    def equations(self, u, x):
        return {"decay": u.x + u + jnp.where(jnp.abs(x - 1.1) < 3e-4, jnp.nan, 0.0)}


@pytest.mark.parametrize("tolerance", [None, 1e-8])
def test_a_residual_that_is_not_finite_at_some_points_changes_nothing(tolerance):
    chosen = recipe(max_steps=6)
    found = vrba.solve(Hole(), chosen, tolerance=tolerance, callback=Silent())
    result = found.result
    assert (result["step"], result["stop_reason"]) == (6, "no_fit")
    assert not result["polish"]["is_selected"] and found.before_polish is None
    assert result["estimated_error"] is None and not result["estimate_is_reliable"]
    assert "estimated" not in found.sentence()


def test_attempts_double_the_steps_or_the_time():
    chosen = recipe(max_steps=160)
    limits = limits_of_attempts(chosen, None, 1e-30)
    assert [steps for steps, _ in limits] == [40, 80, 160]
    assert limits_of_attempts(chosen, None, None) == [(160, math.inf)]
    timed = limits_of_attempts(chosen, 3, 1e-30)
    assert [seconds for _, seconds in timed] == [30, 60, 120, 180]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tolerance": -1.0}, "`tolerance` must be positive"),
        ({"tolerance": 1e-3, "minutes": 0.01}, "it needs 0.5 minutes in all"),
    ],
)
def test_a_tolerance_that_cannot_be_met_is_refused(options, text):
    with pytest.raises(InputError, match=text):
        vrba.solve(Decay(), recipe(), callback=Silent(), **options)
    with pytest.raises(InputError, match="The recipe has `polish=None`"):
        vrba.solve(Decay(), recipe(None), tolerance=1e-3, callback=Silent())


# Draws and choice.


def test_probabilities_are_a_mixture():
    draws = PolishDraws(0.2, 0.3, 0.5)
    sizes, leverage = np.array([1.0, 3.0, 0.0, 0.0]), np.array([0.0, 0.0, 2.0, 2.0])
    found = draws.probabilities(sizes, leverage)
    expected = 0.2 / 4 + 0.3 * sizes / 4 + 0.5 * leverage / 4
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    uniform = PolishDraws(1, 0, 0).probabilities(sizes, None)
    np.testing.assert_allclose(uniform, 0.25, rtol=1e-12)
    first = draws.probabilities(sizes, None)
    np.testing.assert_allclose(first, 0.2 / 4 + 0.8 * sizes / 4, rtol=1e-12)
    np.testing.assert_allclose(draws.probabilities(0 * sizes, 0 * sizes), 0.25)


@pytest.mark.parametrize("shares", [(0, 1, 0), (1, -1, 0), (math.nan, 0, 0)])
def test_wrong_shares_are_refused(shares):
    with pytest.raises(InputError, match="`uniform` must be positive"):
        PolishDraws(*shares)
