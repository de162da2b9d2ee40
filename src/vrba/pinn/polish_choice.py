"""The choice of a step of the linear stage, judged in the norm of the solution."""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..core import flatten
from ..optim import StreamedQR, compiled_jacobian

RIDGES = (1e-13, 1e-9, 1e-5)
_NUM_SIGNS = 4  # random signs for the noise of data
_CLEAR = 0.05  # noise that needs no other candidate, relative to the estimate

Values = Float[np.ndarray, " values"]


@dataclasses.dataclass(frozen=True)
class Halves:
    """Factorisations of two random halves of the rows, and of all rows."""

    first: StreamedQR
    second: StreamedQR
    both: StreamedQR

    @staticmethod
    def empty(num_columns: int, dtype: Any) -> "Halves":
        """Return the factorisations of no rows."""
        empty = StreamedQR.empty(num_columns, dtype)
        return Halves(empty, empty, empty)

    def absorb(self, terms: Any, shared: StreamedQR | None, params: Any) -> "Halves":
        """Add the rows of terms, whose blocks alternate between the halves.

        The rows of `shared` are not a sample: both halves have all of them.
        """
        parts = [self.first, self.second]
        for parity in range(2):
            parts[parity] = parts[parity].absorb(blocks_of(terms, params, parity, 2))
            if shared is not None:
                parts[parity] = parts[parity].merge(shared.scaled(math.sqrt(0.5)))
        first, second = parts
        return Halves(first, second, first.merge(second))


def blocks_of(terms: Any, params: Any, first: int = 0, step: int = 1) -> Iterator[Any]:
    """Yield the rows and the Jacobian of every block, or of each `step`-th one."""
    for term in terms:
        for block in range(first, term.num_blocks, step):
            yield compiled_jacobian(term, params, jnp.asarray(block, jnp.int32))


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A step: `num_columns` leading columns, damped by `ridge`."""

    num_columns: int
    ridge: float
    params: Any
    noise: float  # half the distance of the two half-sample solutions
    distance: float  # from the undamped step of all columns


@dataclasses.dataclass(frozen=True)
class Choice:
    """The best candidate, and what is known of the error.

    `estimate` is the distance from the present solution to the undamped step of all
    columns, `noise` the sampling error of that step, `total` the expected error of the
    chosen candidate. All are relative to the norm of that step's solution: the present
    one may be of any size.
    """

    candidate: Candidate
    estimate: float
    noise: float
    total: float
    candidates: list[Candidate]

    @property
    def is_accepted(self) -> bool:
        """Whether the candidate is expected to halve the error at least.

        An estimate below twice its own sampling error says nothing.
        """
        sizes = (self.total, self.noise, self.estimate)
        is_finite = all(map(math.isfinite, sizes))
        return is_finite and max(self.total, self.noise) < 0.5 * self.estimate

    @property
    def is_reliable(self) -> bool:
        """Whether the estimate exceeds its own sampling error."""
        return bool(self.noise < self.estimate)


def choose_step(
    halves: Halves,
    params: Any,
    counts: tuple[int, ...],
    values_fn: Callable[[Any], Values],
    change: Values,
) -> Choice:
    """Choose among leading columns and ridges; `values_fn` returns the fields.

    The sampling error of the least damped step is half the distance of the two
    half-sample solutions, or half its `change` by the last round of points, whichever
    is larger. The error of a candidate is expected to be its sampling error plus its
    distance from the least damped step, as far as that exceeds the sampling error of
    the latter.
    """
    vector, rebuild = flatten(params)

    def solve(triangle, count, ridge):
        step = jnp.asarray(triangle.damped(count, ridge).step(), vector.dtype)
        found = rebuild(vector + step)
        return found, values_fn(found)

    least_damped = counts[-1], RIDGES[0]
    target = solve(halves.both, *least_damped)[1]
    scale = float(np.linalg.norm(target)) or 1.0
    norm = lambda values: float(np.linalg.norm(values)) / scale

    def candidate(count, ridge):
        found, values = solve(halves.both, count, ridge)
        first = solve(halves.first, count, ridge)[1]
        second = solve(halves.second, count, ridge)[1]
        noise = norm(first - second) / 2
        return Candidate(count, ridge, found, noise, norm(values - target))

    best, estimate = candidate(*least_damped), norm(values_fn(params) - target)
    noise = max(best.noise, norm(change) / 2)
    best = dataclasses.replace(best, noise=noise)
    found = [best]
    if not noise < _CLEAR * estimate:
        others = [(count, ridge) for count in counts for ridge in RIDGES]
        for count, ridge in others[: -len(RIDGES)] + others[1 - len(RIDGES) :]:
            found.append(candidate(count, ridge))
    total = lambda one: one.noise + max(0.0, one.distance - noise)
    finite = [one for one in found if np.isfinite(total(one))]
    best = min(finite, key=total, default=best)
    return Choice(best, estimate, noise, total(best), found)


def data_noise(
    terms: Any,
    halves: Halves,
    num_repeats: int,
    params: Any,
    candidate: Candidate,
    values_fn: Callable[[Any], Values],
    generator: np.random.Generator,
) -> float:
    """Return the error of a candidate that its finite sets of rows cause.

    The fit leaves a residual at each of their rows. As often with the other sign, it
    would have led to another solution: the size of that change, relative to the
    solution. For measured values this is their noise. `halves` holds the rows
    `num_repeats` times.
    """
    vector, rebuild = flatten(candidate.params)
    step = np.asarray(vector - flatten(params)[0])
    gradients = np.zeros((vector.size, _NUM_SIGNS), vector.dtype)
    for rows, jacobian in blocks_of(terms, params):
        left = np.asarray(rows) + np.asarray(jacobian) @ step
        signs = generator.choice((-1.0, 1.0), (left.size, _NUM_SIGNS))
        gradients += num_repeats * np.asarray(jacobian).T @ (signs * left[:, None])
    solver = halves.both.damped(candidate.num_columns, candidate.ridge)
    now = values_fn(candidate.params)
    changes = [
        values_fn(rebuild(vector + jnp.asarray(change, vector.dtype))) - now
        for change in solver.respond(gradients).T
    ]
    scale = float(np.linalg.norm(now)) or 1.0
    return float(np.linalg.norm(changes)) / math.sqrt(_NUM_SIGNS) / scale
