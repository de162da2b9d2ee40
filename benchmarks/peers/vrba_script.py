"""vrba: its default recipe, and the same with peers' optimizers or uniform sampling.

The error is what vrba itself logs. Its clock runs on while it measures; so a
measurement is timed after the run and taken off for each.
"""

import dataclasses
import sys
import time
from importlib.metadata import version
from typing import Any

import jax
from cases import num_initial
from log import Log, read_arguments

import vrba
from vrba import optim
from vrba.adapt import presets
from vrba.compare import known_problems
from vrba.pinn import FixedBalance, Recipe, default_recipe, reference_of, relative_error
from vrba.runs import Silent

ADAM_STEPS = 1000  # before second order
MOST_MEASURING = 0.03  # of the time, which is given back


class Watch(Silent):
    """Writes each check down."""

    def __init__(self, log: Log):
        self.log = log

    def on_check(self, entry: dict[str, Any], seconds_left: float) -> None:
        """A line, with the time not yet corrected."""
        names = ("seconds", "step", "error", "loss")
        self.log.write({name: entry[name] for name in names})


def make_optimizer(arm: str) -> optim.AbstractOptimizer | None:
    """By the name of the arm; the default one if it names none."""
    if "ssbroyden" in arm:
        return optim.adam_ssbroyden(ADAM_STEPS)
    if "lbfgs" in arm:
        first = optim.Stage(optim.Adam(), optim.AfterSteps(ADAM_STEPS))
        return optim.Sequence(first, optim.lbfgs())
    return optim.Adam() if "adam" in arm else None


def is_posed_softly(arm: str) -> bool:
    """Whether initial values of Allen-Cahn are in the loss, as for the peers."""
    return arm.startswith("vrba-soft") or make_optimizer(arm) is not None


def recipe_of(
    problem: vrba.Problem,
    arm: str,
    minutes: float,
    width: int,
    depth: int,
    points: int,
    pool: int,
) -> Recipe:
    """The default recipe in the sizes that all arms share."""
    recipe = default_recipe(
        problem,
        minutes,
        make_optimizer(arm),
        vrba.MLP(width=width, depth=depth),
        polish=None,  # the other packages have none
        balance=FixedBalance(),  # terms weigh what they do in the other packages
        num_points=points,
        pool_size=pool,
        num_condition_points=num_initial(points),
    )
    if "uniform" in arm:
        recipe = dataclasses.replace(recipe, policy=presets.uniform())
    return recipe


def main() -> None:
    """Trains until the time is up."""
    asked = read_arguments()
    log = Log(asked)
    is_soft = asked.problem == "allen-cahn" and is_posed_softly(asked.arm)
    problem = known_problems()[asked.problem](**({"is_soft": True} if is_soft else {}))
    sizes = (asked.width, asked.depth, asked.points, asked.pool)
    recipe = recipe_of(problem, asked.arm, asked.minutes, *sizes)
    versions = {name: version(name) for name in ("vrba", "jax")}
    log.about(versions=versions)
    longest = (1 + MOST_MEASURING) * asked.minutes
    solution = vrba.solve(problem, recipe, asked.seed, longest, callback=Watch(log))
    if solution.result["stop_reason"] == "interrupted":
        sys.exit("interrupted")
    cost = measuring_seconds(solution)
    for number, entry in enumerate(log.entries[1:]):
        entry["seconds"] = round(entry["seconds"] - number * cost, 3)
    away, result = (len(log.entries) - 1) * cost, solution.result
    seconds, step = round(result["seconds"] - away, 3), result["step"]
    error = result["errors"]["last"]
    if step > max((entry["step"] for entry in log.entries[1:]), default=0):
        log.write({"seconds": seconds, "step": step, "error": error, "loss": None})
    leaves = jax.tree.leaves(solution.params)
    dtypes = sorted({str(leaf.dtype) for leaf in leaves})
    about = {"dtype": ",".join(dtypes), "num_params": sum(x.size for x in leaves)}
    log.entries[0]["about"] |= about
    log.end(
        seconds=seconds,
        measuring_seconds=round(away, 3),
        selected_error=result["errors"]["selected"],
        stop_reason=result["stop_reason"],
    )


def measuring_seconds(solution: vrba.Solution) -> float:
    """What one measurement took, the shortest of some."""
    evaluator, spent = solution.evaluator, []
    reference = reference_of(evaluator.formulation)
    assert reference is not None
    for _ in range(5):
        start = time.perf_counter()
        relative_error(evaluator, solution.params, reference)
        spent.append(time.perf_counter() - start)
    return min(spent)


if __name__ == "__main__":
    main()
