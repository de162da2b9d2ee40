"""Time and memory of a step against the number of points and of parameters.

Every case is a process of its own, `python -m benchmarks.scaling step OPTIMIZER WIDTH
POINTS`, so that its largest resident memory is its own. Burgers, four hidden layers,
float64; the pool has as many points as are drawn. Seconds are those of the processor,
all cores added up: what other programs do meanwhile hardly counts. `program` is what
XLA says the compiled loss and gradient need beside arguments and results.
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure

from vrba import optim
from vrba.models import MLP
from vrba.pinn import Evaluator, Recipe, Trainer
from vrba.problems import Burgers, Formulation

PICTURE = Path(__file__).parents[1] / "docs" / "scaling.png"
CHOLESKY, MATRIX_FREE, ADAM = "lm, Cholesky", "lm, matrix-free", "adam"
OPTIMIZERS = {
    CHOLESKY: optim.LevenbergMarquardt(),
    MATRIX_FREE: optim.LevenbergMarquardt(
        solver=optim.ConjugateGradients(max_iterations=10)
    ),
    ADAM: optim.Adam(),
}
NARROW, FEW = 18, 2048  # about 1,100 parameters; points where parameters are counted
POINTS = {
    ADAM: (1_000, 10_000, 100_000, 1_000_000),
    MATRIX_FREE: (1_000, 5_000, 25_000),
    CHOLESKY: (1_000, 10_000, 50_000),
}
WIDTHS = {ADAM: (18, 57, 182), MATRIX_FREE: (18, 57), CHOLESKY: (18, 28, 40)}
EXPECTED = {  # exponents of the time of a step, where its largest part rules
    (ADAM, "points"): 1,
    (MATRIX_FREE, "points"): 1,
    (CHOLESKY, "points"): 1,
    (ADAM, "params"): 1,
    (MATRIX_FREE, "params"): 1,
    (CHOLESKY, "params"): 2,
}
RACE_WIDTHS, RACE_SECONDS = (28, 40, 57), 30


def measure(optimizer: str, num_points: int, width: int) -> dict[str, float]:
    """Seconds of a step and of a redraw, and memory, in this process."""
    recipe = Recipe(
        model=MLP(width=width),
        optimizer=OPTIMIZERS[optimizer],
        num_points=num_points,
        pool_size=num_points,
        num_held_out=16,
    )
    trainer = Trainer(Evaluator(Formulation(Burgers()), recipe, 0))
    state = trainer.resample(trainer.init())
    state, _ = trainer.advance(state, 1)
    step = timed(lambda: trainer.advance(state, 1)[0].num_steps)
    redraw = timed(lambda: trainer.resample(state).num_resamples)
    objective = trainer.objective(state)
    program = jax.jit(lambda params: objective.value_and_gradient(params))
    memory: Any = program.lower(state.params).compile().memory_analysis()
    return {
        "params": trainer.evaluator.num_params,
        "points": num_points,
        "seconds": step,
        "resample": redraw,
        "program": memory.temp_size_in_bytes,
        "resident": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def timed(run: Any) -> float:
    """The median of three, or one if it is slow; of the processor."""
    jax.block_until_ready(run())
    seconds = []
    while len(seconds) < 3 and sum(seconds) < 20:
        start = time.process_time()
        jax.block_until_ready(run())
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def in_a_process(
    what: str, optimizer: str, width: int, num_points: int = FEW
) -> dict[str, float]:
    """`measure` or `race` in a process that is then gone."""
    words = [sys.executable, "-m", "benchmarks.scaling", what, optimizer]
    words += [str(width), str(num_points)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def exponent(found: list[dict[str, float]], along: str, of: str) -> float:
    """The slope between the last two cases, in logarithms."""
    last, before = found[-1], found[-2]
    rise = np.log(last[of] / before[of])
    return float(rise / np.log(last[along] / before[along]))


def show(found: dict[str, list[dict[str, float]]], along: str) -> None:
    """A table, and how time and memory grow."""
    print(f"optimizer         {along:>9s}  step (s)  resample (s)  program MB  all MB")
    for name, cases in found.items():
        for case in cases:
            print(
                f"{name:18s}{case[along]:9,.0f}{case['seconds']:10.4f}"
                f"{case['resample']:14.4f}{case['program'] / 1e6:12.1f}"
                f"{case['resident'] / 1e6:8.0f}"
            )
        grows = exponent(cases, along, "seconds")
        print(
            f"  {name}: time as {along}^{grows:.2f}, about "
            f"{EXPECTED[name, along]} is expected; memory as "
            f"{along}^{exponent(cases, along, 'resident'):.2f}",
            flush=True,
        )


def draw(both: dict[str, dict[str, list[dict[str, float]]]]) -> None:
    """Time and memory against points and parameters."""
    figure = Figure(figsize=(8.4, 6.4), layout="constrained")
    panels = figure.subplots(2, 2, sharex="col", sharey="row")
    styles = {CHOLESKY: "o-", MATRIX_FREE: "s--", ADAM: "^:"}
    for column, (along, found) in enumerate(both.items()):
        for row, (of, unit) in enumerate((("seconds", 1.0), ("resident", 1e6))):
            panel = panels[row, column]
            for name, cases in found.items():
                x, y = ([case[key] for case in cases] for key in (along, of))
                panel.loglog(x, np.array(y) / unit, styles[name], label=name)
            panel.grid(alpha=0.3)
        panels[1, column].set_xlabel({"params": "parameters"}.get(along, along))
    panels[0, 0].set(ylabel="seconds a step")
    panels[1, 0].set(ylabel="largest resident memory (MB)")
    panels[0, 0].legend()
    figure.savefig(PICTURE, dpi=110)


def race(optimizer: str, width: int) -> dict[str, float]:
    """The held-out residual after as many seconds, compilation apart."""
    is_first_order = optimizer == ADAM
    recipe = Recipe(
        model=MLP(width=width),
        optimizer=OPTIMIZERS[optimizer],
        num_points=FEW,
        pool_size=8 * FEW,
        resample_every=100 if is_first_order else 15,
        num_held_out=4096,
    )
    trainer = Trainer(Evaluator(Formulation(Burgers()), recipe, 0))
    state = trainer.resample(trainer.init())
    trainer.advance(state, 1)
    trainer.check(state)
    start = time.process_time()
    while time.process_time() - start < RACE_SECONDS:
        state = trainer.resample(state) if trainer.needs_resample(state) else state
        state, _ = trainer.advance(state, 20 if is_first_order else 1)
        state, _ = trainer.check(state)
    return {
        "params": trainer.evaluator.num_params,
        "steps": int(state.num_steps),
        "residual": float(np.sqrt(state.best_score)),
    }


def show_race() -> None:
    """First order against Levenberg-Marquardt, for networks of growing size."""
    racers = (CHOLESKY, ADAM)
    print(f"held-out residual after {RACE_SECONDS} s, Burgers, {FEW:,} points")
    for width in RACE_WIDTHS:
        for name in racers:
            found = in_a_process("race", name, width)
            print(
                f"  {found['params']:7,.0f} parameters, {name:18s}"
                f"{found['residual']:10.2e} after {found['steps']:,.0f} steps",
                flush=True,
            )


def main() -> None:
    """All of it; about fifteen minutes, half of it the race."""
    points = {
        name: [in_a_process("step", name, NARROW, count) for count in counts]
        for name, counts in POINTS.items()
    }
    show(points, "points")
    params = {
        name: [in_a_process("step", name, width) for width in widths]
        for name, widths in WIDTHS.items()
    }
    show(params, "params")
    draw({"points": points, "params": params})
    show_race()


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    what, name, width, num_points = sys.argv[1:]
    if what == "race":
        found = race(name, int(width))
    else:
        found = measure(name, int(num_points), int(width))
    print(json.dumps(found))
