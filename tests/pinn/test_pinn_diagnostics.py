"""Runs that measure themselves: what is logged, what it costs, what is warned of."""

import re
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from tests.pinn.cases import Decay, Edge, tiny_recipe
from vrba import diagnose, optim
from vrba.core import flatten_gradient
from vrba.optim import LeastSquares
from vrba.pinn import Budget, Evaluator, Trainer, diagnostics, grid_residuals
from vrba.problems import EQUATIONS, Formulation
from vrba.runs import PrintLines, Silent

pytestmark = pytest.mark.xdist_group("train")


def run(problem, recipe, **options):
    options = {"callback": Silent(), "diagnose": 1} | options
    return vrba.solve(problem, recipe, **options)


def first_order(**settings):
    """A recipe of steps that are cheap to compile."""
    chosen = {"optimizer": optim.Adam(0.01), "check_every": 1, "max_steps": 12}
    return tiny_recipe(**(chosen | settings))


def tilted(potential, **settings):
    smoothing = vrba.Smoothing(0.0, 1.0, 1.0, is_normalised=False)
    return vrba.Sampling(potential, smoothing=smoothing, floor=0.0, **settings)


class Peak(vrba.Problem):
    """Residuals that are large in one place."""

    domain = vrba.Box(x=(0, 2))

    def equations(self, u, x):
        return {"peak": u.x - jnp.exp(-((30 * (x - 1)) ** 2))}

    def conditions(self):
        return [vrba.Dirichlet(0.0, on="x", at=0.0)]


def collapsing():
    """All weight goes to where the residual is largest."""
    policy = tilted(vrba.adapt.Power(60.0))
    return run(Peak(), first_order(policy=policy, pool_size=1024))


def idling():
    """A temperature so high that nothing tilts."""
    policy = tilted(vrba.Exponential(), temperature=vrba.LogAnnealing(1e4))
    return run(Peak(), first_order(policy=policy))


def dominated():
    """A condition a billion times as important."""
    return run(Edge(penalty=vrba.Penalty(weight=1e9)), first_order())


class Flat(vrba.Problem):
    """Nothing to learn: what the network does is lost in rounding."""

    domain = vrba.Box(x=(0, 2))

    def equations(self, u, x):
        return {"flat": u + 1e20}

    def conditions(self):
        return [vrba.Ansatz(flat_ansatz)]


def flat_ansatz(x, N):
    return N


def stuck(**options):
    """No step leads down."""
    search = optim.QuasiNewton(search=optim.Backtracking())
    return run(Flat(), first_order(optimizer=search), **options)


def rounded():
    """Single precision, to its end."""
    recipe = tiny_recipe(
        optimizer=optim.LevenbergMarquardt(),
        dtype="float32",
        check_every=5,
        max_steps=120,
    )
    return run(Decay(), recipe)


def drifting():
    """A condition that hardly counts, and holds at first: `u = 1` at zero, but for
    `u' = -u` the cheapest solution is zero."""
    holding = first_order(max_steps=300, check_every=4)
    start = run(Edge(penalty=vrba.Penalty(weight=1e9)), holding, diagnose=0)
    recipe = first_order(max_steps=60, check_every=4)
    return run(Edge(penalty=vrba.Penalty(weight=1e-9)), recipe, init_from=start)


def overfitted():
    """Many parameters, few points."""
    recipe = first_order(
        model=vrba.MLP(width=12, depth=1),
        optimizer=optim.QuasiNewton(search=optim.Backtracking()),
        num_points=6,
        pool_size=6,
        check_every=20,
        max_steps=400,
    )
    return run(Peak(), recipe)


class Free(vrba.Problem):
    """A constant may be added to the solution."""

    domain = vrba.Box(x=(0, 2))

    def equations(self, u, x):
        return {"straight": u.xx}

    def conditions(self):
        return [vrba.Neumann(1.0, on="x", at=0.0)]


def free():
    """A problem without a value of its field."""
    return run(Free(), first_order(max_steps=2))


BUILT = {
    diagnose.CollapsedWeights: collapsing,
    diagnose.IdleTilt: idling,
    diagnose.DominantTerm: dominated,
    diagnose.FailingSteps: stuck,
    diagnose.RoundingFloor: rounded,
    diagnose.GrowingConditions: drifting,
    diagnose.SmallPool: overfitted,
    diagnose.UndeterminedPart: free,
}


@pytest.mark.parametrize("alarm", BUILT, ids=lambda kind: kind.__name__)
def test_alarm_rings_in_a_run_built_for_it(alarm):
    solution = BUILT[alarm]()
    found = {w.name: w for w in diagnose.find_warnings(solution.record)}
    assert alarm.__name__ in found
    entry = next(e for e in solution.record if e["step"] == found[alarm.__name__].step)
    warning = found[alarm.__name__]
    assert f"{warning.text} {warning.advice}" in entry["warnings"]


def test_every_alarm_has_a_run():
    alarms = [
        kind
        for kind in vars(diagnose).values()
        if isinstance(kind, type) and issubclass(kind, diagnose.AbstractAlarm)
    ]
    assert {k for k in alarms if k is not diagnose.AbstractAlarm} == set(BUILT)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A run that is diagnosed at every check, often enough for every alarm."""
    path = tmp_path_factory.mktemp("diagnosed") / "run"
    return run(Edge(), first_order(max_steps=30, check_every=3), run=path)


def test_a_sound_run_is_silent(watched):
    assert diagnose.find_warnings(watched.record) == []
    assert not any("warnings" in entry for entry in watched.record)


def test_log_agrees_with_the_functions(watched):
    """What is logged is what `vrba.diagnose` says of the run's own arrays."""
    trainer, entry = Trainer(watched.evaluator), watched.record[-1]
    rows = trainer.pools[EQUATIONS]
    residual = np.asarray(
        trainer.evaluator.residual(watched.last_params, EQUATIONS, rows)
    )
    size = np.abs(residual[:, 0])
    assert entry["step"] == watched.result["step"]
    assert entry["variance_r2"] == pytest.approx(np.var(size**2), rel=1e-9)
    assert entry["pool_l2"] == pytest.approx(np.sqrt(np.mean(size**2)), rel=1e-12)
    share = entry["effective_size"] / trainer.pools[EQUATIONS][0].shape[0]
    assert entry["effective_share"] == pytest.approx(share, rel=1e-9)
    x = np.asarray(trainer.held_out[EQUATIONS][0])[:, 0]
    slope = jax.vmap(
        jax.grad(
            lambda x: trainer.evaluator.fields(watched.last_params, x[None, None])["u"][
                0
            ]
        )
    )(jnp.asarray(x))
    assert entry["geometric_complexity"] == pytest.approx(
        float(np.mean(slope**2)), rel=1e-6
    )


def test_partition_gradients_average_to_the_whole():
    trainer = Trainer(Evaluator(Formulation(Edge()), tiny_recipe(), 0))
    state = trainer.resample(trainer.init())
    terms = diagnostics.terms_of(trainer, state)
    parts, others = diagnostics._gradients(terms, state.params, 8)
    term = terms[EQUATIONS]
    expected = LeastSquares(term).value_and_gradient(state.params)[1]
    np.testing.assert_allclose(
        np.mean(parts, axis=0), flatten_gradient(expected), rtol=1e-10, atol=1e-14
    )
    edge = LeastSquares(terms["edge"]).value_and_gradient(state.params)[1]
    np.testing.assert_allclose(others["edge"], flatten_gradient(edge), rtol=1e-12)


def gap_of(policy):
    """That of a fresh tilt."""
    trainer = Trainer(Evaluator(Formulation(Peak()), tiny_recipe(policy=policy), 0))
    state = trainer.resample(trainer.init())
    rows = trainer.pools[EQUATIONS]
    residual = trainer.evaluator.residual(state.params, EQUATIONS, rows)
    return diagnostics._gap(trainer, state, np.abs(residual[:, 0]))


def test_gap_of_a_fresh_exponential_tilt_vanishes():
    """Only the exponential has no gap when merely rescaled."""
    exponential, quadratic = (
        gap_of(tilted(potential, temperature=vrba.adapt.Fixed(0.1)))
        for potential in (vrba.Exponential(), vrba.Quadratic())
    )
    assert abs(exponential) < 1e-12 and quadratic > 1e-3


def test_gap_of_a_wrapped_policy():
    """Around a policy that keeps its own state, one that has none, and both at once."""
    inner = tilted(vrba.Quadratic(), temperature=vrba.adapt.Fixed(0.1))
    around = vrba.adapt.LocalAverage(
        vrba.adapt.Capped(inner, 1e9), 1
    )  # neither changes anything
    assert gap_of(around) == pytest.approx(gap_of(inner), rel=1e-10)


def test_diagnostics_change_nothing_in_the_run(watched):
    plain = run(Edge(), first_order(max_steps=30, check_every=3), diagnose=0)
    both = plain.last_params, watched.last_params
    assert eqx.tree_equal(*both)
    assert not any("snr" in entry for entry in plain.record)
    common = plain.record[-1].keys() - {"seconds"}
    assert all(watched.record[-1][key] == plain.record[-1][key] for key in common)


class Clock:
    """Time that passes as it is told."""

    now = 0.0

    def monotonic(self):
        return self.now


def test_budget_is_kept(monkeypatch):
    """With a first diagnosis that compiles, and after a resume."""
    clock = Clock()
    monkeypatch.setattr(diagnostics, "time", clock)

    def work(seconds):
        clock.now += seconds
        return {}

    spent, num_done = 0.0, 0
    for end in (600.0, 1000.0):
        budget, cost = Budget(0.05, 1000.0, spent), 8.0  # compiles again
        while clock.now < end:
            clock.now += 2.0
            if budget.allows(clock.now):
                found = budget.measure(lambda cost=cost: work(cost))
                spent, cost, num_done = found["diagnose_seconds"], 0.5, num_done + 1
    assert 0.8 * 50 < spent <= 50
    assert num_done > 40


def test_budget_limits():
    assert not Budget(0.05, 60.0).allows(50.0)
    assert not Budget(0.0, 1e9).allows(1e8)
    assert Budget(1.0, 1.0).allows(0.5)
    with pytest.raises(ValueError, match="`diagnose` must be between 0 and 1, got 2"):
        Budget(2, 1.0)


@pytest.mark.parametrize(
    ("alarm", "record"),
    [
        (
            diagnose.SmallPool(),
            [{"step": k, "pool_l2": 1.0, "residual_l2": np.nan} for k in range(3)],
        ),
        (
            diagnose.CollapsedWeights(),
            [{"step": k, "effective_share": np.nan} for k in range(3)],
        ),
        (
            diagnose.GrowingConditions(),
            [
                {
                    "step": k,
                    "score": 0.9**k,
                    "residual_l2": 0.5**k,
                    "residual_l2 a": 1e-17 * 2**k,
                }
                for k in range(9)
            ],
        ),
        (
            diagnose.DominantTerm(),
            [
                {"step": k, "gradient equations": 1.0, "gradient a": 0.0}
                for k in range(9)
            ],
        ),
        (
            diagnose.FailingSteps(),
            [{"step": k, "num_failed": k // 12} for k in range(40)],
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_alarm_is_silent(alarm, record):
    """About numbers that are not finite, and what does not matter."""
    assert alarm.check(record) is None


def test_a_run_that_cannot_be_diagnosed_goes_on(monkeypatch):
    def fail(*_, **__):
        raise vrba.InputError("no mass")

    module = sys.modules["vrba.pinn.measurements"]
    monkeypatch.setattr(module, "diagnose", fail)
    solution = run(Edge(), first_order(max_steps=15, check_every=3))
    assert solution.record[-1]["not_diagnosed"] == "no mass"
    assert solution.result["step"] == 15


def test_documented_keys_are_those_of_the_log(watched):
    """Every number of the log that is explained exists, and the reverse."""
    page = Path(__file__).parents[2] / "docs" / "diagnosing.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    told = {
        name.split(" ")[0]
        for row in rows
        for name in re.findall(r"`(\w[^`]*)`", row.split("|")[1])
    }
    usual = {"step", "seconds", "stage", "loss", "residual_l2", "residual_max", "score"}
    usual |= {"best_step", "weight", "error", "unknown", "warnings"}
    logged = {key.split(" ")[0] for key in watched.record[-1]} - usual
    alarms = {kind.__name__ for kind in BUILT}
    assert told - alarms - {"duality_gap"} == logged


def test_points_drawn_over_time_are_kept(watched):
    folder = vrba.runs.RunFolder(watched.run)
    files = folder.drawn_files()
    assert list(files) == [3, 6, 12, 24]
    points = np.load(files[12], allow_pickle=False)
    assert points.shape == (16, 1) and np.all((points >= 0) & (points <= 2))


def test_fields_hold_residuals_and_weights(watched):
    with np.load(vrba.runs.RunFolder(watched.run).fields_file) as file:
        fields = dict(file)
    label = str(fields["residuals"][0])
    assert label == "decay"
    expected = watched.residual(fields["x"])["decay"]
    np.testing.assert_allclose(fields["residual decay"], expected, rtol=1e-12)
    assert np.mean(fields["pool weights"]) == pytest.approx(1.0, rel=1e-6)
    assert fields["pool points"].shape == (64, 1)


@pytest.mark.parametrize("num_points", [65, 6_500])
def test_residuals_on_a_grid_of_any_size(watched, num_points):
    """Few or many times as large as the pool, which has 64 points."""
    x = np.linspace(0, 2, num_points)
    found = grid_residuals(watched.evaluator, watched.params, [x], 64)
    assert found.shape == (num_points, 1)
    expected = watched.residual(x)["decay"]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12, atol=1e-14)


def test_a_run_that_ends_for_failed_steps_says_so():
    """Also if it ends before its first check."""
    recipe = first_order(
        optimizer=optim.QuasiNewton(search=optim.Backtracking()), check_every=100
    )
    (entry,) = run(Flat(), recipe).record
    assert entry["step"] == entry["num_failed"] == 5
    assert "Line searches fail: 5 of the last 5 steps" in entry["warnings"][0]


def test_warnings_are_told(capsys):
    stuck(callback=PrintLines())
    told = capsys.readouterr().err
    assert told.count("Warning: Line searches fail") == 1
