"""A potential of one's own, from one convex function, used to draw points.

Its slope shapes the tilt: `2 s + 4 s**3` is proportional to small residuals and presses
on large ones. What is large is measured in units of the temperature, here the one at
which the tilt is normalised without rescaling.
"""

import dataclasses
import sys

import vrba

POTENTIAL = vrba.adapt.Custom(lambda s: s**2 + s**4)


def solve(problem: vrba.Problem, **settings) -> vrba.Solution:
    """A solution with points drawn by the potential."""
    policy = vrba.Sampling(
        POTENTIAL,
        temperature=vrba.adapt.SolveTemperature(),
        correction=vrba.Unbiased(),  # the plain mean square is what is minimised
    )
    recipe = vrba.Recipe(policy=policy, num_points=2048, pool_size=16384, max_steps=90)
    recipe = dataclasses.replace(recipe, **settings)
    return vrba.solve(problem, recipe)


if __name__ == "__main__":
    num_steps = int(sys.argv[1]) if sys.argv[1:] else 90
    solution = solve(vrba.problems.Burgers(), max_steps=num_steps)
    policy = solution.recipe.policy
    print(f"u(0.5, 0.1) = {float(solution(0.5, 0.1)):.6f}")
    print(f"The tilt alone would descend the {policy.objective_norm()}.")
