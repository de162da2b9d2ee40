"""Steps of the linear stage: Gauss-Newton around the trained network."""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..core import flatten
from ..fields import choose_block_size, downward_closure
from ..models import Polished, linear_parts, polish
from ..optim import Damped, LeastSquares, PointTerm, StreamedQR, jacobian_blocks
from ..problems import EQUATIONS, NetworkWithUnknowns, split_unknowns
from ..runs import random_stream
from .evaluator import Evaluator, Rows
from .polish import Polish
from .polish_choice import (
    RIDGES,
    Candidate,
    Choice,
    Halves,
    blocks_of,
    choose_step,
    data_noise,
)
from .polish_points import draw_term
from .recipe import embedding_of
from .singular import singular_functions, with_singular

NUM_DIRECTIONS = 6
_NUM_VALUES = 8192  # points where solutions are compared
_MIN_CONDITION_POINTS = 1024
_ROUND_POINTS = 2048  # a round has a multiple of so many points


class PolishState(eqx.Module):
    """What the next step needs: the coefficients, and directions for leverage."""

    params: Any
    directions: Any
    num_steps: Int[Array, ""]


class PolishInfo(eqx.Module):
    """What a step found: the choice, and the quadratic part that the choice neglects.

    `loss` is that before the step. `data_noise` is the error that measured values
    cause. `rounds` holds the solution after each round.
    """

    choice: Choice
    loss: float
    remainder: float
    data_noise: float
    seconds: dict[str, float]
    rounds: list[Any]


@dataclasses.dataclass(frozen=True)
class PolishRounds:
    """The rows of some rounds of points, and the solution after each round.

    Every round has all rows of finite sets of data: `finite`, with their triangle.
    """

    halves: Halves
    finite: list[PointTerm]
    triangle: StreamedQR | None
    directions: Any  # for the leverage of the next round; `None` without
    solutions: list[Any]
    seconds: dict[str, float]


class Polisher(eqx.Module):
    """The linear stage of a trained network; `sample_fn` is `evaluator.sample`."""

    settings: Polish
    evaluator: Evaluator
    trained: Any
    finite_pools: dict[str, Rows]
    points: Float[Array, "points dim"]
    entropy: tuple[int, ...] = eqx.field(static=True)
    num_growths: int = eqx.field(static=True)
    sample_fn: Callable[..., Any]

    def __init__(
        self,
        settings: Polish,
        evaluator: Evaluator,
        params: Any,
        pools: dict[str, Rows],
        num_growths: int = 0,
        sample_fn: Callable[..., Any] | None = None,
    ):
        self.settings, self.num_growths = settings, num_growths
        network = polished_network(settings, evaluator, params, num_growths)
        self.trained, skeleton = eqx.partition(network, trained_parts(network))
        self.evaluator = polished_evaluator(settings, evaluator, skeleton)
        self.sample_fn = sample_fn or evaluator.sample
        terms = self.evaluator.terms
        self.finite_pools = {
            name: pools[name]
            for name, term in terms.items()
            if term.residual.num_available is not None
        }
        self.entropy = (evaluator.seed, 2)
        domain = evaluator.formulation.domain
        count = min(_NUM_VALUES, domain.num_available or _NUM_VALUES)
        points, _ = self.sample_fn(EQUATIONS, count, seed=self._integer(0))
        self.points = jnp.asarray(points, evaluator.dtype)

    @property
    def num_columns(self) -> int:
        """The number of coefficients."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.trained))

    @property
    def num_rounds(self) -> int:
        """The number of rounds; another round of a finite set adds nothing."""
        return 1 if EQUATIONS in self.finite_pools else self.settings.num_rounds

    def num_points(self, name: str) -> int:
        """The number of points of a term in one round."""
        condition = self.evaluator.formulation.conditions.get(name)
        if condition is not None and condition.default_num_points is not None:
            return 2 * condition.default_num_points
        num_equations = len(self.evaluator.terms[EQUATIONS].residual.labels)
        rows = self.settings.rows_per_column * self.num_columns
        count = rows / num_equations / self.num_rounds
        if name != EQUATIONS:
            least = _MIN_CONDITION_POINTS / self.num_rounds
            return 2 * math.ceil(max(count / 8, least) / 2)
        return _ROUND_POINTS * math.ceil(count / _ROUND_POINTS)

    def network(self, params: Any) -> Any:
        """The whole polished network."""
        return eqx.combine(params, self.evaluator.skeleton)

    def linear_part(self, params: Any) -> Any:
        """The coefficients among all arrays of the polished network."""
        return eqx.filter(params, trained_parts(self.network(self.trained)))

    def init(self) -> PolishState:
        """The state before the first step: the trained network."""
        zeros = jnp.zeros((NUM_DIRECTIONS, self.num_columns), self.evaluator.dtype)
        return PolishState(self.trained, zeros, jnp.zeros((), jnp.int32))

    def adopt(self, state: PolishState) -> PolishState:
        """The state of a stage with fewer features, with zeros for the new ones."""
        vector, rebuild = flatten(self.trained)
        known = flatten(state.params)[0]
        missing = vector.size - known.size
        params = rebuild(jnp.pad(known, (0, missing)))
        directions = jnp.pad(state.directions, ((0, 0), (0, missing)))
        return PolishState(params, directions, state.num_steps)

    def begin(self, state: PolishState) -> PolishRounds:
        """The rounds of a step before the first."""
        seconds, params = {"draw": 0.0, "factor": 0.0}, state.params
        halves = Halves.empty(self.num_columns, self.evaluator.dtype)
        directions = state.directions if int(state.num_steps) else None
        names = [name for name in self.finite_pools if name != EQUATIONS]
        finite = self._draw(names, params, None, (3, int(state.num_steps), 0))
        triangle = halves.both.absorb(blocks_of(finite, params)) if finite else None
        return PolishRounds(halves, finite, triangle, directions, [], seconds)

    def add_round(self, state: PolishState, rounds: PolishRounds) -> PolishRounds:
        """Draw points, factorise their rows, and solve."""
        begun = time.monotonic()
        vector, rebuild = flatten(state.params)
        seed = (3, int(state.num_steps), len(rounds.solutions))
        directions = rounds.directions
        trees = None if directions is None else jax.vmap(rebuild)(directions)
        present = rounds.solutions[-1] if rounds.solutions else state.params
        names = [
            name
            for name in self.evaluator.terms
            if name == EQUATIONS or name not in self.finite_pools
        ]
        terms = self._draw(names, present, trees, seed)
        drawn = time.monotonic()
        halves = rounds.halves.absorb(terms, rounds.triangle, state.params)
        damped = halves.both.damped(None, RIDGES[0])
        present = rebuild(vector + jnp.asarray(damped.step(), vector.dtype))
        seconds = {
            "draw": rounds.seconds["draw"] + drawn - begun,
            "factor": rounds.seconds["factor"] + time.monotonic() - drawn,
        }
        return dataclasses.replace(
            rounds,
            halves=halves,
            directions=self._directions(damped, seed),
            solutions=[*rounds.solutions, present],
            seconds=seconds,
        )

    def complete(
        self,
        state: PolishState,
        begun: PolishRounds | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> PolishRounds:
        """All rounds of a step, or those before it was stopped."""
        rounds = self.begin(state) if begun is None else begun
        while not self.is_complete(rounds) and not is_stopped():
            rounds = self.add_round(state, rounds)
        return rounds

    def is_complete(self, rounds: PolishRounds) -> bool:
        """Whether a step has all of its rounds."""
        return len(rounds.solutions) >= self.num_rounds

    def step(
        self, state: PolishState, begun: PolishRounds | None = None
    ) -> tuple[PolishState, PolishInfo]:
        """One Gauss-Newton step; a step that is not accepted keeps the solution.

        `begun` holds rounds of this step that exist already.
        """
        rounds = self.complete(state, begun)
        start, halves, params = time.monotonic(), rounds.halves, state.params
        values = [self._values(each) for each in rounds.solutions[-2:]]
        change = values[-1] - values[0]
        choice = choose_step(halves, params, self._counts(), self._values, change)
        seconds = rounds.seconds | {"choose": time.monotonic() - start}
        noise = self._data_noise(state, rounds, choice.candidate)
        loss = halves.both.square_sum / self.num_rounds
        remainder = self._remainder(params, choice.candidate.params)
        params = choice.candidate.params if choice.is_accepted else params
        state = PolishState(params, rounds.directions, state.num_steps + 1)
        found = (choice, loss, remainder, noise, seconds, rounds.solutions)
        return state, PolishInfo(*found)

    def _data_noise(
        self, state: PolishState, rounds: PolishRounds, candidate: Candidate
    ) -> float:
        """The error that finite sets of data cause; zero without any."""
        if not rounds.finite:
            return 0.0
        return data_noise(
            rounds.finite,
            rounds.halves,
            self.num_rounds,
            state.params,
            candidate,
            self._values,
            np.random.default_rng((*self.entropy, 3, int(state.num_steps), 98)),
        )

    def held_out_loss(self, state: PolishState, rounds: PolishRounds) -> float:
        """The linearised loss of the solution of some rounds, on other points.

        It measures the columns, also where the equations are not linear.
        """
        seed = (3, int(state.num_steps), self.num_rounds)
        terms = self._draw(list(self.evaluator.terms), state.params, None, seed)
        before, after = flatten(state.params)[0], flatten(rounds.solutions[-1])[0]
        objective = LeastSquares(*terms)
        return sum(
            float(jnp.sum((rows + jacobian @ (after - before)) ** 2))
            for rows, jacobian in jacobian_blocks(objective, state.params)
        )

    def _remainder(self, before: Any, after: Any) -> float:
        """The quadratic part of the residual along a step, relative to the residual.

        Zero for linear equations. `[r(p + d) + r(p - d) - 2 r(p)] / 2` has no linear
        part.
        """
        other = jax.tree.map(lambda old, new: 2 * old - new, before, after)
        forward, now, backward = (
            self.residual(params) for params in (after, before, other)
        )
        quadratic = (forward + backward) / 2 - now
        scale = float(np.linalg.norm(now))
        return float(np.linalg.norm(quadratic)) / scale if scale > 0 else 0.0

    def residual(self, params: Any) -> Float[np.ndarray, "points eqs"]:
        """The residuals of the equations at the points where fields are compared."""
        rows = self.points, jnp.zeros((len(self.points), 0), self.points.dtype)
        return np.asarray(self.evaluator.residual(params, EQUATIONS, rows))

    def _draw(
        self, names: list[str], params: Any, directions: Any, seed: tuple[int, ...]
    ) -> list[PointTerm]:
        """New points of these terms; a finite set is used as a whole."""
        terms, order = [], sorted(self.evaluator.terms)
        for name in names:
            k, count = order.index(name), self.num_points(name)
            pool: Any = self.finite_pools.get(name)
            if pool is None:
                size = self.settings.pool_factor * 2**self.num_growths * count
                rows = self.sample_fn(name, size, seed=self._integer(*seed, k, 0))
                pool = tuple(jnp.asarray(part, self.evaluator.dtype) for part in rows)
            drawn = draw_term(
                self.evaluator,
                name,
                params,
                pool,
                count,
                self.settings.draws,
                directions,
                seed=np.random.SeedSequence((*self.entropy, *seed, k, 1)),
            )
            terms.append(drawn)
        return terms

    def _directions(self, damped: Damped, seed: tuple[int, ...]) -> Any:
        generator = np.random.default_rng((*self.entropy, *seed, 99))
        normal = generator.standard_normal((self.num_columns, NUM_DIRECTIONS))
        return jnp.asarray(damped.pull(normal).T, self.evaluator.dtype)

    def _counts(self) -> tuple[int, ...]:
        """Numbers of leading columns: without features, and with more and more."""
        network = split_unknowns(
            self.trained, self.evaluator.formulation.problem.unknowns
        )[0]
        sizes = [each.coefficients.size for each in network.features]
        rest = [sum(sizes[k:]) for k in range(1, len(sizes) + 1)]
        without = self.num_columns - sum(sizes)
        counts = [self.num_columns - part for part in rest]
        return tuple(([without] if without else []) + counts)

    def _values(self, params: Any) -> Float[np.ndarray, " values"]:
        found = self.evaluator.fields(params, self.points)
        return np.concatenate([np.asarray(value, float) for value in found.values()])

    def _integer(self, *numbers: int) -> int:
        seed = np.random.SeedSequence((*self.entropy, *numbers))
        return int(seed.generate_state(1)[0])


def polished_network(
    settings: Polish, evaluator: Evaluator, params: Any, num_growths: int = 0
) -> Any:
    """The network with its tangent part and features, before the first step."""
    whole = eqx.combine(params, evaluator.skeleton)
    formulation = evaluator.formulation
    base, _ = split_unknowns(whole, formulation.problem.unknowns)
    num_outputs = formulation.num_outputs
    size = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(base, eqx.is_array)))
    polished = polish(
        base,
        embedding_of(formulation).num_outputs,
        num_outputs,
        _batches(settings.num_features // num_outputs, num_growths),
        num_singular=len(singular_functions(settings, formulation)),
        has_tangent=settings.has_tangent_of(size),
        gain=settings.gain,
        dtype=evaluator.dtype,
        key=random_stream(evaluator.root, 2),
    )
    if whole is base:
        return polished
    return NetworkWithUnknowns(whole.trained, polished)


def _batches(num_features: int, num_growths: int) -> tuple[int, ...]:
    """Sizes of the batches of features; each growth doubles the number of features."""
    more = [num_features * 2**k for k in range(num_growths)]
    return tuple(count for count in (num_features, *more) if count)


def trained_parts(network: Polished | NetworkWithUnknowns) -> Any:
    """A tree of booleans: true for the arrays that the linear stage solves for."""
    if isinstance(network, Polished):
        return linear_parts(network)
    nothing = jax.tree.map(lambda _: False, network)
    trained = jax.tree.map(lambda _: True, network.trained)
    where = lambda tree: (tree.trained, tree.network)
    return eqx.tree_at(where, nothing, (trained, linear_parts(network.network)))


def polished_evaluator(
    settings: Polish, evaluator: Evaluator, skeleton: Any
) -> Evaluator:
    """An evaluator of the polished network, whose features need most memory."""
    formulation = evaluator.formulation
    return Evaluator(
        formulation,
        evaluator.recipe,
        evaluator.seed,
        skeleton=skeleton,
        embedding=with_singular(evaluator.embedding, settings, formulation),
        block_size=_block_size(evaluator, settings.num_features),
        factors=evaluator.factors,
        preparation=evaluator.preparation,
    )


def _block_size(evaluator: Evaluator, num_features: int) -> int:
    residuals = [term.residual for term in evaluator.terms.values()]
    channels = max(len(downward_closure(each.indices)) for each in residuals)
    return choose_block_size(channels * num_features, evaluator.dtype)
