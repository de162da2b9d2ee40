"""Folders of runs that train operators, made without training."""

import numpy as np

from vrba.runs import RunFolder, StopReason, save_tree

MANIFEST = {
    "kind": "train",
    "recipe": {
        "class": "OperatorRecipe",
        "model": {"class": "DeepONet", "width": 40},
        "policy": {"class": "Hybrid", "potential": {"class": "Exponential"}},
        "max_steps": 900,
        "split_axis": None,
    },
    "data": {
        "name": "bubble",
        "shapes": [[400, 20, 1], [400, 50, 1]],
        "moments": [[1.0], [0.5], [2.0]],
    },
    "data_file": "bubble.npz",
    "layout": {"names": ["t"]},
    "weights_bytes": 24_000_000,
    "seed": 0,
    "minutes": 1.5,
    "num_params": 4321,
    "provenance": {"vrba": "0.1.0", "device": "cpu"},
    "command": "vrba train bubble --minutes 1.5",
}
ENDED = StopReason.steps.advice


def make_entry(step, *, seed=0):
    """An entry of the log."""
    random = np.random.default_rng([seed, step])
    error = float(np.exp(0.1 * random.normal()) / (1 + step / 30))
    return {
        "step": step,
        "seconds": 0.02 * step + 1,
        "loss": error**2,
        "error": error,
        "error_max": 5 * error,
        "best_step": step,
        "effective_size": 300.0,
    }


def make_errors(*, num_test=150, seed=0, size=1e-3):
    """Relative errors of test functions, a few of them large."""
    random = np.random.default_rng(seed)
    return size * np.exp(random.normal(size=num_test))


def make_result(errors, *, step=900):
    """The header of the checkpoint of a run that has ended."""
    levels = {
        f"p{level}": float(np.percentile(errors, level)) for level in (50, 95, 99)
    }
    mean, largest = float(np.mean(errors)), float(np.max(errors))
    return {
        "step": step,
        "seconds": 0.02 * step + 1,
        "selected_step": step,
        "stop_reason": "steps",
        "status": None,
        "score": 1.1 * mean,
        "last_score": 1.3 * mean,
        "errors": {
            "selected": mean,
            "last": 1.2 * mean,
            **levels,
            "max": largest,
            "raw": 0.01,
        },
    }


def examples_of(errors):
    """Three functions with the largest errors, the one at 95 %, and the median one."""
    order = np.argsort(errors)[::-1]
    places = [0, 1, 2, len(order) // 20, len(order) // 2]
    return {"example ids": order[places], "example errors": errors[order[places]]}


def with_error(truth, errors, place):
    """Predictions with relative errors `errors`, which are largest at `place`."""
    bump = np.exp(-20 * place**2)[None, ..., None]
    size = np.linalg.norm(truth) / np.sqrt(len(truth)) / np.linalg.norm(bump)
    return truth + errors.reshape(-1, *(1,) * (truth.ndim - 1)) * size * bump


def make_line_fields(errors, *, num_inputs=20, channels=1):
    """From a function of time to another, as `Bubble` has it."""
    examples, t = examples_of(errors), np.linspace(0, 5, 50)
    rates = 1 + np.arange(5)
    truth = np.sin(rates[:, None] * t)[..., None] * np.ones(channels)
    truth = truth * 10.0 ** np.arange(channels)
    outputs = with_error(truth, examples["example errors"], t - 2)
    if channels > 1:
        outputs[..., 0] = truth[..., 0]
    inputs = np.cos(rates[:, None] * np.linspace(0, 5, num_inputs))[..., None]
    levels = np.array([1.0, 0.7, 3.0, 9.0])
    return examples | {
        "errors": errors,
        "coordinates": np.array(["t"]),
        "t": t,
        "example inputs": inputs,
        "example outputs": outputs,
        "example truth": truth,
        "errors over time": 1e-3 * np.exp(t / 5)[:, None] * levels,
        "mass": np.linspace(0.1, 1.9, 400),
        "mean weight": 1 + np.exp(-((t - 2) ** 2)),
    }


def make_grid_fields(errors, *, names=("x", "y", "t"), worst=0.3):
    """From a function on a square to its motion, with an error that is largest at
    `worst`; `names` are in the order of the axes."""
    sizes = {"x": 24, "y": 20, "t": 11}
    axes = {name: np.linspace(0, 1, sizes[name]) for name in names}
    grids = dict(zip(names, np.meshgrid(*axes.values(), indexing="ij"), strict=True))
    x, y = grids["x"], grids["y"]
    t = grids.get("t", 0 * x)
    examples = examples_of(errors)
    rates = np.arange(1, 6)
    truth = np.stack([np.sin(r * (3 * x - t)) * np.cos(2 * y) for r in rates])[
        ..., None
    ]
    place = np.sqrt((x - 0.5) ** 2 + (y - 0.4) ** 2 + (t - worst) ** 2)
    space = np.stack([np.sin(r * 3 * axes["x"]) for r in rates])[:, :, None, None]
    fields = examples | axes
    fields |= {
        "errors": errors,
        "coordinates": np.array(names),
        "example inputs": space * np.cos(2 * axes["y"])[None, None, :, None],
        "example outputs": with_error(truth, examples["example errors"], place),
        "example truth": truth,
        "mass": np.linspace(0.1, 1.9, 400) ** 4,
        "mean weight": 1 + 20 * np.exp(-20 * place**2),
    }
    if "t" in axes:
        levels = np.array([1.0, 0.7, 3.0, 9.0])
        fields["errors over time"] = 1e-3 * (1 + axes["t"][:, None]) * levels
    return fields


def make_scattered_fields(errors, *, dim=2):
    """From a few numbers to a function at scattered points."""
    places = np.random.default_rng(0).uniform(size=(300, dim))
    examples = examples_of(errors)
    truth = np.sin(np.arange(1, 6)[:, None] * np.sum(places, axis=1))[..., None]
    far = np.sqrt(np.sum((places - 0.3) ** 2, axis=1))
    return examples | {
        "errors": errors,
        "coordinates": np.array([f"x{k + 1}" for k in range(dim)]),
        "places": places,
        "example inputs": np.arange(20.0).reshape(5, 4),
        "example outputs": with_error(truth, examples["example errors"], far),
        "example truth": truth,
        "mean weight": 1 + np.exp(-9 * far),
    }


def make_run(
    path, fields_of=make_line_fields, *, ended=True, seed=0, size=1e-3, **manifest
):
    """A run folder; other arguments replace parts of the manifest."""
    folder = RunFolder(path)
    folder.write_manifest(MANIFEST | {"seed": seed} | manifest)
    for step in range(30, 901, 30):
        folder.log(make_entry(step, seed=seed))
    header = {"step": 450, "seconds": 10.0, "stage": 0}
    if ended:
        errors = make_errors(seed=seed, size=size)
        header = make_result(errors)
        folder.save_fields(fields_of(errors))
    save_tree(folder.checkpoint("best"), {"weight": np.zeros(3)}, header)
    return path
