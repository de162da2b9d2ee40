"""Line searches on functions of one variable: kept steps meet their conditions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rooms import concrete
from vrba.optim import (
    AbstractSearch,
    Backtracking,
    Fallback,
    HagerZhang,
    StrongWolfe,
    Trial,
)

SEARCHES = {cls.__name__: cls() for cls in concrete("vrba.optim", AbstractSearch)}
EACH_SEARCH = pytest.mark.parametrize("name", sorted(SEARCHES))

VALLEYS = [
    lambda t: (t - 1.0) ** 2,
    lambda t: jnp.cosh(t - 2.0),
    lambda t: -t / (t**2 + 2.0),  # More and Thuente's first
    lambda t: (t + 0.004) ** 5 - 2.0 * (t + 0.004) ** 4,  # their second
    lambda t: jnp.sin(3.0 * t - 1.8) + 0.1 * t**2,
    lambda t: (
        jnp.where(t < 3.0, -jnp.log(3.0 - t) + 2.0 * (t - 3.0), jnp.nan) * -1.0
        + t**2 * 0.9
    ),
    lambda t: jnp.where(t < 0.5, (t - 0.4) ** 2, jnp.inf),
]


@eqx.filter_jit
def run(search, valley, first_step):
    """The kept trial, whether there is one, and the number of trials."""

    def at(step):
        function = lambda t: jax.lax.switch(valley, VALLEYS, t)
        return Trial(step, *jax.value_and_grad(function)(step))

    zero = jnp.zeros_like(first_step)
    origin = at(zero)

    def body(carry):
        state, kept, has_kept = carry
        trial = at(state.next_step)
        state = search.update(state, origin, trial)
        choose = lambda a, b: jnp.where(state.is_kept, a, b)
        return state, jax.tree.map(choose, trial, kept), has_kept | state.is_kept

    start = (search.init(origin, first_step), origin, jnp.zeros((), bool))
    state, kept, has_kept = jax.lax.while_loop(
        lambda carry: ~carry[0].is_done, body, start
    )
    return origin, kept, has_kept, state.num_trials


@EACH_SEARCH
@given(valley=st.integers(0, len(VALLEYS) - 1), power=st.floats(-4, 4))
def test_a_kept_step_meets_the_conditions_of_its_search(name, valley, power):
    search, first = SEARCHES[name], jnp.asarray(10.0**power)
    if name == "StrongWolfe":  # 20 trials are too few from some first steps
        search = StrongWolfe(max_trials=60)
    origin, kept, has_kept, count = run(search, jnp.asarray(valley), first)
    assert has_kept, f"no step after {count} trials"
    assert kept.value < origin.value
    if name == "StrongWolfe":
        assert kept.value <= origin.value + 1e-4 * kept.step * origin.slope
        assert abs(kept.slope) <= 0.9 * abs(origin.slope)
    if name == "HagerZhang":
        is_decreased = kept.value <= origin.value + 0.1 * kept.step * origin.slope
        is_nearly = kept.slope <= (2 * 0.1 - 1) * origin.slope
        assert kept.slope >= 0.9 * origin.slope
        assert is_decreased or is_nearly


def test_a_tight_strong_wolfe_search_finds_the_minimum():
    search = StrongWolfe(1e-8, 1e-6, max_trials=60)
    for valley, minimum in [(0, 1.0), (1, 2.0), (2, np.sqrt(2))]:
        _, kept, has_kept, _ = run(search, jnp.asarray(valley), jnp.asarray(0.1))
        assert has_kept
        np.testing.assert_allclose(kept.step, minimum, rtol=1e-5)


def feed(search, origin, values):
    """The search after trials with these values and slopes."""
    state = search.init(origin, jnp.asarray(1.0))
    kept = []
    for value, slope in values:
        trial = Trial(state.next_step, jnp.asarray(value), jnp.asarray(slope))
        state = search.update(state, origin, trial)
        kept.append(bool(state.is_kept))
        if state.is_done:
            break
    return state, kept


def trial_at_zero(value=1.0, slope=-1.0):
    return Trial(jnp.asarray(0.0), jnp.asarray(value), jnp.asarray(slope))


@EACH_SEARCH
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_trial_that_is_not_finite_shrinks_the_step(name, bad):
    origin = trial_at_zero()
    state, kept = feed(SEARCHES[name], origin, [(bad, bad)])
    assert kept == [False] and not state.is_done
    assert 0 < state.next_step <= 0.5


@EACH_SEARCH
def test_only_bad_trials_end_in_failure(name):
    search, origin = SEARCHES[name], trial_at_zero()
    state, kept = feed(search, origin, [(np.nan, np.nan)] * 500)
    assert state.is_done and not any(kept)


def test_approximate_conditions_hold_where_values_are_round_off():
    origin = trial_at_zero(1.0, -1e-9)
    flat = Trial(jnp.asarray(1.0), jnp.asarray(1.0), jnp.asarray(-1e-12))
    assert not StrongWolfe().accepts(origin, flat)
    assert not Backtracking().accepts(origin, flat)
    assert HagerZhang().accepts(origin, flat)
    assert not HagerZhang(tolerance=0.0).accepts(
        origin, Trial(flat.step, jnp.asarray(1 + 1e-12), flat.slope)
    )


@given(value=st.floats(0.5, 1.5), slope=st.floats(-2, 2), step=st.floats(1e-3, 10))
def test_the_default_searches_get_looser(value, slope, step):
    origin = trial_at_zero()
    trial = Trial(*(jnp.asarray(x) for x in (step, value, slope)))
    strict, weaker, loosest = Fallback().searches
    if strict.accepts(origin, trial):
        assert weaker.accepts(origin, trial) and loosest.accepts(origin, trial)


def test_strong_wolfe_gives_up_where_values_are_round_off():
    origin = trial_at_zero(1.0, -1e-17)
    state, kept = feed(StrongWolfe(), origin, [(1.0, 1e-17)] * 20)
    assert state.is_done and not any(kept) and state.num_trials <= 2


def test_fallback_ends_with_a_trial_that_a_looser_search_accepts():
    strict = StrongWolfe(curvature=0.01, max_trials=3)
    cascade, origin = Fallback(strict, Backtracking()), trial_at_zero()
    steep = [(0.9, -0.9), (0.7, -0.9), (0.6, -0.9)]  # lower, but never flat
    state, kept = feed(cascade, origin, steep)
    assert state.is_done and kept == [True, True, True]
    assert cascade.is_loosened(state)
    state, kept = feed(cascade, origin, [(0.5, 0.0)])
    assert state.is_done and kept == [True] and not cascade.is_loosened(state)


def test_fallback_continues_with_the_next_search():
    cascade = Fallback(StrongWolfe(max_trials=2), Backtracking())
    origin = trial_at_zero()
    bad, good = (2.0, 1.0), (0.5, -0.9999)
    state, kept = feed(cascade, origin, [bad, bad, bad, good])
    assert state.is_done and kept == [False, False, False, True]
    assert cascade.is_loosened(state)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: StrongWolfe(curvature=1.5), "curvature"),
        (lambda: StrongWolfe(decrease=0.95), "decrease"),
        (lambda: HagerZhang(decrease=0.7), "decrease"),
        (lambda: HagerZhang(tolerance=-1.0), "tolerance"),
        (lambda: Backtracking(max_trials=0), "max_trials"),
        (lambda: Fallback("wolfe"), "searches"),
    ],
)
def test_bad_settings_name_the_argument(make, argument):
    with pytest.raises((ValueError, TypeError), match=argument):
        make()
