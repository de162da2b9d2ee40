"""What a run measures of itself, within its share of the time."""

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
    align,
    concentration,
    estimator_variance,
    geometric_complexity,
    residual_variance,
    signal_to_noise,
    wasserstein,
)
from ..fields import map_in_blocks
from ..optim import LeastSquares, PointTerm
from ..problems import EQUATIONS
from .state import TrainState, replaced
from .trainer import Trainer, terms_of

NUM_PARTS = 100
_FEWEST_PARTS = 8
_MOST_NUMBERS = 4_000_000  # of all partitions' gradients
_MOST_FOR_COMPLEXITY = 1024  # points
_SEED = 5  # of random numbers that nothing in training depends on
_FEWEST_SECONDS = 5.0  # about what compilation takes must be there before they begin
_AMPLE_SECONDS = 20.0


class Budget:
    """Time for diagnostics: `share` of the seconds that a run is planned to take, with
    more of it early on, where most happens; with 1 there is no limit.

    `spent` is what went before, if the run was resumed. What the first diagnosis takes,
    most of it compilation, is not known before.
    """

    def __init__(self, share: float | int, planned: float, spent: float = 0.0):
        if not 0 <= share <= 1:
            raise InputError(f"`diagnose` must be between 0 and 1, got {share}.")
        self.share, self.planned, self.spent = share, planned, spent
        self._last_cost = 0.0

    @property
    def seconds(self) -> float:
        """All there is."""
        return self.share * self.planned

    @property
    def is_ample(self) -> bool:
        """Whether there is time for what takes long to compile."""
        return self.seconds >= _AMPLE_SECONDS

    def allows(self, elapsed: float) -> bool:
        """Whether there is time for a diagnosis now."""
        if self.share in (0, 1):
            return self.share == 1
        if self.seconds < _FEWEST_SECONDS:
            return False
        due = self.seconds * math.sqrt(min(elapsed / self.planned, 1.0))
        return self.spent + self._last_cost <= due

    def measure(self, fn: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Does it, counts its time, and adds that to what was found."""
        start = time.monotonic()
        found = fn()
        cost = time.monotonic() - start
        is_first, self.spent = self.spent == 0, self.spent + cost
        self._last_cost = 0.0 if is_first else cost
        return found | {"diagnose_seconds": round(self.spent, 3)}


def diagnose(
    trainer: Trainer, state: TrainState, *, has_time: bool = True
) -> dict[str, float]:
    """Numbers for the log; nothing of the run is changed.

    Gradients are those of the loss as it is trained, but on points drawn afresh: on
    those last trained on, the gradient may vanish while the loss does not. The points
    of the equations are partitioned at random; each partition has all points of the
    conditions. The duality gap takes seconds to compile: only if one `has_time`.
    """
    policy, policy_state = trainer.policies[EQUATIONS], state.policies[EQUATIONS]
    rows, params = trainer.pools[EQUATIONS], state.params
    residual = np.asarray(trainer.residual(params, EQUATIONS, rows), float)
    nudged = trainer.residual(_nudged(params), EQUATIONS, rows)
    both = np.asarray(policy.tilt(policy_state)), np.asarray(policy.base(policy_state))
    sizes = np.linalg.norm(residual, axis=1)
    found = {
        **_of_gradients(trainer, state),
        **_of_residuals(sizes, *both),
        **_of_weights(trainer, state),
        **_of_moves(trainer, np.asarray(rows[0]), *both),
        "pool_l2": _root_mean_square(residual),
        "rounding_l2": _root_mean_square(np.asarray(nudged, float) - residual),
        "geometric_complexity": geometric_complexity(_slopes(trainer, params)),
    }
    gap = _gap(trainer, state, sizes) if has_time else None
    return found if gap is None else found | {"duality_gap": gap}


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _nudged(params: Any) -> Any:
    """Every parameter changed in its last digit."""
    random = np.random.default_rng(_SEED)

    def nudge(leaf):
        sign = random.choice([-1.0, 1.0], leaf.shape)
        new = np.asarray(leaf) * (1 + jnp.finfo(leaf.dtype).eps * sign)
        return jnp.asarray(new, leaf.dtype)

    return jax.tree.map(nudge, params)


def _of_gradients(trainer: Trainer, state: TrainState) -> dict[str, float]:
    """Signal and noise, and how the terms' gradients lie to each other."""
    terms = terms_of(trainer, _redrawn(trainer, state))
    num_parts = _num_parts(trainer, terms[EQUATIONS].num_points)
    parts, whole = _gradients(terms, state.params, num_parts)
    parts = np.asarray(parts, float)
    lengths = {EQUATIONS: np.mean(parts, axis=0)}
    lengths |= {name: np.asarray(value, float) for name, value in whole.items()}
    total = parts + sum(lengths[name] for name in whole)
    found = _ratios(total) if num_parts > 2 else {}
    if not whole:
        return found
    cosines = align(np.stack(list(lengths.values())))[0]
    for name, cosine in zip(lengths, cosines, strict=True):
        found[f"gradient {name}"] = float(np.linalg.norm(lengths[name]))
        if name != EQUATIONS:
            found[f"alignment {name}"] = float(cosine)
    return found


def _ratios(gradients: np.ndarray) -> dict[str, float]:
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


def _redrawn(trainer: Trainer, state: TrainState) -> TrainState:
    """The state with points of the equations drawn anew, each by itself, and without
    what gradients do not need."""
    mass = trainer.policies[EQUATIONS].mass(state.policies[EQUATIONS])
    chance = np.cumsum(np.asarray(mass, float))
    count = state.ids[EQUATIONS].size
    random = np.random.default_rng([_SEED, int(state.num_steps)])
    places = np.searchsorted(chance, chance[-1] * random.uniform(size=count))
    ids = jnp.asarray(np.minimum(places, chance.size - 1), jnp.int32)
    fresh = {"ids": state.ids | {EQUATIONS: ids}}
    return replaced(state, optimizer=None, best_params=None, **fresh)


def _num_parts(trainer: Trainer, num_points: int) -> int:
    """About a hundred, fewer for large networks."""
    most = min(NUM_PARTS, _MOST_NUMBERS // trainer.num_params)
    return min(max(_FEWEST_PARTS, most), num_points)


@eqx.filter_jit
def _gradients(
    terms: dict[str, PointTerm], params: Any, num_parts: int
) -> tuple[Float[Array, "parts params"], dict[str, Float[Array, " params"]]]:
    """Of the equations for each partition of their points, and of the conditions."""
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


def _of_residuals(
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


def _of_weights(trainer: Trainer, state: TrainState) -> dict[str, float]:
    """Of the innermost policy: what others around it leave out is not its doing."""
    policy, policy_state = _innermost(trainer.policies[EQUATIONS], state.policies)
    tilt, base = policy.tilt(policy_state), policy.base(policy_state)
    found = concentration(tilt, base)
    share = found.effective_size / tilt.size
    return {"effective_share": share, "entropy": found.entropy, "kl": found.kl}


def _of_moves(
    trainer: Trainer, points: np.ndarray, tilt: np.ndarray, base: np.ndarray
) -> dict[str, float]:
    names = trainer.formulation.domain.coordinates
    moved = zip(names, wasserstein(points, tilt, base), strict=True)
    return {f"wasserstein {name}": float(distance) for name, distance in moved}


@eqx.filter_jit
def _slopes(trainer: Trainer, params: Any) -> Float[Array, "points fields dim"]:
    """The gradient of each field, on points never trained on."""
    points = trainer.held_out[EQUATIONS][0][:_MOST_FOR_COMPLEXITY]
    dim = points.shape[1]
    firsts = [tuple(int(k == j) for k in range(dim)) for j in range(dim)]

    def at(point):
        network = eqx.combine(params, trainer.skeleton)
        wanted = frozenset(firsts)
        jets = trainer.formulation.jets(trainer.embedding, network, point, wanted)
        zero = jnp.zeros((), point.dtype)
        return jnp.stack(
            [jnp.stack([jet.get(i, zero) for i in firsts]) for jet in jets.values()]
        )

    return map_in_blocks(at, points, trainer.block_size)


def _gap(trainer: Trainer, state: TrainState, sizes: np.ndarray) -> float | None:
    """What the tilt at work, with its memory and mix, misses of the risk of the
    residual as it is now, in units of its mean; none if the policy has no potential or
    the potential no dual."""
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
    except InputError:  # a potential whose slope is bounded
        return None
    return float(found.gap) / float(np.mean(sizes))


def _innermost(policy: AbstractPolicy, states: dict[str, Any]) -> tuple[Any, Any]:
    """The policy that others are around, and its state."""
    state = states[EQUATIONS]
    while isinstance(policy, AbstractWrapper):
        policy, state = policy.policy, policy.inner_state(state)
    return policy, state
