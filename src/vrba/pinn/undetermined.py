"""Parts of the solution that equations and conditions leave open.

Simple functions of one coordinate are added to the outputs of the network, in front of
exact conditions. A combination that changes the fields, but no residual, belongs to an
undetermined part, such as a constant of a pressure.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..problems import EQUATIONS, Formulation, Mean, attach_unknowns
from .evaluator import Evaluator, Rows
from .null_parts import NUM_EACH, NullPart, find_null_parts
from .recipe import embedding_of

_NUM_ROWS, _NUM_CONDITION_ROWS = 200, 100  # of each term
_LEAST_SHARE = 0.25  # of the rows must be finite
_NUM_WAVES = 5  # of the state around which residuals are linearised
_AMPLITUDE = 0.5
_SEED = 3


@dataclasses.dataclass(frozen=True)
class Undetermined:
    """A part of some fields that no residual depends on, and the condition to add.

    It is made of functions of single `coordinates`, and is a constant without any. It
    `is_whole` if each of these functions is undetermined.
    """

    fields: tuple[str, ...]
    coordinates: tuple[str, ...]
    is_whole: bool
    advice: str

    def part(self) -> str:
        """Return the part in words."""
        if not self.coordinates:
            return "a constant"
        each = [f"a function of {name}" for name in self.coordinates]
        whole = " and ".join(each)
        return whole if self.is_whole else f"certain functions of {_listed(self)}"

    def sentence(self) -> str:
        """Return what is undetermined, and what to add."""
        names = " and ".join(f"`{name}`" for name in self.fields)
        change = "if one is added"
        if len(self.fields) > 1:
            names = f"A combination of {names}"
            change = "if multiples of one are added to these fields"
        return (
            f"{names} is determined only up to {self.part()}: the equations and "
            f"conditions do not change {change}. {self.advice}"
        )


def _listed(part: Undetermined) -> str:
    return " and ".join(part.coordinates)


class _Perturbed(eqx.Module):
    """Smooth outputs, and candidates added to them with some coefficients.

    `first` and `second` pick an input for each coordinate: the coordinate itself, or
    sine and cosine of a periodic one. Candidates are one, and functions of a
    coordinate.
    """

    waves: Float[Array, "waves inputs"]
    shifts: Float[Array, " waves"]
    factors: Float[Array, "fields waves"]
    first: Float[Array, "dim inputs"]
    second: Float[Array, "dim inputs"]
    coefficients: Float[Array, "fields candidates"]
    num_parts: int  # of the domain, with outputs of their own

    def __call__(self, inputs: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        state = self.factors @ jnp.sin(self.waves @ inputs + self.shifts)
        one, a, b = jnp.ones(1, inputs.dtype), self.first @ inputs, self.second @ inputs
        parts = [one, a, a * b, jnp.cos(2 * b), jnp.sin(2 * b)]
        found = state + self.coefficients @ jnp.concatenate(parts)
        return jnp.tile(found, self.num_parts)


def find_undetermined(
    evaluator: Evaluator, pools: dict[str, Rows]
) -> list[Undetermined]:
    """Find parts of the solution that no equation and no condition determines.

    Residuals are linearised around smooth functions of both signs. Candidates `v` form
    an undetermined part if `|J_residual v|` is zero up to rounding beside
    `|J_output v|`. Each residual is scaled by its largest response to a candidate.
    Nothing is found if a residual is not finite at most points.
    """
    formulation = evaluator.formulation
    counts = {name: _NUM_CONDITION_ROWS for name in pools} | {EQUATIONS: _NUM_ROWS}
    rows = {
        name: jax.tree.map(lambda leaf, count=counts[name]: leaf[:count], part)
        for name, part in pools.items()
    }
    states = [_smooth_state(evaluator, sign) for sign in (1, -1)]
    responses, changes = zip(
        *[_responses(evaluator, state, rows) for state in states], strict=True
    )
    parts = [_scaled(np.concatenate(both)) for both in zip(*responses, strict=True)]
    finite = [part for part in parts if part is not None]
    if len(finite) < len(parts):
        return []
    tolerance = float(np.sqrt(jnp.finfo(evaluator.dtype).eps))
    change = _scaled_fields(np.concatenate(changes))
    shape = len(formulation.problem.fields), len(formulation.domain.coordinates)
    found = find_null_parts(np.concatenate(finite), change, shape, tolerance)
    return [_in_words(formulation, part) for part in found]


def _smooth_state(evaluator: Evaluator, sign: int) -> _Perturbed:
    """Return sums of a few long waves in the inputs of the network."""
    formulation, dtype = evaluator.formulation, evaluator.dtype
    names, num_fields = formulation.domain.coordinates, len(formulation.problem.fields)
    counts = embedding_of(formulation).counts
    unit, starts = np.eye(sum(counts)), np.array(counts).cumsum() - np.array(counts)
    is_periodic = np.array([int(name in formulation.periods) for name in names])
    random = np.random.default_rng(_SEED)
    cast = lambda array: jnp.asarray(array, dtype)
    normal = lambda *size: random.standard_normal(size)
    return _Perturbed(
        cast(normal(_NUM_WAVES, sum(counts)) / sum(counts) ** 0.5),
        cast(normal(_NUM_WAVES)),
        cast(sign * _AMPLITUDE * normal(num_fields, _NUM_WAVES) / _NUM_WAVES**0.5),
        cast(unit[starts + is_periodic]),
        cast(unit[starts]),
        jnp.zeros((num_fields, 1 + NUM_EACH * len(names)), dtype),
        formulation.num_outputs // num_fields,
    )


@eqx.filter_jit
def _responses(
    evaluator: Evaluator, state: _Perturbed, rows: dict[str, Rows]
) -> tuple[list[Float[Array, "rows columns"]], Float[Array, "points fields columns"]]:
    """Return the derivatives of each residual and of the fields along candidates."""
    formulation, embedding = evaluator.formulation, evaluator.embedding
    shape, size = state.coefficients.shape, state.coefficients.size
    zeros = jnp.zeros(size, state.coefficients.dtype)

    def derivatives(fn: Any, places: Any) -> Array:
        def at(vector, place):
            coefficients = jnp.reshape(vector, shape)
            network = eqx.tree_at(lambda s: s.coefficients, state, coefficients)
            unknowns = formulation.problem.unknowns
            return fn(attach_unknowns(network, unknowns, vector.dtype), place)

        return jax.vmap(lambda place: jax.jacfwd(at)(zeros, place))(places)

    found = []
    for name, part in rows.items():
        residual = evaluator.terms[name].residual
        fn = lambda network, row, residual=residual: residual(embedding, network, row)
        each = derivatives(fn, part)
        found += [each[:, k] for k in range(each.shape[1])]
    zero = (0,) * len(formulation.domain.coordinates)

    def values(network, point):
        jets = formulation.jets(embedding, network, point, frozenset([zero]))
        return jnp.stack([jet[zero] for jet in jets.values()])

    return found, derivatives(values, rows[EQUATIONS][0])


def _scaled(part: np.ndarray) -> np.ndarray | None:
    """Return finite rows, the largest number of which is one; `None` if few are."""
    is_finite = np.all(np.isfinite(part), axis=1)
    if np.mean(is_finite) < _LEAST_SHARE:
        return None
    part = part[is_finite].astype(float)
    return part / (np.max(np.abs(part)) or 1.0)


def _scaled_fields(change: np.ndarray) -> np.ndarray:
    """Return changes of fields as rows, each field with a largest change of one."""
    change = np.nan_to_num(change.astype(float))
    largest = np.max(np.abs(change), axis=(0, 2), keepdims=True)
    scaled = change / np.where(largest > 0, largest, 1.0)
    return scaled.reshape(-1, change.shape[2]) / np.sqrt(len(change))


def _in_words(formulation: Formulation, part: NullPart) -> Undetermined:
    fields = tuple(formulation.problem.fields[k] for k in part.fields)
    along = tuple(formulation.domain.coordinates[k] for k in part.coordinates)
    advice = _advice(formulation, fields[0], along, is_whole=part.is_whole)
    return Undetermined(fields, along, part.is_whole, advice)


def _advice(
    formulation: Formulation, field: str, along: tuple[str, ...], *, is_whole: bool
) -> str:
    """Return the condition to add."""
    names, listed = formulation.domain.coordinates, formulation.problem.conditions()
    if not is_whole or len(along) > 1 or along == names:
        return f"Add conditions of `{field}`, such as values on the boundary."
    usual = Mean(0.0).complete(listed, formulation.domain).fixed
    at_each = f', at_each="{along[0]}"' if along else ", at_each=()"
    at_each = "" if along == usual else at_each
    of_field = f', field="{field}"' if len(formulation.problem.fields) > 1 else ""
    place = f" for each {along[0]}" if along else ""
    return (
        f"Add `Mean(0.0{at_each}{of_field})`, or a value of `{field}` at one place"
        f"{place}."
    )
