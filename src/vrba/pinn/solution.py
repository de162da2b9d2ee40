"""A solved problem: a function, its accuracy, and its files."""

import html
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from ..core import InputError, as_floats, check_count, rebuild, use_precision
from ..problems import (
    EQUATIONS,
    Formulation,
    Problem,
    Reference,
    check_argument_order,
    inside_grid,
)
from ..runs import (
    SOLVE,
    RunFolder,
    check_same_problem,
    load_best,
    save_complete,
    solution_sentence,
    stop_advice,
)
from .accuracy import (
    errors_of,
    measure_residuals,
    reference_of,
    residual_result,
)
from .evaluator import Evaluator, Rows
from .export import write_grid
from .marching_files import load_marched, save_marched
from .polish_files import (
    PolishFiles,
    PolishResult,
    load_polished,
    result_before_polish,
    save_polished,
)
from .pools import make_held_out
from .preparation import Preparation
from .recipe import Recipe, known_classes, with_max_steps

_SINGLE = "the expression"

Numbers = Float[np.ndarray, "..."] | float | int


class _NamedExpression(eqx.Module):
    """An expression that returns a dictionary.

    Two of the same function are equal, so each function is compiled once.
    """

    expression: Callable[..., Any] = eqx.field(static=True)

    def __call__(self, *arguments: Any) -> dict[str, Any]:
        found = self.expression(*arguments)
        return found if isinstance(found, dict) else {_SINGLE: found}


class Solution(eqx.Module):
    """The selected iterate of a run: `solution(t, x)`.

    `params` is the selected iterate, `last_params` the last one, `record` the log, and
    `result` the accuracy and the cost. Training selects by the residual on held-out
    points. If the linear stage took a step, its end is selected, and `before_polish` is
    the solution before it.
    """

    evaluator: Evaluator
    params: Any
    last_params: Any
    record: list[dict[str, Any]]
    result: dict[str, Any]
    run: Path | None = None
    before_polish: "Solution | None" = None

    @property
    def problem(self) -> Problem:
        """The solved problem."""
        return self.evaluator.formulation.problem

    @property
    def recipe(self) -> Recipe:
        """The settings of the run."""
        return self.evaluator.recipe

    @property
    def unknowns(self) -> dict[str, float]:
        """The identified coefficients, by name."""
        return self.evaluator.unknowns(self.params)

    def __call__(self, *coordinates: Numbers | Array) -> Any:
        """The field at the coordinates, or a dictionary of several fields.

        It can be traced by `jit`, `vmap` and `grad`, in the precision of that program.
        """
        if any(isinstance(one, Tracer) for one in coordinates):
            found = self._traced(coordinates)
        else:
            found = self._fields_at(coordinates)
        return next(iter(found.values())) if len(found) == 1 else found

    def evaluate(
        self, expression: Callable[..., Any], *coordinates: Numbers | Array
    ) -> np.ndarray | dict[str, np.ndarray]:
        """An expression of the fields at the coordinates, such as a derivative.

        `expression` takes the arguments of `equations`, as in `lambda u, t, x: u.xx`,
        and returns one number or a dictionary of numbers.
        """
        points, shape = self._points(coordinates)
        problem = self.problem
        names = *problem.fields, *problem.domain.coordinates, *problem.unknowns
        try:
            inspect.signature(expression).bind(*names)
        except TypeError as error:
            raise InputError(
                f"`expression` must take ({', '.join(names)}), as the equations do: "
                f"{error}."
            ) from error
        check_argument_order(expression, names, "`expression`")
        named = _NamedExpression(expression)
        with self._precision():
            found = self.evaluator.evaluate(self.params, named, self._array(points))
            found = {n: np.asarray(value).reshape(shape) for n, value in found.items()}
        return found[_SINGLE] if list(found) == [_SINGLE] else found

    def residual(self, *coordinates: Numbers | Array) -> dict[str, np.ndarray]:
        """The residual of each equation at the coordinates."""
        points, shape = self._points(coordinates)
        with self._precision():
            rows = self._array(points), self._array(np.zeros((len(points), 0)))
            found = np.asarray(self.evaluator.residual(self.params, EQUATIONS, rows))
        labels = self.evaluator.terms[EQUATIONS].residual.labels
        return {label: found[:, k].reshape(shape) for k, label in enumerate(labels)}

    def grid(self, *num_points: int) -> dict[str, np.ndarray]:
        """Axes by coordinate, and the fields on their grid; NaN outside the domain."""
        domain = self.evaluator.formulation.domain
        names = domain.coordinates
        counts = num_points or (round(40_000 ** (1 / len(names))),) * len(names)
        if len(counts) != len(names):
            raise InputError(
                f"`grid` needs a number of points for each of {', '.join(names)}, got "
                f"{counts}."
            )
        each = zip(names, counts, strict=True)
        check_count(**{f"num_points of {name}": count for name, count in each})
        ends = [domain.bounds(name) for name in names]
        axes = [np.linspace(*pair, n) for pair, n in zip(ends, counts, strict=True)]
        return self.on_axes(dict(zip(names, axes, strict=True)))

    def on_axes(self, axes: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The axes, and the fields on their grid, in the order of the domain's
        coordinates; NaN outside the domain."""
        domain = self.evaluator.formulation.domain
        if sorted(axes) != sorted(domain.coordinates):
            raise InputError(
                f"`axes` must have an array for each of {', '.join(domain.coordinates)}"
                f", got {', '.join(map(str, axes)) or 'none'}."
            )
        axes = {name: as_floats(name, axes[name]) for name in domain.coordinates}
        lines = list(axes.values())
        found = self._fields_at(np.meshgrid(*lines, indexing="ij"))
        is_inside = inside_grid(domain, lines)
        return axes | {n: np.where(is_inside, v, np.nan) for n, v in found.items()}

    def export(self, path: str | os.PathLike[str], *num_points: int) -> Path:
        """Write the fields on a grid as `.npz` or NetCDF (`.nc`)."""
        names = self.evaluator.formulation.domain.coordinates
        return write_grid(Path(path), lambda: self.grid(*num_points), names)

    def errors(self, reference: Reference | None = None) -> dict[str, float] | None:
        """Relative L2 errors of the last and the selected iterate.

        They need a reference: the given one or that of the problem; its own error is
        included.
        """
        reference = reference_of(self.evaluator.formulation, reference)
        if reference is None:
            return None
        return errors_of(self.evaluator, self.params, self.last_params, reference)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a folder that `Solution.load` reads."""
        folder = RunFolder(path)
        trained = self.before_polish or self
        iterates = (trained.params, trained.last_params)
        if self.before_polish is not None:
            folder.check_free()
            described = self.result["manifest"]["problem"]
            step = self.result["polish"]["step"]
            found = PolishResult(self.evaluator, self.params, self.result, step)
            is_marched = "marching" in self.result
            save_fn = save_marched if is_marched else save_polished
            save_fn(folder, found, described)
        save_complete(folder, self.result, self.record, iterates)
        return folder.path

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        problem: Problem | None = None,
        recipe: Recipe | None = None,
        *,
        allow_change: bool = False,
    ) -> "Solution":
        """Read a run folder, also of a run that goes on. It runs no code of the folder.

        Give the problem if it is your own, and the recipe if it holds functions.
        `allow_change=True` accepts a problem that differs from that of the run.
        """
        folder = RunFolder(path)
        manifest = folder.read_manifest(SOLVE)
        evaluator = evaluator_from(manifest, problem, path, recipe)
        found = evaluator.formulation.problem
        if not allow_change:
            check_same_problem(manifest, found, path, ("name", "settings"))
        with use_precision(evaluator.recipe.dtype):
            template = evaluator.initial_params()
            (best, last), result = load_best(folder, template)
            goes_on = "residual_l2" not in result
            if goes_on:
                held_out = make_held_out(evaluator)
                check = measure_residuals(evaluator, held_out, best)
                result |= residual_result(evaluator, best, check)
            result = result | {"manifest": manifest}
            record, path = folder.record(), folder.path
            trained = Solution(evaluator, best, last, record, result, path)
            if goes_on:  # it may have been polished before it was resumed
                polished = PolishFiles(folder, evaluator).selected()
                if polished is None:
                    return trained
                trained.result.update(polished.result)
                return with_polish(trained, make_held_out(evaluator), polished, None)
            if not result.get("polish", {}).get("is_selected"):
                return trained
            load_fn = load_marched if "marching" in result else load_polished
            return _polished(trained, load_fn(folder, evaluator))

    def summary(self) -> dict[str, Any]:
        """The result as plain values."""
        result = self.result
        keys = ("step", "seconds", "selected_step", "residual_l2", "residual_max")
        estimate = ("estimated_error", "estimate_is_reliable")
        return {
            "run": None if self.run is None else str(self.run),
            "problem": type(self.problem).__name__,
            **{key: result.get(key) for key in (*keys, "stop_reason", "status")},
            **{key: result.get(key) for key in estimate},
            "message": stop_advice(result),
            "residuals": result["residuals"],
            "unknowns": result["unknowns"],
            "errors": result.get("errors"),
            "seed": self.evaluator.seed,
            "dtype": self.recipe.dtype,
            "num_params": result["manifest"]["num_params"],
        }

    def sentence(self) -> str:
        """The result in one sentence."""
        return solution_sentence(type(self.problem).__name__, self.result)

    def _repr_html_(self) -> str:
        lines = [("Solution", self.sentence()), ("Recipe", repr(self.recipe))]
        rows = "".join(
            f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>"
            for name, text in lines
        )
        return f"<table>{rows}</table>"

    def __repr__(self) -> str:
        return f"Solution({self.sentence()})"

    def _fields_at(self, coordinates: Any) -> dict[str, np.ndarray]:
        points, shape = self._points(coordinates)
        with self._precision():
            found = self.evaluator.fields(self.params, self._array(points))
            return {n: np.asarray(value).reshape(shape) for n, value in found.items()}

    @contextmanager
    def _precision(self) -> Iterator[None]:
        """Compute in the precision of the run, at once even under a trace."""
        with use_precision(self.recipe.dtype), jax.ensure_compile_time_eval():
            yield

    def _traced(self, coordinates: Any) -> dict[str, Any]:
        self._check_count(coordinates)
        arrays = jnp.broadcast_arrays(*map(jnp.asarray, coordinates))
        points = jnp.stack([jnp.ravel(a) for a in arrays], axis=1)
        points = points.astype(jnp.result_type(float, points.dtype))
        cast = lambda leaf: jnp.asarray(leaf, points.dtype)
        found = self.evaluator.fields(jax.tree.map(cast, self.params), points)
        return {n: value.reshape(arrays[0].shape) for n, value in found.items()}

    def _array(self, values: np.ndarray) -> Any:
        return jnp.asarray(values, self.recipe.dtype)

    def _points(self, coordinates: Any) -> tuple[np.ndarray, tuple[int, ...]]:
        self._check_count(coordinates)
        if any(isinstance(one, Tracer) for one in coordinates):
            raise InputError(
                "Within `jit`, `vmap` or `grad` only `solution(...)` takes traced "
                "coordinates: differentiate it there with `jax.grad`."
            )
        arrays = np.broadcast_arrays(
            *(as_floats("coordinates", c) for c in coordinates)
        )
        return np.stack([np.ravel(a) for a in arrays], axis=1), arrays[0].shape

    def _check_count(self, coordinates: Any) -> None:
        names = self.evaluator.formulation.domain.coordinates
        if len(coordinates) != len(names):
            raise InputError(
                f"The solution takes {len(names)} coordinates, {', '.join(names)}, got "
                f"{len(coordinates)}."
            )


def with_polish(
    solution: Solution,
    held_out: dict[str, Rows],
    polished: PolishResult,
    reference: Reference | None,
) -> Solution:
    """The solution after the linear stage, with the accuracy before and after it.

    `solution` is the trained one; its result includes that of the stage.
    """
    evaluator, params = polished.evaluator, polished.params
    check = measure_residuals(evaluator, held_out, params)
    before = solution.result
    found = residual_result(evaluator, params, check)
    found |= {"last_score": found["score"]}
    if reference is not None:
        found["errors"] = errors_of(evaluator, params, params, reference)
    found["before_polish"] = {k: before[k] for k in found if k in before}
    result, record, path = before | found, solution.record, solution.run
    return Solution(evaluator, params, params, record, result, path, solution)


def _polished(trained: Solution, found: PolishResult) -> Solution:
    """The solution after the linear stage; `trained` has its result."""
    result, record, path = trained.result, trained.record, trained.run
    before = Solution(
        trained.evaluator,
        trained.params,
        trained.last_params,
        record,
        result_before_polish(result),
        path,
    )
    params = found.params
    return Solution(found.evaluator, params, params, record, result, path, before)


def evaluator_from(
    manifest: dict[str, Any],
    problem: Problem | None,
    path: Any,
    recipe: Recipe | None = None,
    minutes: float | int | None = None,
) -> Evaluator:
    """The evaluator that a run folder describes, for `minutes` of training in all."""
    described = manifest["problem"]
    if problem is None:
        if not described["is_shipped"] or described["name"] not in known_classes():
            raise InputError(
                f"`{path}` is a run of `{described['name']}`, which does not come with "
                "vrba: give the problem (`problem=MyProblem()`, or FILE.py on the "
                "command line)."
            )
        problem = rebuild(described["settings"], known_classes())
    chosen: Any = recipe or rebuild(manifest["recipe"], known_classes())
    chosen = with_max_steps(chosen, manifest["minutes"] if minutes is None else minutes)
    chosen = eqx.tree_at(
        lambda r: r.block_size,
        chosen,
        manifest["block_size"],
        is_leaf=lambda x: x is None,
    )
    with use_precision(chosen.dtype):
        formulation = Formulation(problem)  # pyright: ignore[reportArgumentType]
        found: Any = manifest.get("preparation")
        preparation = found and Preparation.from_description(found)
        return Evaluator(formulation, chosen, manifest["seed"], preparation=preparation)
