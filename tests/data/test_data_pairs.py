"""Pairs of functions: generate, write and read."""

import exponax
import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy

from tests.rooms import concrete
from vrba import data

MAKERS = concrete("vrba.data", data.AbstractMaker)


def made(maker, first=0):
    parts = list(maker.chunks(first))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def tiny(kind, **settings):
    return kind(**(kind.scales["tiny"] | settings))


@pytest.mark.parametrize("name", MAKERS, ids=lambda kind: kind.__name__)
def test_a_file_holds_what_was_made(name, tmp_path):
    maker = tiny(name)
    inputs, outputs = made(maker)
    told = []
    path = data.write_pairs(
        maker, tmp_path / "pairs.h5", on_progress=lambda *n: told.append(n)
    )
    pairs = data.open_pairs(path)
    assert pairs.names == maker.names and pairs.num_funcs == maker.num_funcs
    assert told[-1] == (maker.num_funcs, maker.num_funcs)
    for axis, own in zip(pairs.axes, maker.axes(), strict=True):
        np.testing.assert_array_equal(axis, own)
    parts = [pairs.load(part) for part in ("train", "valid", "test")]
    assert [len(part[0]) for part in parts] == [
        maker.num_train,
        maker.num_valid,
        maker.num_test,
    ]
    np.testing.assert_array_equal(np.concatenate([p[0] for p in parts]), inputs)
    np.testing.assert_array_equal(np.concatenate([p[1] for p in parts]), outputs)
    assert pairs.provenance["settings"]["class"] == name.__name__
    assert pairs.places.shape == (*pairs.grid, len(pairs.names))


@pytest.mark.parametrize("name", MAKERS, ids=lambda kind: kind.__name__)
def test_a_seed_makes_the_same_functions_again(name):
    first, again, other = (made(tiny(name, seed=seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.allclose(first[0], other[0])


def test_interrupted_writing_is_continued(tmp_path, monkeypatch):
    monkeypatch.setattr("vrba.data.wave._CHUNK", 5)
    maker = tiny(data.Wave)
    whole = data.open_pairs(data.write_pairs(maker, tmp_path / "whole.h5"))

    def stop(done, total):
        if done == 10:
            raise KeyboardInterrupt

    path = tmp_path / "stopped.h5"
    with pytest.raises(KeyboardInterrupt):
        data.write_pairs(maker, path, on_progress=stop)
    assert not path.exists()
    told = []
    data.write_pairs(maker, path, on_progress=lambda *n: told.append(n))
    assert told == [(12, 12)]
    np.testing.assert_array_equal(data.open_pairs(path).outputs[:], whole.outputs[:])
    before = path.stat().st_mtime_ns
    data.write_pairs(maker, path)
    assert path.stat().st_mtime_ns == before
    with pytest.raises(ValueError, match="holds other data"):
        data.write_pairs(tiny(data.Wave, seed=1), path)


def test_partial_data_of_other_settings_are_kept(tmp_path):
    def stop(done, _):
        raise KeyboardInterrupt

    path = tmp_path / "pairs.h5"
    with pytest.raises(KeyboardInterrupt):
        data.write_pairs(tiny(data.Wave), path, on_progress=stop)
    begun = path.with_suffix(".h5.part").read_bytes()
    with pytest.raises(ValueError, match="part of other data"):
        data.write_pairs(tiny(data.Wave, seed=1), path)
    assert path.with_suffix(".h5.part").read_bytes() == begun


@pytest.mark.parametrize("name", ["pairs.npz", "pairs.mat"])
def test_a_truncated_file_is_named(tmp_path, name):
    path, arrays = tmp_path / name, {"inputs": np.ones((20, 3)), "x": np.arange(3.0)}
    save = np.savez if path.suffix == ".npz" else scipy.io.savemat
    save(path, **arrays) if path.suffix == ".npz" else save(path, arrays)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(data.PairsError, match=name):
        data.open_pairs(path)


def test_a_truncated_partial_file_is_replaced(tmp_path):
    (tmp_path / "pairs.h5.part").write_bytes(b"\x89HDF\r\n\x1a\nnot all of it")
    maker = tiny(data.Wave)
    pairs = data.open_pairs(data.write_pairs(maker, tmp_path / "pairs.h5"))
    np.testing.assert_array_equal(pairs.outputs[:], made(maker)[1])


# Bubbles.


def test_bubbles_have_the_published_moments():
    """Of the training set: means and deviations as the paper's own data have them."""
    inputs, outputs = made(data.Bubble())
    assert np.mean(inputs[:1200]) == pytest.approx(-1485.538476, abs=5e-7)
    assert np.std(inputs[:1200]) == pytest.approx(340.118578, abs=5e-7)
    # those of the radii are from a rougher integration
    assert np.mean(outputs[:1200]) == pytest.approx(1.07448790e-5, rel=1e-6)
    assert np.std(outputs[:1200]) == pytest.approx(1.93614711e-7, rel=1e-3)


def test_radii_solve_the_equation():
    maker = data.Bubble(num_train=1, num_valid=1, num_test=1)
    radius = made(maker)[1][0, :, 0]
    pressure = scipy.interpolate.CubicSpline(
        data.bubble._knots(), maker._pressures()[0]
    )
    solved = scipy.integrate.solve_ivp(
        lambda t, y: [y[1], -4e4 * y[1] - 2e11 * y[0] - 100 * pressure(t)],
        (0, 5e-4),
        [0, 1e-5],
        method="DOP853",
        t_eval=maker.axes()[0],
        rtol=1e-9,
        atol=1e-15,
    )
    gap = np.max(np.abs(solved.y[0] + 1e-5 - radius))
    assert gap < 1e-6 * np.std(radius)


def test_published_tolerance_is_near_the_exact_radii():
    settings = {"num_train": 4, "num_valid": 1, "num_test": 1}
    exact = made(data.Bubble(**settings))[1]
    rough = made(data.Bubble(**settings, rtol=1e-3))[1]
    gap = np.linalg.norm(exact - rough) / np.linalg.norm(exact - np.mean(exact))
    assert 1e-4 < gap < 2e-2


# Waves.


def test_waves_at_rest_have_the_published_moments():
    """Of a bump off the walls: `10 pi / n` and `5 pi / n`, over n = 64 x 64 points."""
    maker = data.Wave(num_train=48, num_valid=1, num_test=1)
    inputs, _ = made(maker)
    n = 64**2
    mean = 10 * np.pi / n
    assert np.mean(inputs) == pytest.approx(mean, rel=1e-4)
    assert np.std(inputs) == pytest.approx(np.sqrt(5 * np.pi / n - mean**2), rel=1e-4)


def test_waves_converge_by_the_square_of_the_gap():
    settings = {"num_points": 16, "num_times": 3}
    waves = [
        data.Wave(**settings, refinement=k).waves(np.array([[1.0, 1.2]]))
        for k in (6, 12, 24)
    ]
    gaps = [np.linalg.norm(a - b) for a, b in zip(waves[:-1], waves[1:], strict=True)]
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.15)


def test_waves_do_not_move_the_walls_and_begin_at_rest():
    maker = tiny(data.Wave, num_times=401)
    waves = made(maker)[1][..., 0]
    assert np.all(waves[:, :, [0, -1]] == 0) and np.all(waves[..., [0, -1]] == 0)
    moved = [np.linalg.norm(waves[:, k] - waves[:, 0]) for k in (1, 2)]
    assert moved[1] / moved[0] == pytest.approx(4, rel=0.05)  # like the square of t


# Flows.


def test_initial_fields_have_their_spectrum():
    maker = data.Kolmogorov(num_train=400, num_points=16)
    fields = np.stack([maker.initial(row) for row in range(400)])
    spectrum = np.mean(np.abs(np.fft.fft2(fields) / 256) ** 2, axis=0)
    assert spectrum[0, 0] < 1e-30
    for k, m in ((1, 0), (0, 1), (1, 1), (2, 1)):
        expected = 7**3 * (4 * np.pi**2 * (k**2 + m**2) + 49) ** -2.5
        # the mean of 400 exponential variables
        assert spectrum[k, m] == pytest.approx(expected, rel=4 / np.sqrt(400))


def test_flow_follows_the_equation():
    """A vortex that depends on `x + y` only does not carry itself: its modes decay
    and are stirred, each on its own."""
    maker = tiny(data.Kolmogorov, num_times=3, step=0.05)
    x, y, t = maker.axes()
    angle = 2 * np.pi * (x[:, None] + y)
    found = data._vorticity.solve_vorticity(maker, np.cos(angle)[None])[0]
    rate = maker.viscosity * 8 * np.pi**2
    decay = np.exp(-rate * t)
    still = 0.1 * (np.sin(angle) + np.cos(angle))[..., None] / rate
    exact = np.cos(angle)[..., None] * decay + still * (1 - decay)
    np.testing.assert_allclose(found, exact, atol=2e-4 * np.max(np.abs(exact)))


def test_flow_has_the_sign_of_its_vorticity():
    """One short step against the equation, spelt out with NumPy's transforms:
    `w = v_x - u_y`."""
    maker = tiny(data.Kolmogorov, num_points=32, num_times=5, step=1e-3)
    x, y, _ = maker.axes()
    field = np.sin(2 * np.pi * x)[:, None] + np.cos(2 * np.pi * (x[:, None] - 2 * y))
    waves = 2j * np.pi * np.fft.fftfreq(32, 1 / 32)
    along, up = waves[:, None], waves[None, :]
    laplacian = along**2 + up**2
    stream = -np.fft.fft2(field) / np.where(laplacian == 0, 1, laplacian)
    slope = lambda factor, hat: np.fft.ifft2(factor * hat).real
    u, v = slope(up, stream), -slope(along, stream)
    hat = np.fft.fft2(field)
    curl = -slope(along**2 + up**2, stream)  # v_x - u_y
    np.testing.assert_allclose(curl, field, atol=1e-12)
    angle = 2 * np.pi * (x[:, None] + y)
    rate = (
        maker.viscosity * slope(laplacian, hat)
        + 0.1 * (np.sin(angle) + np.cos(angle))
        - u * slope(along, hat)
        - v * slope(up, hat)
    )
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        first = exponax.fft(jnp.asarray(field)[None], num_spatial_dims=2)
        ahead = data._vorticity.build_stepper(maker).step_fourier(first)
        after = exponax.ifft(ahead, num_spatial_dims=2, num_points=32)
    moved = (np.asarray(after[0]) - field) / maker.step
    assert np.linalg.norm(moved - rate) < 1e-2 * np.linalg.norm(rate)


# Files of others.


def own_arrays():
    t, x = np.linspace(0, 1, 5), np.linspace(0, 2, 4)
    return {
        "inputs": np.arange(40.0).reshape(10, 4),
        "outputs": np.arange(200.0).reshape(10, 5, 4),
        "t": t,
        "x": x,
        "axes": "t x",
    }


def written(path, arrays):
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".mat":
        scipy.io.savemat(path, arrays)
    else:
        with h5py.File(path, "w") as file:
            file.attrs["axes"] = arrays["axes"]
            for name, array in arrays.items():
                if name != "axes":
                    file[name] = array
    return path


def as_matlab_7_3(path, arrays):
    """HDF5 with axes reversed, text as codes, and 512 bytes before it."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            if isinstance(array, str):
                array = np.array([[ord(letter)] for letter in array], np.uint16)
            file[name] = np.atleast_2d(array).T if name != "axes" else array
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    return path


@pytest.mark.parametrize("ending", [".h5", ".npz", ".mat", "7.3.mat"])
def test_user_files_are_read(ending, tmp_path):
    arrays = own_arrays()
    write = as_matlab_7_3 if ending == "7.3.mat" else written
    pairs = data.open_pairs(write(tmp_path / f"own{ending}", arrays))
    assert pairs.names == ("t", "x") and pairs.grid == (5, 4)
    assert (pairs.num_train, pairs.num_valid, pairs.num_test) == (8, 1, 1)
    inputs, outputs = pairs.load("test")
    np.testing.assert_array_equal(inputs[..., 0], arrays["inputs"][9:])
    np.testing.assert_array_equal(outputs[..., 0], arrays["outputs"][9:])
    np.testing.assert_array_equal(pairs.places[3, 2], [arrays["t"][3], arrays["x"][2]])


def test_scattered_places_and_channels(tmp_path):
    arrays = {
        "inputs": np.zeros((20, 6, 2)),
        "outputs": np.zeros((20, 7, 3)),
        "places": np.random.default_rng(0).uniform(size=(7, 2)),
        "input_channels": 1,
        "num_train": 15,
        "num_valid": 2,
        "num_test": 3,
    }
    pairs = data.open_pairs(written(tmp_path / "own.npz", arrays))
    assert pairs.inputs.shape == (20, 6, 2) and pairs.outputs.shape == (20, 7, 3)
    assert pairs.rows("test") == slice(17, 20)
    np.testing.assert_array_equal(pairs.places, arrays["places"])


MISTAKES = {
    "there is no array `inputs`": {"inputs": None},
    "axis 0 of `inputs` has 10 functions, axis 0 of `outputs` has 9": {
        "outputs": np.zeros((9, 5, 4))
    },
    "axis 2 of `outputs` has 4 points, but `x` has shape (3,)": {"x": np.arange(3.0)},
    "the coordinate `t` must increase": {"t": np.zeros(5)},
    "`inputs` must hold real numbers, got complex128": {
        "inputs": 1j * np.ones((10, 4))
    },
    "`t` must hold finite coordinates, got 1 that": {"t": [0.0, 1.0, 2.0, 3.0, np.inf]},
    "`places` must hold finite coordinates, got 2 that": {
        "axes": None,
        "outputs": np.zeros((10, 2)),
        "places": np.full((2, 1), np.nan),
    },
    "there is no array `y`": {"axes": "t y"},
    "coordinates are given for 1": {"axes": "t", "outputs": np.zeros((10, 5, 4, 2))},
    "coordinates of the outputs are missing": {"axes": None},
    "too few for": {"num_train": 11},
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_in_a_file_are_reported(message, tmp_path):
    arrays = own_arrays() | MISTAKES[message]
    arrays = {name: array for name, array in arrays.items() if array is not None}
    path = written(tmp_path / "own.npz", arrays)
    with pytest.raises(ValueError) as error:
        data.open_pairs(path)
    assert message in str(error.value) and error.value.__notes__ == [
        data.files.FILE_FORMAT
    ]
    assert str(path) in str(error.value)


def test_quadrature_weights_of_non_uniform_points():
    axis = np.array([0.0, 0.1, 0.3, 0.7, 1.0])
    pairs = data.Pairs(
        np.zeros((3, 2, 1)), np.zeros((3, 5, 1)), ("t",), (axis,), None, 1, 1, 1
    )
    shares = pairs.quadrature()
    assert np.mean(shares) == pytest.approx(1)
    integral = np.mean(shares * (2 + 3 * axis))
    assert integral == pytest.approx(3.5)  # trapezoids are exact for lines
