"""Files that are whole or not there, and settings that survive them."""

import dataclasses
import errno
import functools
import json
import math
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from vrba import optim
from vrba.core import (
    BrokenFileError,
    append_line,
    describe,
    is_same_description,
    read_last_line,
    read_lines,
    rebuild,
    write_atomically,
)
from vrba.pinn import known_classes
from vrba.runs import load_header, load_tree, save_tree

TREE = {"a": jnp.arange(6.0).reshape(2, 3), "b": (np.int32(4), jnp.asarray(True))}


def test_tree_comes_back(tmp_path):
    path = tmp_path / "deep" / "tree.npz"
    save_tree(path, TREE, {"step": 3})
    found, header = load_tree(path, TREE)
    assert header["step"] == 3 and load_header(path)["step"] == 3
    assert np.array_equal(found["a"], TREE["a"]) and found["a"].dtype == jnp.float64
    assert found["b"][0] == 4 and bool(found["b"][1])


@pytest.mark.parametrize("cut", [1, 100, 400, 0.5, 0.9])
def test_a_file_cut_short_is_noticed(cut, tmp_path):
    path = tmp_path / "tree.npz"
    save_tree(path, TREE, {})
    content = path.read_bytes()
    end = -cut if isinstance(cut, int) else int(cut * len(content))
    path.write_bytes(content[:end])
    with pytest.raises(BrokenFileError, match="incomplete: it was cut short"):
        load_tree(path, TREE)


@pytest.mark.parametrize("change", [1, 32, 128, 255])
def test_a_changed_byte_is_noticed_or_harmless(tmp_path, change):
    path = tmp_path / "tree.npz"
    save_tree(path, TREE, {"step": 3})
    whole, num_harmless = path.read_bytes(), 0
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= change
        path.write_bytes(bytes(content))
        try:
            found, header = load_tree(path, TREE)
        except BrokenFileError:
            continue
        num_harmless += 1
        assert np.array_equal(found["a"], TREE["a"]) and header["step"] == 3
    assert num_harmless < len(whole) / 4


def test_another_structure_is_refused(tmp_path):
    path = tmp_path / "tree.npz"
    save_tree(path, TREE, {})
    with pytest.raises(BrokenFileError, match=r"(lacks|unknown)( the)? array"):
        load_tree(path, jnp.zeros(3))
    other = TREE | {"a": jnp.zeros((3, 2))}
    with pytest.raises(BrokenFileError, match="another problem or recipe"):
        load_tree(path, other)


def test_two_arrays_of_equal_shape_cannot_be_swapped(tmp_path):
    path, arrays = tmp_path / "tree.npz", {"a": jnp.zeros(3), "b": jnp.ones(3)}
    save_tree(path, arrays, {})
    found, _ = load_tree(path, {"b": jnp.zeros(3), "a": jnp.zeros(3)})
    assert np.array_equal(found["a"], arrays["a"])
    with pytest.raises(BrokenFileError, match=r"array `tree\['[bc]'\]`"):
        load_tree(path, {"a": jnp.zeros(3), "c": jnp.zeros(3)})


def test_no_pickle(tmp_path):
    path = tmp_path / "tree.npz"
    np.savez(path, header=np.array([{"x": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(BrokenFileError):
        load_tree(path, TREE)


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left.*intact"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_log_skips_half_a_line(tmp_path):
    path = tmp_path / "log.jsonl"
    append_line(path, {"step": 1, "loss": math.inf})
    append_line(path, {"step": 2, "loss": 0.5})
    path.write_text(path.read_text() + '{"step": 3, "lo')
    assert read_lines(path) == [{"step": 1, "loss": None}, {"step": 2, "loss": 0.5}]
    assert read_lines(tmp_path / "none") == []


def test_log_skips_lines_that_say_nothing_of_a_step(tmp_path):
    path = tmp_path / "log.jsonl"
    append_line(path, {"step": 1})
    strange = [b"3", b"null", b"[]", b'{"step": "x"}', b'{"a": 1}', b"\xff\xfe", b""]
    path.write_bytes(path.read_bytes() + b"\n".join(strange) + b"\n")
    assert read_last_line(path) == {"step": 1}
    append_line(path, {"step": 2})
    assert read_lines(path) == [{"step": 1}, {"step": 2}]
    assert read_last_line(path) == {"step": 2}


RECIPES = {
    "default": vrba.Recipe(),
    "sequence": vrba.Recipe(
        optimizer=optim.Sequence(
            optim.Stage(optim.Adam(), optim.OnStall()), optim.QuasiNewton()
        )
    ),
    "weighting": vrba.Recipe(
        policy=vrba.presets.vrba_weighting(), balance=vrba.pinn.GradientNorms()
    ),
}


@pytest.mark.parametrize("name", RECIPES)
def test_settings_come_back_from_json(name):
    text = json.dumps(describe(RECIPES[name]))
    assert rebuild(json.loads(text), known_classes()) == RECIPES[name]


def test_what_cannot_come_back_says_so():
    policy = vrba.Sampling(vrba.adapt.Custom(lambda s: s**2))
    described = json.loads(json.dumps(describe(vrba.Recipe(policy=policy))))
    with pytest.raises(ValueError, match="Pass the recipe"):
        rebuild(described, known_classes())
    with pytest.raises(ValueError, match="names the class `Unheard`"):
        rebuild({"class": "Unheard"}, known_classes())
    with pytest.raises(ValueError, match="version of vrba that wrote it"):
        rebuild({"class": "Quadratic", "more": 1}, known_classes())
    with pytest.raises(ValueError, match="version of vrba that wrote it"):  # no default
        rebuild({"class": "Sampling"}, known_classes())


def scaled(factor):
    return lambda x: factor * jnp.sin(x)


def counted(number):
    def count(x):
        return count(x - 1) if x else number

    return count


def times(factor):
    def wrap(function):
        @functools.wraps(function)
        def multiplied(x):
            return factor * function(x)

        return multiplied

    return wrap


@dataclasses.dataclass(frozen=True)
class Wave:
    number: float

    def value(self, x):
        return jnp.sin(self.number * x)


MADE_FROM_NUMBERS = {
    "closure": scaled,
    "calls itself": counted,
    "compiled": lambda k: jax.jit(scaled(k)),
    "wrapped": lambda k: times(k)(jnp.sin),
    "default": lambda k: lambda x, factor=k: factor * x,
    "partial": lambda k: functools.partial(jnp.power, k),
    "keyword": lambda k: functools.partial(jnp.power, x=scaled(k)),
    "dataclass": Wave,
    "method": lambda k: Wave(k).value,
    "complex": complex,
    "complex of numpy": np.complex64,
}


@pytest.mark.parametrize("name", MADE_FROM_NUMBERS)
def test_functions_are_told_apart_by_what_is_in_them(name):
    make = MADE_FROM_NUMBERS[name]
    first, again, other = (describe(make(k)) for k in (1.0, 1.0, 50.0))
    assert first == json.loads(json.dumps(again)) and is_same_description(first, again)
    assert not is_same_description(first, other)
    older = {"function": first["function"]}
    assert is_same_description(older, other)  # as before there were fingerprints


def test_functions_are_told_apart_by_their_code():
    lines = [
        "lambda x: x + 1",
        "lambda x: x - 1",
        "lambda x: x + 2",
        "lambda x: sin(x)",
    ]
    lines += ["lambda x: x in {1, 2}", "lambda x: cos(x)", "lambda x: lambda y: x"]
    found = [json.dumps(describe(eval(line))) for line in lines]
    assert len(set(found)) == len(found)
    assert describe(jnp.sin) == {"function": "jax.numpy.sin"}  # by their name


def test_descriptions_are_the_same_in_every_process():
    code = """
import json
from vrba.core import describe
def made(k):
    names = {"one", "two", "three"}
    return lambda x, y=k: names and x in {"a", "b", "c", k}
print(json.dumps(describe(made("d"))))
"""
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1] and "digest" in found[0]


def test_what_is_compared():
    assert is_same_description(
        {"class": "A", "x": math.nan}, {"class": "A", "x": math.nan}
    )
    assert is_same_description(
        {"class": "A", "x": 1}, {"class": "A", "x": 1.0, "new": 3}
    )
    assert not is_same_description({"class": "A", "old": 1}, {"class": "A"})
    assert not is_same_description({"a": 1}, {"a": 1, "b": 2})  # entries, not settings
    assert not is_same_description([1, 2], [1, 2, 3])
    code = {"python": "3.1", "digest": "a"}
    assert is_same_description(code, {"python": "3.2", "digest": "b"})
    assert not is_same_description(code, {"python": "3.1", "digest": "b"})


CLOSED_OVER = {
    "module": np,
    "module of jax": jnp,
    "type": np.float64,
    "dtype": np.dtype("f4"),
    "key": jax.random.key(0),
    "keys": jax.random.split(jax.random.key(0), 3),
    "long double": np.longdouble(1),
    "objects": np.asarray([1, "a", None], object),
    "half": jnp.ones((), jnp.bfloat16),
}


@pytest.mark.parametrize("name", CLOSED_OVER)
def test_anything_that_a_function_closes_over_is_described(name):
    """The same in every process: no address is in it."""
    value = CLOSED_OVER[name]
    found = json.dumps([describe(lambda x: (value, x)), describe(value)])
    assert "0x" not in found
    assert found == json.dumps([describe(lambda x: (value, x)), describe(value)])


def test_fingerprints_are_those_of_every_process():
    code = (
        "import numpy as np, jax.numpy as jnp, json; from vrba.core import describe\n"
        "def make(*held):\n    return lambda x: (held, jnp.sin(x))\n"
        "objects = np.asarray([1, 'a', None], object)\n"
        "print(json.dumps(describe(make(np, jnp, np.float64, objects, {'b', 'a'}))))"
    )
    words = [sys.executable, "-c", code]
    run = lambda: subprocess.run(words, capture_output=True, check=True).stdout
    assert run() == run()


def test_settings_that_an_older_file_lacks_have_their_defaults():
    """Of a value, of one that is made, and of a setting within."""
    described = describe(vrba.Recipe(optimizer=vrba.optim.LevenbergMarquardt()))
    del described["num_points"], described["optimizer"]["solver"]
    del described["policy"]["smoothing"]["mix"]
    found = rebuild(described, known_classes())
    policy = vrba.Recipe().policy
    mixed = dataclasses.replace(policy.smoothing, mix=vrba.Smoothing().mix)
    policy = dataclasses.replace(policy, smoothing=mixed)
    assert found == vrba.Recipe(policy=policy)
