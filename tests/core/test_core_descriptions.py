"""Settings described as JSON values and rebuilt by their constructors."""

import dataclasses
import inspect
import json

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from tests.rooms import concrete
from vrba.core import InputError, check_positive, describe, rebuild


class Part(eqx.Module):
    size: float = eqx.field(default=1.0, converter=float)

    def __check_init__(self):
        check_positive(size=self.size)


class Pair(eqx.Module):
    parts: tuple[Part, ...]
    last: Part

    def __init__(self, *parts: Part):
        if len(parts) < 2:
            raise InputError("`parts` must be at least two.")
        *self_parts, self.last = parts
        self.parts = tuple(self_parts)


class Doubled(eqx.Module):
    size: float

    def __init__(self, size: float = 1.0):
        self.size = 2 * size


KNOWN: dict[str, type] = {"Part": Part, "Pair": Pair, "Doubled": Doubled}


def classes_of(*rooms):
    """What the rooms export, by name."""
    values = {name: value for room in rooms for name, value in vars(room).items()}
    return {name: value for name, value in values.items() if inspect.isclass(value)}


def stored(value):
    """The description as it comes back from a file."""
    return json.loads(json.dumps(describe(value)))


def test_rebuilt_settings_are_equal():
    policy = vrba.Weighting(vrba.adapt.Power(2.0), temperature=vrba.EffectiveSize(0.3))
    known = {kind.__name__: kind for kind in concrete("vrba.adapt", eqx.Module)}
    again = rebuild(stored(policy), known)
    assert describe(again) == describe(policy) and type(again) is type(policy)
    assert rebuild({"a": [1, 2.5, None, "x"]}, {}) == {"a": (1, 2.5, None, "x")}


def test_rebuild_runs_converters_and_checks():
    made = rebuild({"class": "Part", "size": 3}, KNOWN)
    assert isinstance(made.size, float) and made.size == 3
    with pytest.raises(InputError, match="`size` must be positive, got -1.0"):
        rebuild({"class": "Part", "size": -1}, KNOWN)


def test_rebuild_runs_a_constructor_of_its_own():
    pair = Pair(Part(1.0), Part(2.0), Part(3.0))
    assert describe(rebuild(stored(pair), KNOWN)) == describe(pair)
    broken = stored(pair) | {"parts": []}
    with pytest.raises(InputError, match="at least two"):
        rebuild(broken, KNOWN)


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"class": "Fallback", "searches": [{"class": "Adam"}]}, "line searches"),
        (
            {
                "class": "Sequence",
                "stages": [{"class": "Adam"}],
                "last": {"class": "Adam"},
            },
            "before the last",
        ),
        (
            {"class": "LocalAverage", "policy": {"class": "BRDR"}, "neighbours": 0},
            "`neighbours` must be at least 1",
        ),
    ],
)
def test_constructors_of_the_package_check_what_is_rebuilt(description, message):
    known = classes_of(vrba.optim, vrba.adapt)
    with pytest.raises(InputError, match=message):
        rebuild(description, known)


def test_every_recipe_class_with_a_constructor_can_be_rebuilt():
    optim, adapt = vrba.optim, vrba.adapt
    stage = optim.Stage(optim.Adam(), optim.AfterSteps(10))
    values = [
        optim.Fallback(),
        optim.Sequence(stage, optim.QuasiNewton()),
        optim.Sequence(optim.Adam()),
        adapt.LocalAverage(adapt.BRDR(), 5),
    ]
    known = classes_of(optim, adapt)
    for value in values:
        assert describe(rebuild(stored(value), known)) == describe(value)
    kinds = classes_of(vrba.adapt, vrba.models, vrba.optim).values()
    own = {k for k in kinds if issubclass(k, eqx.Module) and is_own_constructor(k)}
    assert own <= {*map(type, values), optim.LeastSquares}  # an objective: no setting


def is_own_constructor(kind):
    """Whether `__init__` is written by hand, not made from the fields."""
    fields = [f.name for f in dataclasses.fields(kind)]
    code = vars(kind).get("__init__")
    return code is not None and list(inspect.signature(kind).parameters) != fields


def test_a_constructor_that_changes_its_settings_is_refused():
    with pytest.raises(InputError, match="cannot be rebuilt from the settings"):
        rebuild({"class": "Doubled", "size": 2.0}, KNOWN)


def test_files_of_another_version_are_refused():
    assert rebuild({"class": "Part"}, KNOWN).size == 1.0  # a setting added later
    with pytest.raises(InputError, match="class `Whole`"):
        rebuild({"class": "Whole"}, KNOWN)
    with pytest.raises(InputError, match=r"settings \['size'\], .*\['colour'\]"):
        rebuild({"class": "Part", "colour": 1}, KNOWN)
    with pytest.raises(InputError, match="has the settings"):
        rebuild({"class": "Pair", "parts": []}, KNOWN)


def test_functions_and_arrays_are_not_rebuilt():
    for value in (np.sin, jnp.arange(3.0)):
        with pytest.raises(InputError, match="cannot be rebuilt from a file"):
            rebuild({"class": "Part", "size": stored(value)}, KNOWN)
