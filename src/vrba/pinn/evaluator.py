"""Evaluate a network of a problem: fields, residuals and expressions at points."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core import flatten, float_dtype, to_jax_arrays
from ..fields import choose_block_size, downward_closure, map_in_blocks
from ..models import Embedding, SlabEmbedding
from ..problems import EQUATIONS, Formulation, Residual, attach_unknowns, split_unknowns
from ..runs import random_stream, seed_array
from .preparation import Preparation
from .recipe import Recipe, embedding_of, network_of
from .singular import SingularEmbedding

Embedded = Embedding | SlabEmbedding | SingularEmbedding
Rows = tuple[Float[Array, "_ _"], Float[Array, "_ _"]]  # points, given values there


class TermFn(eqx.Module):
    """The residual of one term as a function of trained parameters and a row.

    `skeleton` is the part of the network that is not trained. A `factor` multiplies
    the residual.
    """

    residual: Residual
    embedding: Embedded
    skeleton: Any
    factor: Float[Array, ""] | None = None

    def __call__(self, params: Any, row: Any) -> Float[Array, " eqs"]:
        """The residuals at one point."""
        network = eqx.combine(params, self.skeleton)
        found = self.residual(self.embedding, network, row)
        return found if self.factor is None else self.factor * found

    def parts(self, params: Any, row: Any) -> dict[str, Any]:
        """The residuals at one point, and what they are made of."""
        network = eqx.combine(params, self.skeleton)
        return self.residual.parts(self.embedding, network, row)


class Evaluator(eqx.Module):
    """A problem with the network of a recipe, ready to be evaluated in blocks.

    It holds no points. Parameters are arguments of every method. `skeleton` replaces
    the part that is not trained of the recipe's network, and `embedding` its inputs.
    `factors` multiply the residuals of some terms; as arrays they compile nothing.
    `preparation` is what was found before training; without it, conditions are exact
    where the recipe asks for it, weights and scales are one.
    """

    formulation: Formulation
    embedding: Embedded
    skeleton: Any
    terms: dict[str, TermFn]
    block_size: int
    recipe: Recipe
    preparation: Preparation
    root: np.ndarray  # the seed; an array, so that another seed compiles nothing

    def __init__(
        self,
        formulation: Formulation,
        recipe: Recipe,
        seed: int,
        *,
        skeleton: Any = None,
        embedding: Embedded | None = None,
        block_size: int | None = None,
        factors: dict[str, Float[Array, ""]] | None = None,
        preparation: Preparation | None = None,
    ):
        self.preparation = preparation or Preparation(recipe.exact_conditions)
        self.recipe, self.root = recipe, seed_array(seed)
        self.formulation = formulation = self.preparation.applied(formulation)
        self.embedding = embedding or embedding_of(formulation)
        residuals = formulation.terms()
        if skeleton is None:
            network = self._initial_network()
            skeleton = eqx.filter(network, eqx.is_inexact_array, inverse=True)
        self.skeleton, given = skeleton, factors or {}
        self.terms = {
            name: TermFn(residual, self.embedding, self.skeleton, given.get(name))
            for name, residual in residuals.items()
        }
        size = block_size or recipe.block_size
        self.block_size = size or self._default_block_size()

    def _default_block_size(self) -> int:
        channels = (
            len(downward_closure(t.residual.indices)) for t in self.terms.values()
        )
        width = getattr(self.recipe.model, "width", 32)
        return choose_block_size(max(channels) * width, self.dtype)

    @property
    def dtype(self) -> Any:
        """The floating type of all numbers."""
        return float_dtype(self.recipe.dtype)

    @property
    def seed(self) -> int:
        """The seed of all random numbers of the run."""
        return int(self.root)

    @property
    def term_weights(self) -> dict[str, float]:
        """The weight of each term in the loss, before it is balanced in training.

        A weight of the condition's `Penalty` replaces that of the preparation.
        """
        found = {EQUATIONS: 1.0}
        for name, condition in self.formulation.conditions.items():
            given = condition.penalty.weight
            weight = self.preparation.weights.get(name, 1.0) if given is None else given
            found[name] = float(weight)
        return found

    @property
    def num_params(self) -> int:
        """The number of trained numbers."""
        return jax.eval_shape(lambda: flatten(self.initial_params())[0]).size

    def initial_params(self) -> Any:
        """The parameters before training."""
        return to_jax_arrays(eqx.filter(self._initial_network(), eqx.is_inexact_array))

    def _initial_network(self) -> Any:
        """The network before training, with the unknown coefficients beside it."""
        dtype, key = self.dtype, random_stream(self.root, 0)
        model = self.recipe.model
        network = network_of(self.formulation, model, key=key, dtype=dtype)
        return attach_unknowns(network, self.formulation.problem.unknowns, dtype)

    @property
    def factors(self) -> dict[str, Float[Array, ""]]:
        """The factors of the terms that have one."""
        each = ((name, term.factor) for name, term in self.terms.items())
        return {name: factor for name, factor in each if factor is not None}

    def sample(self, name: str, num_points: int, *, seed: int) -> Any:
        """Points of a term with their given values, as NumPy arrays."""
        return self.terms[name].residual.sample(num_points, seed=seed)

    def unknowns(self, params: Any) -> dict[str, float]:
        """The values of the unknown coefficients."""
        problem = self.formulation.problem
        _, found = split_unknowns(eqx.combine(params, self.skeleton), problem.unknowns)
        return {name: float(value) for name, value in found.items()}

    def with_factor(
        self, factor: Array | float, coefficient: str | None
    ) -> "Evaluator":
        """The evaluator of the equations with a changed coefficient, or with changed
        derivatives of the highest order."""
        factor = jnp.asarray(factor, self.dtype)
        residual = self.terms[EQUATIONS].residual.with_factor(factor, coefficient)
        return eqx.tree_at(lambda one: one.terms[EQUATIONS].residual, self, residual)

    def fields(self, params: Any, points: Float[Array, "points dim"]) -> dict[str, Any]:
        """Every field at many points."""
        return _fields(self, params, points)

    def residual(
        self, params: Any, name: str, rows: Rows
    ) -> Float[Array, "points eqs"]:
        """The residuals of a term at many points."""
        return _evaluate(self.terms[name], params, rows, self.block_size)

    def evaluate(
        self,
        params: Any,
        expression: Callable[..., dict[str, Any]],
        points: Float[Array, "points dim"],
    ) -> dict[str, Any]:
        """Expressions written as equations are, at many points."""
        residual = Residual(self.formulation, None, expression)
        term = TermFn(residual, self.embedding, self.skeleton)
        rows = points, jnp.zeros((len(points), 0), points.dtype)
        found = _evaluate(term, params, rows, self.block_size)
        return {name: found[:, k] for k, name in enumerate(residual.labels)}


@eqx.filter_jit
def _evaluate(term, params, rows, block_size):
    return map_in_blocks(lambda row: term(params, row), rows, block_size)


@eqx.filter_jit
def _fields(evaluator, params, points):
    zero = (0,) * points.shape[1]

    def at(point):
        network = eqx.combine(params, evaluator.skeleton)
        jets = evaluator.formulation.jets(
            evaluator.embedding, network, point, frozenset([zero])
        )
        return {name: jet[zero] for name, jet in jets.items()}

    return map_in_blocks(at, points, evaluator.block_size)
