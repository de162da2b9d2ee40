"""The settings of a solve, and the default chosen from problem and time."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from ..adapt import AbstractPolicy, Unbiased, presets
from ..core import (
    InputError,
    cast_floats,
    check_count,
    check_kind,
    rebuild,
    use_precision,
)
from ..models import MLP, AbstractArchitecture, Embedding
from ..optim import AbstractOptimizer, Adam, LevenbergMarquardt
from ..problems import EQUATIONS, Formulation, Problem
from ..runs import known_classes as classes_of_rooms
from . import balance as balance_module
from .balance import AbstractBalance, FixedBalance, GradientNorms, TraceBalance
from .continuation import Continuation
from .marching import TimeMarching
from .polish import Polish, PolishDraws, training_share
from .preparation import FormRace

MAX_SECOND_ORDER_PARAMS = 5000  # parameters; see benchmarks/scaling.py


class Recipe(eqx.Module):
    """Settings of a solve.

    `model` is an architecture, or a network of your own: a pytree that maps the vector
    of inputs to one number for each field, or to one for each side of an interface.

    Points: the `policy` draws `num_points` from a pool of `pool_size` every
    `resample_every` steps. It uses the residual on the whole pool, or with
    `scans_pool=False` on the last batch. Each condition has `num_condition_points`; the
    default is an eighth of `num_points`, at least 256, and at least 1,024 where the
    points are finitely many. Conditions are sampled by the same policy if it is
    unbiased, else uniformly.

    Selection: every `check_every` steps the residual is measured on `num_held_out`
    points that are never trained on. The iterate with the lowest weighted sum of mean
    squares is selected.

    With `exact_conditions`, conditions that have an exact form become an ansatz:
    initial values, values on balls and boxes, and values and normal derivatives on
    faces of a box. An `Ansatz` or a `Penalty` in the problem wins. With a `race`, both
    forms are compared before training.

    With `has_scales`, the outputs of the network are multiplied by the largest given
    values of their fields.

    `continuation` says what to do if a steady problem is stuck, and `time_marching` if
    a problem with initial values is; `None` trains on.

    `polish` are the settings of the linear stage after training; `None` leaves it out.

    Length: `max_steps` steps. Without it, a run ends at its time limit, or without one
    after 300 steps of a second-order and 30,000 steps of a first-order optimizer.
    """

    model: AbstractArchitecture | Callable[..., Any] = MLP()
    optimizer: AbstractOptimizer = eqx.field(default_factory=LevenbergMarquardt)
    policy: AbstractPolicy = presets.vrba_sampling(correction=Unbiased())
    balance: AbstractBalance = FixedBalance()
    num_points: int = 8192
    pool_size: int = 65536
    num_condition_points: int | None = None
    resample_every: int = 15
    scans_pool: bool = True
    check_every: int = 15
    num_held_out: int = 16384
    max_steps: int | None = None
    dtype: str = "float64"
    block_size: int | None = None
    exact_conditions: bool = False
    race: FormRace | None = None
    has_scales: bool = False
    continuation: Continuation | None = None
    time_marching: TimeMarching | None = None
    polish: Polish | None = None

    def __check_init__(self):
        """Settings in range."""
        check_count(
            num_points=self.num_points,
            pool_size=self.pool_size,
            resample_every=self.resample_every,
            check_every=self.check_every,
            num_held_out=self.num_held_out,
        )
        check_kind(
            optimizer=(self.optimizer, AbstractOptimizer),
            policy=(self.policy, AbstractPolicy),
            balance=(self.balance, AbstractBalance),
            exact_conditions=(self.exact_conditions, bool),
            has_scales=(self.has_scales, bool),
        )
        if self.race is not None:
            check_kind(race=(self.race, FormRace))
        if self.continuation is not None:
            check_kind(continuation=(self.continuation, Continuation))
        if self.time_marching is not None:
            check_kind(time_marching=(self.time_marching, TimeMarching))
        _check_model(self.model)
        if self.polish is not None:
            check_kind(polish=(self.polish, Polish))
        for name in ("num_condition_points", "max_steps", "block_size"):
            if (count := getattr(self, name)) is not None:
                check_count(**{name: count})
        if self.num_points > self.pool_size:
            raise InputError(
                f"`num_points` is {self.num_points}, more than the pool of "
                f"{self.pool_size}: make `pool_size` larger."
            )
        if self.dtype not in ("float32", "float64"):
            raise InputError(
                f"`dtype` must be 'float32' or 'float64', got {self.dtype!r}."
            )


def _check_model(model: Any) -> None:
    """Raise unless it is an architecture or a network; a class is neither."""
    is_one = isinstance(model, AbstractArchitecture) or callable(model)
    if not is_one or isinstance(model, type):
        hint = f": write `{model.__name__}(...)`" if isinstance(model, type) else ""
        raise InputError(
            "`model` must be an architecture such as `MLP()`, or a network that can be "
            f"called, got {model!r}{hint}."
        )


def with_max_steps(recipe: Recipe, minutes: float | int | None) -> Recipe:
    """The recipe with `max_steps`: more than fit into `minutes`, if given."""
    if recipe.max_steps is not None:
        return recipe
    some, many = 300, 100_000
    if not recipe.optimizer.needs_residuals:
        some, many = 30_000, 1_000_000
    max_steps = some if minutes is None else many
    return dataclasses.replace(recipe, max_steps=max_steps)


def training_alone(recipe: Recipe) -> Recipe:
    """The recipe without the linear stage and without ways out of a run that is stuck.

    They would hide the differences between policies.
    """
    none = {"polish": None, "continuation": None, "time_marching": None}
    return dataclasses.replace(recipe, **none)


def default_recipe(
    problem: Problem | Formulation,
    minutes: float | int | None = None,
    optimizer: AbstractOptimizer | None = None,
    model: AbstractArchitecture | Callable[..., Any] | None = None,
    **changes: Any,
) -> Recipe:
    """The default recipe of a problem, with `changes` of its settings.

    For example `default_recipe(problem, 2, num_points=4096)`. It uses
    Levenberg-Marquardt with unbiased adaptive sampling. The network grows with the
    time, the number of fields and the order of the equations. Several equations share
    the number of residuals.

    A first-order `optimizer` gets more steps between resamplings and a balance of terms
    by gradient norms. A `model` of more than 5,000 parameters is trained by Adam. The
    model of the problem is used unless another one is given.

    The linear stage has half of the time, and `polish=None` leaves it out. With a time
    limit it adds features as far as the time allows.
    """
    if not isinstance(problem, Formulation):
        with use_precision(changes.get("dtype", "float64")):
            problem = Formulation(problem)
    if "polish" not in changes:
        is_timed = minutes is not None
        changes["polish"] = (
            Polish(max_growths=2, max_steps=10) if is_timed else Polish()
        )
    if changes["polish"] is not None:
        check_kind(polish=(changes["polish"], Polish))
    share = training_share(changes["polish"], changes.get("dtype", "float64"), minutes)
    training = None if minutes is None else share * minutes
    recipe = _chosen_recipe(problem, training, optimizer, model)
    known = [field.name for field in dataclasses.fields(Recipe)]
    if unknown := [name for name in changes if name not in known]:
        raise InputError(
            f"A recipe has no `{unknown[0]}`; its settings are {', '.join(known)}."
        )
    if minutes is not None:
        recipe = with_max_steps(recipe, minutes)
    return dataclasses.replace(recipe, **changes)


def _chosen_recipe(formulation, minutes, optimizer, model) -> Recipe:
    model = formulation.problem.model if model is None else model
    chosen = _chosen_model(formulation, minutes) if model is None else model
    if optimizer is None:
        is_large = num_params_of(formulation, chosen) > MAX_SECOND_ORDER_PARAMS
        optimizer = Adam() if is_large else LevenbergMarquardt()
    is_long, is_short = _is_long_or_short(minutes)
    dim = len(formulation.domain.coordinates)
    num_points = 10240 if is_long or dim > 2 else 8192
    pool_size = 131072 if is_long or dim > 2 else 65536
    if is_short or dim == 1:  # a step costs points times parameters squared
        num_points, pool_size = 2048, 16384
    num_equations = len(formulation.terms()[EQUATIONS].labels)
    num_points = max(2048, num_points // num_equations)
    recipe = Recipe(
        chosen,
        optimizer,
        num_points=num_points,
        pool_size=pool_size,
        exact_conditions=True,
        has_scales=True,
    )
    if optimizer.needs_residuals:
        ways_out = {"continuation": Continuation(), "time_marching": TimeMarching()}
        return dataclasses.replace(recipe, balance=TraceBalance(), **ways_out)
    intervals = {"resample_every": 100, "check_every": 100}
    return dataclasses.replace(recipe, balance=GradientNorms(), **intervals)


def _is_long_or_short(minutes: float | int | None) -> tuple[bool, bool]:
    """Whether a run is long, and whether it is short."""
    return minutes is not None and minutes > 5, minutes is not None and minutes < 1.5


def _chosen_model(formulation: Formulation, minutes: float | int | None) -> MLP:
    """A network whose size fits the time, the order and the number of fields."""
    terms = formulation.terms().values()
    order = max(sum(index) for term in terms for index in term.indices)
    num_outputs = formulation.num_outputs
    is_long, is_short = _is_long_or_short(minutes)
    if len(formulation.domain.coordinates) == 1:
        return MLP(width=14, depth=4)
    width = 20 + 2 * (order > 2) + 4 * (num_outputs > 1) + 4 * is_long - 6 * is_short
    return MLP(width=width, depth=4)


def num_params_of(
    formulation: Formulation, model: AbstractArchitecture | Callable[..., Any]
) -> int:
    """The number of trained numbers of a network for this problem."""

    def trained():
        key = jax.random.key(0)
        network = network_of(formulation, model, key=key, dtype=jnp.float32)
        return eqx.filter(network, eqx.is_inexact_array)

    return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(trained)))


def network_of(
    formulation: Formulation,
    model: AbstractArchitecture | Callable[..., Any],
    *,
    key: Key[Array, ""],
    dtype: Any,
) -> Callable[..., Any]:
    """The network before training: built, or the user's own cast to `dtype`."""
    if not isinstance(model, AbstractArchitecture):
        return cast_floats(model, dtype)
    embedding = embedding_of(formulation)
    each = zip(formulation.domain.coordinates, embedding.counts, strict=True)
    return model.build(
        embedding.num_outputs,
        formulation.num_outputs,
        key=key,
        dtype=dtype,
        names=tuple(name for name, count in each for _ in range(count)),
    )


def embedding_of(formulation: Formulation) -> Embedding:
    """The inputs of the network for each coordinate."""
    domain = formulation.domain
    lower, upper = zip(*map(domain.bounds, domain.coordinates), strict=True)
    modes = tuple(formulation.periods.get(name, 0) for name in domain.coordinates)
    features = formulation.fourier_features
    waves = tuple(features.get(name, 0) for name in domain.coordinates)
    return Embedding(lower, upper, modes, waves)


def unreadable_parts(described: Mapping[str, Any]) -> list[str]:
    """The parts of a described recipe that hold functions, so `rebuild` rejects them:
    the optimizer, the policy, or both."""

    def is_readable(part: str) -> bool:
        try:
            rebuild(described[part], known_classes())
        except InputError:
            return False
        return True

    return [part for part in ("optimizer", "policy") if not is_readable(part)]


def known_classes() -> dict[str, type]:
    """The classes that the folder of a solve may name."""
    own = (Recipe, Polish, PolishDraws, FormRace, Continuation, TimeMarching)
    return classes_of_rooms(balance_module) | {kind.__name__: kind for kind in own}
