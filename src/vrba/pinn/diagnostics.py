"""Diagnostics of a run, within a fraction of its time."""

import math
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..adapt import AbstractPolicy, AbstractTilting, AbstractWrapper, duality
from ..core import InputError, flatten_gradient
from ..diagnose import (
    cosine_similarity,
    estimator_variance,
    geometric_complexity,
    measure_concentration,
    residual_variance,
    signal_to_noise,
    wasserstein_distance,
)
from ..fields import map_in_blocks
from ..optim import LeastSquares, PointTerm
from ..problems import EQUATIONS
from .state import TrainState, replaced
from .trainer import Trainer, terms_of

NUM_PARTS = 100
_MIN_PARTS = 8
_MAX_NUMBERS = 4_000_000  # of the gradients of all partitions
_COMPLEXITY_POINTS = 1024
_SEED = 5  # training depends on none of these random numbers
_MIN_SECONDS = 5.0  # about the time of their compilation
_AMPLE_SECONDS = 20.0


class Budget:
    """Time for diagnostics: a `fraction` of the planned seconds of a run.

    More of it is spent early, where most happens. A fraction of 1 means no limit.
    `spent` is the time used before a resume. The first diagnosis counts as free, since
    its compilation time is unknown.
    """

    def __init__(self, fraction: float | int, planned: float, spent: float = 0.0):
        if not 0 <= fraction <= 1:
            raise InputError(f"`diagnose` must be between 0 and 1, got {fraction}.")
        self.fraction, self.planned, self.spent = fraction, planned, spent
        self._last_cost = 0.0

    @property
    def seconds(self) -> float:
        """The whole budget."""
        return self.fraction * self.planned

    @property
    def is_ample(self) -> bool:
        """Whether it also covers diagnostics that take long to compile."""
        return self.seconds >= _AMPLE_SECONDS

    def allows(self, elapsed: float) -> bool:
        """Whether there is time for a diagnosis now."""
        if self.fraction in (0, 1):
            return self.fraction == 1
        if self.seconds < _MIN_SECONDS:
            return False
        due = self.seconds * math.sqrt(min(elapsed / self.planned, 1.0))
        return self.spent + self._last_cost <= due

    def measure(self, fn: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Run a diagnosis, and add the time spent so far to its result."""
        start = time.monotonic()
        found = fn()
        cost = time.monotonic() - start
        is_first, self.spent = self.spent == 0, self.spent + cost
        self._last_cost = 0.0 if is_first else cost
        return found | {"diagnose_seconds": round(self.spent, 3)}


def diagnose(
    trainer: Trainer, state: TrainState, *, has_time: bool = True
) -> dict[str, float]:
    """Numbers for the log; the run itself is not changed.

    Gradients are those of the training loss, on newly drawn points: on the last batch
    the gradient may vanish while the loss does not. The points of the equations are
    partitioned at random; each partition gets all points of the conditions. The duality
    gap takes seconds to compile and is measured only if one `has_time`.
    """
    policy, policy_state = trainer.policies[EQUATIONS], state.policies[EQUATIONS]
    rows, params = trainer.pools[EQUATIONS], state.params
    residual = np.asarray(trainer.evaluator.residual(params, EQUATIONS, rows), float)
    perturbed = trainer.evaluator.residual(_perturbed(params), EQUATIONS, rows)
    both = np.asarray(policy.tilt(policy_state)), np.asarray(policy.base(policy_state))
    sizes = np.linalg.norm(residual, axis=1)
    found = {
        **_gradient_measures(trainer, state),
        **_residual_measures(sizes, *both),
        **_weight_measures(trainer, state),
        **_transport_measures(trainer, np.asarray(rows[0]), *both),
        "pool_l2": _root_mean_square(residual),
        "rounding_l2": _root_mean_square(np.asarray(perturbed, float) - residual),
        "geometric_complexity": geometric_complexity(_field_gradients(trainer, params)),
    }
    gap = _gap(trainer, state, sizes) if has_time else None
    return found if gap is None else found | {"duality_gap": gap}


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _perturbed(params: Any) -> Any:
    """Every parameter changed in its last digit."""
    random = np.random.default_rng(_SEED)

    def perturb(leaf):
        sign = random.choice([-1.0, 1.0], leaf.shape)
        new = np.asarray(leaf) * (1 + jnp.finfo(leaf.dtype).eps * sign)
        return jnp.asarray(new, leaf.dtype)

    return jax.tree.map(perturb, params)


def _gradient_measures(trainer: Trainer, state: TrainState) -> dict[str, float]:
    """Signal-to-noise ratios, and angles between the gradients of the terms."""
    terms = terms_of(trainer, _with_new_points(trainer, state))
    num_parts = _num_parts(trainer, terms[EQUATIONS].num_points)
    parts, whole = _gradients(terms, state.params, num_parts)
    parts = np.asarray(parts, float)
    lengths = {EQUATIONS: np.mean(parts, axis=0)}
    lengths |= {name: np.asarray(value, float) for name, value in whole.items()}
    total = parts + sum(lengths[name] for name in whole)
    found = _snr_measures(total) if num_parts > 2 else {}
    if not whole:
        return found
    cosines = cosine_similarity(np.stack(list(lengths.values())))[0]
    for name, cosine in zip(lengths, cosines, strict=True):
        found[f"gradient {name}"] = float(np.linalg.norm(lengths[name]))
        if name != EQUATIONS:
            found[f"alignment {name}"] = float(cosine)
    return found


def _snr_measures(gradients: np.ndarray) -> dict[str, float]:
    ours, published = (
        signal_to_noise(gradients, has_unit_length=is_unit) for is_unit in (False, True)
    )
    return {
        "snr": ours.ratio,
        "snr_error": ours.ratio_error,
        "snr_debiased": ours.debiased,
        "snr_debiased_error": ours.debiased_error,
        "snr_unit": published.ratio,
        "snr_unit_error": published.ratio_error,
        "snr_floor": ours.floor,
        "num_parts": ours.num_parts,
    }


def _with_new_points(trainer: Trainer, state: TrainState) -> TrainState:
    """The state with new independent points of the equations, and without the parts
    that gradients do not need."""
    mass = trainer.policies[EQUATIONS].mass(state.policies[EQUATIONS])
    chance = np.cumsum(np.asarray(mass, float))
    count = state.ids[EQUATIONS].size
    random = np.random.default_rng([_SEED, int(state.num_steps)])
    places = np.searchsorted(chance, chance[-1] * random.uniform(size=count))
    ids = jnp.asarray(np.minimum(places, chance.size - 1), jnp.int32)
    fresh = {"ids": state.ids | {EQUATIONS: ids}}
    return replaced(state, optimizer=None, best_params=None, **fresh)


def _num_parts(trainer: Trainer, num_points: int) -> int:
    """A hundred partitions, fewer for large networks."""
    most = min(NUM_PARTS, _MAX_NUMBERS // trainer.evaluator.num_params)
    return min(max(_MIN_PARTS, most), num_points)


@eqx.filter_jit
def _gradients(
    terms: dict[str, PointTerm], params: Any, num_parts: int
) -> tuple[Float[Array, "parts params"], dict[str, Float[Array, " params"]]]:
    """Gradients of the equations on each partition, and of the conditions."""
    main = terms[EQUATIONS]
    size = main.num_points // num_parts
    shape = (num_parts, size)
    cut = lambda leaf: leaf[: num_parts * size].reshape(*shape, *leaf.shape[1:])
    gradient = lambda term: flatten_gradient(
        LeastSquares(term).value_and_gradient(params)[1]
    )

    def of_part(part):
        points, weights = part
        return gradient(PointTerm(main.residual_fn, points, weights, main.weight, size))

    parts = jax.tree.map(cut, (main.points, main.point_weights))
    others = {name: term for name, term in terms.items() if name != EQUATIONS}
    return jax.lax.map(of_part, parts), jax.tree.map(
        gradient, others, is_leaf=lambda x: isinstance(x, PointTerm)
    )


def _residual_measures(
    sizes: np.ndarray, tilt: np.ndarray, base: np.ndarray
) -> dict[str, float]:
    spread = residual_variance(sizes, tilt, base)
    mean = float(np.sum(base * sizes) / np.sum(base))
    estimate = estimator_variance(sizes, tilt, base)
    return {
        "scatter": spread.of_size**0.5 / mean if mean > 0 else 0.0,
        "variance_r": spread.of_size,
        "variance_r2": spread.of_square,
        "variance_r_tilted": spread.of_size_tilted,
        "variance_r2_tilted": spread.of_square_tilted,
        "estimator_plain": estimate.plain,
        "estimator_weighted": estimate.weighted,
        "estimator_normalised": estimate.normalised,
    }


def _weight_measures(trainer: Trainer, state: TrainState) -> dict[str, float]:
    """Concentration of the innermost policy, without the effect of its wrappers."""
    policy, policy_state = _innermost(trainer.policies[EQUATIONS], state.policies)
    tilt, base = policy.tilt(policy_state), policy.base(policy_state)
    found = measure_concentration(tilt, base)
    share = found.effective_size / tilt.size
    return {"effective_share": share, "entropy": found.entropy, "kl": found.kl}


def _transport_measures(
    trainer: Trainer, points: np.ndarray, tilt: np.ndarray, base: np.ndarray
) -> dict[str, float]:
    names = trainer.evaluator.formulation.domain.coordinates
    moved = zip(names, wasserstein_distance(points, tilt, base), strict=True)
    return {f"wasserstein {name}": float(distance) for name, distance in moved}


@eqx.filter_jit
def _field_gradients(
    trainer: Trainer, params: Any
) -> Float[Array, "points fields dim"]:
    """The gradient of each field on held-out points."""
    points = trainer.held_out[EQUATIONS][0][:_COMPLEXITY_POINTS]
    evaluator = trainer.evaluator
    dim = points.shape[1]
    firsts = [tuple(int(k == j) for k in range(dim)) for j in range(dim)]

    def at(point):
        network = eqx.combine(params, trainer.evaluator.skeleton)
        wanted = frozenset(firsts)
        jets = evaluator.formulation.jets(evaluator.embedding, network, point, wanted)
        zero = jnp.zeros((), point.dtype)
        return jnp.stack(
            [jnp.stack([jet.get(i, zero) for i in firsts]) for jet in jets.values()]
        )

    return map_in_blocks(at, points, trainer.evaluator.block_size)


def _gap(trainer: Trainer, state: TrainState, sizes: np.ndarray) -> float | None:
    """The duality gap of the current tilt for the current residual, in mean residuals;
    `None` if the policy has no potential or the potential no dual."""
    policy, policy_state = _innermost(trainer.policies[EQUATIONS], state.policies)
    if not isinstance(policy, AbstractTilting) or policy_state.weight.ndim > 1:
        return None
    both = policy.tilt(policy_state), policy.base(policy_state)
    sizes_now = jnp.asarray(sizes, policy_state.weight.dtype)
    heat = policy.scale(policy_state, sizes_now).temperature
    if not bool(jnp.isfinite(heat) & (heat > 0)):
        return None
    try:
        found = duality(policy.potential, sizes_now, heat, *both)
    except InputError:  # a potential with a bounded derivative
        return None
    return float(found.gap) / float(np.mean(sizes))


def _innermost(policy: AbstractPolicy, states: dict[str, Any]) -> tuple[Any, Any]:
    """The innermost policy, without wrappers, and its state."""
    state = states[EQUATIONS]
    while isinstance(policy, AbstractWrapper):
        policy, state = policy.policy, policy.inner_state(state)
    return policy, state
