"""Adaptive sampling with your own potential, defined by one convex function.

Its derivative `2 s + 4 s**3` is the tilt: proportional to small residuals, and steeper
for large ones. The unit of `s` is the temperature, here the one that normalises the
tilt without rescaling.

`python examples/custom_potential.py 90` makes 90 steps.
"""

import dataclasses
import sys

import vrba

POTENTIAL = vrba.adapt.Custom(lambda s: s**2 + s**4)


def solve(problem: vrba.Problem, **settings) -> vrba.Solution:
    """Solve with points sampled by the potential."""
    policy = vrba.Sampling(
        POTENTIAL,
        temperature=vrba.adapt.SolveTemperature(),
        correction=vrba.Unbiased(),  # the loss stays the plain mean square
    )
    recipe = vrba.Recipe(policy=policy, num_points=2048, pool_size=16384, max_steps=90)
    recipe = dataclasses.replace(recipe, **settings)
    return vrba.solve(problem, recipe)


if __name__ == "__main__":
    num_steps = int(sys.argv[1]) if sys.argv[1:] else 90
    solution = solve(vrba.problems.Burgers(), max_steps=num_steps)
    policy = solution.recipe.policy
    print(f"u(0.5, 0.1) = {float(solution(0.5, 0.1)):.6f}")
    print(f"It minimises the {policy.objective_norm()} of the residual.")
