"""Exact arithmetic, loud promotions, and the same random numbers every time.

Tests wait for the compiler more than for the machine, so it is told to hurry, and what
it made is kept: both workers and the next run read it. Commands that tests start as
processes of their own compile as a user's do.
"""

import gc
import itertools
import os
from pathlib import Path

os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import jax
import jaxtyping
import pytest
from hypothesis import settings

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

settings.register_profile("house", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("house")


MAPS = Path("/proc/self/maps")
MOST_MAPS = 30_000  # a process may have 65,530; each program takes several
ended = itertools.count(1)


def pytest_runtest_teardown():
    """Programs are dropped before they are too many for one process."""
    if next(ended) % 20 or not MAPS.exists():
        return
    with MAPS.open("rb") as lines:
        if sum(1 for _ in lines) > MOST_MAPS:
            jax.clear_caches()
            gc.collect()


@pytest.fixture(scope="module")
def users_compiler():
    """Programs are made as a user's are, with all optimisations."""
    jax.clear_caches()
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture
def as_a_user():
    """Without the checks of types that tests add: the package's own errors are seen."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def keys():
    """An endless, seeded stream of PRNG keys."""
    root = jax.random.key(2025)
    return (jax.random.fold_in(root, i) for i in itertools.count())


def pytest_collection_modifyitems(items):
    """Tests of one case run in one worker, where what they compile is shared."""
    for item in items:
        if item.get_closest_marker("xdist_group"):
            continue
        case = getattr(item, "callspec", None)
        name = case.params.get("name", item.name) if case else item.name
        item.add_marker(pytest.mark.xdist_group(f"{item.path.stem}-{name}"))
