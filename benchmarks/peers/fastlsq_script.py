"""FastLSQ: random Fourier features and one least-squares solve, or Newton's method.

`--scale auto` is its default: it tries a list of scales and takes the one with the
lowest error against the exact solution. A number is one solve with that scale. The
error is measured whenever FastLSQ assembles its equations anew, and at the end.
"""
# pyright: reportMissingImports=false

import argparse
from pathlib import Path

import fastlsq
import torch
from cases import CASES, FEATURE_CASES
from log import Log

SIDE_WEIGHT = 100.0  # of values on the boundary, as in FastLSQ's own problems


class TorchProblem:
    """A case in FastLSQ's interface."""

    dim = 2

    def __init__(self, name: str, log: Log):
        self.name, self.case, self.log = name, FEATURE_CASES[name], log
        self.ends = CASES[name].lower, CASES[name].upper
        self.num_solves, self.is_watched = 0, False

    def exact(self, x):
        """The solution, for the search of a scale."""
        return self.case.exact(torch, x[:, :1], x[:, 1:])

    def exact_grad(self, x):
        """Its gradient, which FastLSQ evaluates beside it."""
        x = x.clone().requires_grad_(True)
        return torch.autograd.grad(self.exact(x).sum(), x)[0].detach()

    def get_test_points(self, n):
        """Uniform points."""
        lower, upper = map(torch.tensor, self.ends)
        return lower + (upper - lower) * torch.rand(n, 2)

    def get_train_data(self, n_pde, n_bc):
        """Points inside and on the sides, with the values there."""
        inside, sides = self.get_test_points(n_pde), []
        for axis, end, order in self.case.sides:
            points = self.get_test_points(n_bc // len(self.case.sides))
            points[:, axis] = self.ends[end][axis]
            values = self.exact(points) if order == 0 else torch.zeros(len(points), 1)
            sides.append((points, values, (axis, order)))
        source = self.case.source(torch, inside[:, :1], inside[:, 1:])
        return inside, sides, source

    def build(self, solver, inside, sides, source):
        """Rows and right side of the linear part."""
        basis, zero = solver.basis, (0, 0)
        cache = basis.cache(inside)
        rows = [
            factor * basis.derivative(inside, index, cache=cache)
            for index, factor in self.case.operator.items()
        ]
        all_rows, right = [sum(rows)], [source]
        for points, values, (axis, order) in sides:
            index = tuple(order * (axis == k) for k in range(2)) if order else zero
            all_rows.append(SIDE_WEIGHT * basis.derivative(points, index))
            right.append(SIDE_WEIGHT * values)
        return torch.cat(all_rows), torch.cat(right)

    build_linear_init = build

    def build_newton_step(self, solver, inside, sides, source):
        """Rows and right side of a step of Newton's method."""
        self.measure(solver.predict)
        rows, right = self.build(solver, inside, sides, source)
        residual = right - rows @ solver.beta
        features = solver.basis.evaluate(inside)
        u = features @ solver.beta
        count = len(inside)
        residual[:count] -= self.case.cubic * u**3
        rows[:count] += 3 * self.case.cubic * u**2 * features
        return rows, residual

    def measure(self, predict):
        """Write the error down; the clock stands."""
        if self.is_watched:
            self.num_solves += 1
            fields = lambda points: predict(torch.as_tensor(points)).numpy()
            self.log.measure(self.num_solves, None, fields)


def main() -> None:
    """Solve once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problem", required=True)
    parser.add_argument("--scale", required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(asked.seed)
    log = Log(asked)
    problem = TorchProblem(asked.problem, log)
    log.about(versions={"fastlsq": fastlsq.__version__, "torch": torch.__version__})
    is_linear = problem.case.cubic == 0.0
    solve = fastlsq.solve_linear if is_linear else fastlsq.solve_nonlinear
    is_auto = asked.scale == "auto"
    problem.is_watched = not is_auto
    options = {"scale": None if is_auto else float(asked.scale)}
    options |= {} if is_linear else {"mu": 0.0}  # its ridge would limit the error
    found = solve(problem, **options, return_metrics=False, verbose=False)
    problem.is_watched = True
    problem.measure(found["u_fn"])
    log.end(scale=found["scale"])


if __name__ == "__main__":
    main()
