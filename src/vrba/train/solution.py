"""A solved problem: a function, what is known of its accuracy, and its files."""

import html
import inspect
import io
import itertools
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
from scipy.io import netcdf_file

from .. import problems
from ..core import (
    InputError,
    as_floats,
    check_count,
    is_same_description,
    rebuild,
    result_sentence,
    use_precision,
    write_atomically,
)
from ..problems import Formulation, Problem, Reference
from .about import known_classes
from .accuracy import errors_of, reference_of
from .recipe import Recipe, limited
from .run_folder import RunFolder, describe_problem
from .trainer import Trainer

_ONLY = "the expression"

Numbers = Float[np.ndarray, "..."] | float | int


class _Listed(eqx.Module):
    """An expression that gives a dictionary; equal to another of the same function, so
    that it is compiled once."""

    expression: Callable[..., Any] = eqx.field(static=True)

    def __call__(self, *arguments: Any) -> dict[str, Any]:
        found = self.expression(*arguments)
        return found if isinstance(found, dict) else {_ONLY: found}


class Solution(eqx.Module):
    """The selected iterate of a run: `solution(t, x)`.

    `params` is the iterate with the lowest residual on held-out points, `last_params`
    the last one; `record` is what was logged.
    """

    trainer: Trainer
    params: Any
    last_params: Any
    record: list[dict[str, Any]]
    result: dict[str, Any]
    run: Path | None = None

    @property
    def problem(self) -> Problem:
        """The problem that was solved."""
        return self.trainer.formulation.problem

    @property
    def unknowns(self) -> dict[str, float]:
        """The coefficients that were found, by name."""
        return self.trainer.unknowns(self.params)

    def __call__(self, *coordinates: Numbers | Array) -> Any:
        """The field at the given coordinates, or a dictionary of several fields. Within
        `jit`, `vmap` or `grad` it computes with the numbers of that program."""
        if any(isinstance(one, Tracer) for one in coordinates):
            found = self._traced(coordinates)
        else:
            found = self._at(self.params, coordinates)
        return next(iter(found.values())) if len(found) == 1 else found

    def evaluate(
        self, expression: Callable[..., Any], *coordinates: Numbers | Array
    ) -> np.ndarray | dict[str, np.ndarray]:
        """What `expression` gives at the coordinates, such as a derivative: it takes
        what `equations` takes, `lambda u, t, x: u.xx`, and returns one number or a
        dictionary of them."""
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
        problems.check_argument_order(expression, names, "`expression`")
        listed = _Listed(expression)
        with self._computing():
            found = self.trainer.evaluate(self.params, listed, self._array(points))
            found = {n: np.asarray(value).reshape(shape) for n, value in found.items()}
        return found[_ONLY] if list(found) == [_ONLY] else found

    def residual(self, *coordinates: Numbers | Array) -> dict[str, np.ndarray]:
        """The residual of each equation at the given coordinates."""
        points, shape = self._points(coordinates)
        name = problems.EQUATIONS
        with self._computing():
            rows = self._array(points), self._array(np.zeros((len(points), 0)))
            found = np.asarray(self.trainer.residual(self.params, name, rows))
        labels = self.trainer.terms[name].residual.labels
        return {label: found[:, k].reshape(shape) for k, label in enumerate(labels)}

    def grid(self, *num_points: int) -> dict[str, np.ndarray]:
        """Axes by coordinate, and the fields on the grid that they span; outside of the
        domain NaN."""
        domain = self.trainer.formulation.domain
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
        """The fields on the grid of given axes, by name, and the axes; outside NaN.
        Both are in the order of the domain's coordinates."""
        domain = self.trainer.formulation.domain
        if sorted(axes) != sorted(domain.coordinates):
            raise InputError(
                f"`axes` must have an array for each of {', '.join(domain.coordinates)}"
                f", got {', '.join(map(str, axes)) or 'none'}."
            )
        axes = {name: as_floats(name, axes[name]) for name in domain.coordinates}
        lines = list(axes.values())
        found = self._at(self.params, np.meshgrid(*lines, indexing="ij"))
        is_inside = problems.inside_grid(domain, lines)
        return axes | {n: np.where(is_inside, v, np.nan) for n, v in found.items()}

    def export(self, path: str | os.PathLike[str], *num_points: int) -> Path:
        """The fields on a grid as `.npz` or NetCDF (`.nc`)."""
        path, names = Path(path), self.trainer.formulation.domain.coordinates
        if path.suffix not in (".npz", ".nc"):
            raise InputError(f"`path` must end in .npz or .nc, got `{path}`.")
        arrays = self.grid(*num_points)
        is_netcdf = path.suffix == ".nc"
        write_atomically(path, _netcdf(arrays, names) if is_netcdf else _npz(arrays))
        return path

    def errors(self, reference: Reference | None = None) -> dict[str, float] | None:
        """Relative L2 errors of the last and of the selected iterate, if a reference is
        given or the problem has one; with the reference's own error."""
        reference = reference_of(self.trainer.formulation, reference)
        if reference is None:
            return None
        return errors_of(self.trainer, self.params, self.last_params, reference)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a folder that `Solution.load` reads."""
        folder = RunFolder(path)
        both = (self.params, self.last_params)
        folder.save_whole(self.result, self.record, both)
        return folder.path

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        problem: Problem | None = None,
        recipe: Recipe | None = None,
    ) -> "Solution":
        """Reads a run folder, also of a run that has not ended. No code in it is run: a
        problem that does not come with the package must be given, and so must a recipe
        that holds functions."""
        folder = RunFolder(path)
        about = folder.about_problem()
        trainer = trainer_from(about, problem, path, recipe)
        check_same(about, trainer.formulation.problem, path, ("name", "settings"))
        with use_precision(trainer.recipe.dtype):
            (best, last), known = folder.load_best(trainer.build())
            if "residual_l2" not in known:
                known |= {"status": "The run has not ended."}
                known |= measured(trainer, best)
        result = known | {"about": about}
        return Solution(trainer, best, last, folder.record(), result, folder.path)

    def sentence(self) -> str:
        """The result in one sentence."""
        return result_sentence(type(self.problem).__name__, self.result)

    def _repr_html_(self) -> str:
        lines = [("Solution", self.sentence()), ("Recipe", repr(self.trainer.recipe))]
        rows = "".join(
            f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>"
            for name, text in lines
        )
        return f"<table>{rows}</table>"

    def __repr__(self) -> str:
        return f"Solution({self.sentence()})"

    def _at(self, params: Any, coordinates: Any) -> dict[str, np.ndarray]:
        points, shape = self._points(coordinates)
        with self._computing():
            found = self.trainer.fields(params, self._array(points))
            return {n: np.asarray(value).reshape(shape) for n, value in found.items()}

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """In the precision of the run, at once even while a program is traced."""
        with use_precision(self.trainer.recipe.dtype), jax.ensure_compile_time_eval():
            yield

    def _traced(self, coordinates: Any) -> dict[str, Any]:
        self._check_count(coordinates)
        arrays = jnp.broadcast_arrays(*map(jnp.asarray, coordinates))
        points = jnp.stack([jnp.ravel(a) for a in arrays], axis=1)
        points = points.astype(jnp.result_type(float, points.dtype))
        same = lambda leaf: jnp.asarray(leaf, points.dtype)
        found = self.trainer.fields(jax.tree.map(same, self.params), points)
        return {n: value.reshape(arrays[0].shape) for n, value in found.items()}

    def _array(self, values: np.ndarray) -> Any:
        return jnp.asarray(values, self.trainer.recipe.dtype)

    def _points(self, coordinates: Any) -> tuple[np.ndarray, tuple[int, ...]]:
        self._check_count(coordinates)
        if any(isinstance(one, Tracer) for one in coordinates):
            raise InputError(
                "Within `jit`, `vmap` or `grad` only `solution(...)` takes coordinates "
                "that are traced: derive it there with `jax.grad`."
            )
        arrays = np.broadcast_arrays(
            *(as_floats("coordinates", c) for c in coordinates)
        )
        return np.stack([np.ravel(a) for a in arrays], axis=1), arrays[0].shape

    def _check_count(self, coordinates: Any) -> None:
        names = self.trainer.formulation.domain.coordinates
        if len(coordinates) != len(names):
            raise InputError(
                f"The solution takes {len(names)} coordinates, {', '.join(names)}, got "
                f"{len(coordinates)}."
            )


def measured(trainer: Trainer, params: Any) -> dict[str, Any]:
    """The residual of an iterate on held-out points."""
    check = trainer.check_of(params)
    return {
        "residual_l2": float(jnp.sqrt(check.mean_squares[problems.EQUATIONS])),
        "residual_max": float(check.largest[problems.EQUATIONS]),
        "score": float(check.score),
        "residuals": {n: float(jnp.sqrt(s)) for n, s in check.mean_squares.items()},
        "unknowns": trainer.unknowns(params),
    }


def disagreement(solutions: list[Solution]) -> float:
    """The largest L2 distance between two of several solutions of one problem, relative
    to their mean: an indicator of accuracy that needs no reference."""
    values = []
    for solution in solutions:
        grid = solution.grid()
        fields = solution.problem.fields
        values.append(np.concatenate([np.ravel(grid[name]) for name in fields]))
    is_inside = ~np.all(np.isnan(values), axis=0)
    values = [value[is_inside] for value in values]
    pairs = itertools.combinations(values, 2)
    largest = max((float(np.linalg.norm(a - b)) for a, b in pairs), default=0.0)
    return largest / float(np.linalg.norm(np.mean(values, axis=0)))


def trainer_from(
    about: dict[str, Any],
    problem: Problem | None,
    path: Any,
    recipe: Recipe | None = None,
    minutes: float | int | None = None,
) -> Trainer:
    """The trainer that a run folder describes, to go on for so many minutes in all."""
    described = about["problem"]
    if problem is None:
        if not described["is_shipped"] or described["name"] not in known_classes():
            raise InputError(
                f"`{path}` is a run of `{described['name']}`, which does not come with "
                "vrba: give the problem (`problem=MyProblem()`, or FILE.py on the "
                "command line)."
            )
        problem = rebuild(described["settings"], known_classes())
    chosen: Any = recipe or rebuild(about["recipe"], known_classes())
    chosen = limited(chosen, about["minutes"] if minutes is None else minutes)
    chosen = eqx.tree_at(
        lambda r: r.block_size,
        chosen,
        about["block_size"],
        is_leaf=lambda x: x is None,
    )
    with use_precision(chosen.dtype):
        formulation = Formulation(problem)  # pyright: ignore[reportArgumentType]
        return Trainer(formulation, chosen, about["seed"])


def check_same(
    about: dict[str, Any],
    problem: Problem,
    path: Any,
    keys: tuple[str, ...] = ("name", "settings", "source", "code"),
) -> None:
    """Refuses another problem than that of a run, as far as its folder tells it."""
    there, here = about["problem"], describe_problem(problem)
    for key in (key for key in keys if key in there):
        if is_same_description(there[key], here.get(key)):
            continue
        is_told = key not in ("source", "code")
        texts = f": {there[key]} there, {here[key]} here" if is_told else ""
        raise InputError(
            f"`{path}` is a run of `{there['name']}` with another {key}{texts}. Give "
            "the same problem, or allow the change (`allow_change=True`, or "
            "`--allow-change`)."
        )


def _npz(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _netcdf(arrays: dict[str, np.ndarray], names: tuple[str, ...]) -> bytes:
    buffer = io.BytesIO()
    with netcdf_file(buffer, "w") as file:
        for name in names:
            file.createDimension(name, arrays[name].size)
        for name, array in arrays.items():
            own = (name,) if name in names else names
            variable = file.createVariable(name, "d", own)
            variable[...] = array
        file.flush()
        return buffer.getvalue()
