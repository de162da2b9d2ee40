"""Run folders as training writes them, made without training."""

import re

import numpy as np

from vrba.core import append_line
from vrba.runs import Plan, RunFolder, StopReason, save_tree

MANIFEST = {
    "kind": "solve",
    "problem": {
        "name": "Burgers",
        "is_shipped": True,
        "settings": {"class": "Burgers", "viscosity": 0.0032},
        "source": "0" * 64,
    },
    "recipe": {
        "class": "Recipe",
        "model": {"class": "MLP", "width": 20, "depth": 4},
        "optimizer": {
            "class": "Sequence",
            "stages": [{"class": "Stage", "optimizer": {"class": "Adam"}}],
            "last": {"class": "QuasiNewton", "update": {"class": "SSBroyden"}},
        },
        "policy": {"class": "Sampling", "floor": 0.001, "correction": None},
        "num_points": 8192,
        "scans_pool": True,
        "dtype": "float64",
    },
    "seed": 3,
    "minutes": 1.5,
    "num_params": 1341,
    "block_size": 512,
    "provenance": {"vrba": "0.1.0", "jax": "0.10.2", "device": "cpu", "commit": "abc"},
}
ENDED = StopReason.time.advice

PLAN = Plan(
    name="Burgers",
    num_params=1341,
    samples="8192 points",
    dtype="float64",
    optimizer="Adam",
    first_step=0,
    max_steps=300,
    disk_bytes=1,
    seconds_per_step=0.5,
    seconds=150.0,
)


def figures_in(text):
    """Names of the figures of a page."""
    return re.findall(r'<figure id="figure-([\w-]+)">', text)


def make_entry(step, *, num_steps=3000, seed=0, diagnosed=True, reference=True):
    """An entry of the log: the error falls like a power, the SNR to that of noise."""
    random = np.random.default_rng([seed, step])
    wobble = float(np.exp(0.1 * random.normal()))
    size = wobble / (1 + step)
    entry = {
        "step": step,
        "seconds": round(0.02 * step + 1, 3),
        "stage": int(step > num_steps / 2),
        "loss": size**2,
        "residual_l2": size,
        "residual_max": 12 * size,
        "score": size**2,
        "best_step": step,
        "effective_size": 6000.0,
        "residual_l2 initial": 0.3 * size,
        "weight initial": 100.0,
    }
    if reference:
        entry["error"] = 0.1 * size
    if diagnosed:
        entry |= {
            "snr": wobble * (0.3 + 3 / (1 + step / 300)),
            "snr_unit": wobble * (0.3 + 2 / (1 + step / 300)),
            "snr_error": 0.1,
            "snr_floor": 8**-0.5,
            "variance_r2": size**4,
            "variance_r2_tilted": 3 * size**4,
            "diagnose_seconds": 0.001 * step,
        }
    return entry


def make_result(*, step=3000, size=1e-5, reference=True):
    """The header of the checkpoint of a run that has ended."""
    found = {
        "step": step,
        "seconds": 0.02 * step + 1,
        "selected_step": step,
        "stop_reason": "time",
        "status": None,
        "residual_l2": 10 * size,
        "residual_max": 120 * size,
        "score": (10 * size) ** 2,
        "last_score": (11 * size) ** 2,
        "residuals": {"equations": 10 * size, "initial": 3 * size},
        "unknowns": {},
    }
    if reference:
        errors = {"last": 1.1 * size, "selected": size, "of_reference": 1e-12}
        found["errors"] = errors
    return found


def make_fields(*, num_pool=2000, coordinates=("t", "x"), sizes=(61, 81)):
    """The solution on a grid, its residual, and the pool with weights."""
    axes = [np.linspace(k, 1, n) for k, n in zip((0, -1, 0), sizes, strict=False)]
    grid = np.meshgrid(*axes, indexing="ij")
    last = grid[-1]
    values = -np.sin(np.pi * last) * np.exp(-grid[0])
    residual = 1e-4 * np.exp(-30 * last**2) * (grid[0] + 0.1) + 1e-7
    random = np.random.default_rng(0)
    low, high = [axis[0] for axis in axes], [axis[-1] for axis in axes]
    pool = random.uniform(low, high, size=(num_pool, len(axes)))
    weights = np.exp(2 * np.exp(-20 * pool[:, -1] ** 2))
    return {
        **dict(zip(coordinates, axes, strict=True)),
        "u": values,
        "reference u": values + residual,
        "drawn points": pool[: num_pool // 2],
        "coordinates": np.array(coordinates),
        "fields": np.array(["u"]),
        "residuals": np.array(["momentum"]),
        "residual momentum": residual,
        "pool points": pool,
        "pool weights": weights / np.mean(weights),
        "pool residual": weights * 1e-4,
    }


def add_collapse(run, step):
    """Add three entries, after which the warning of collapsed weights appears."""
    for k in range(3):
        entry = make_entry(step + k) | {"effective_share": 0.001}
        append_line(run / "metrics.jsonl", entry)


def make_run(
    path,
    *,
    ended=True,
    diagnosed=True,
    reference=True,
    seed=0,
    num_steps=3000,
    every=30,
    size=1e-5,
    **manifest,
):
    """A run folder; other arguments replace parts of the manifest."""
    folder = RunFolder(path)
    folder.write_manifest(MANIFEST | {"seed": seed} | manifest)
    options = {"diagnosed": diagnosed, "reference": reference, "seed": seed}
    for step in range(every, num_steps + 1, every):
        entry = make_entry(step, num_steps=num_steps, **options)
        folder.log(entry)
    header = {"step": num_steps // 2, "seconds": 1.0}
    if ended:
        header = make_result(step=num_steps, size=size, reference=reference)
        fields = make_fields()
        if not reference:
            del fields["reference u"]
        if not diagnosed:
            drop = [k for k in fields if k.startswith(("pool ", "residual"))]
            fields = {k: v for k, v in fields.items() if k not in drop}
        folder.save_fields(fields)
    save_tree(folder.checkpoint("best"), {"weight": np.zeros(3)}, header)
    if diagnosed:
        for step in range(0, num_steps, max(num_steps // 8, 1)):
            random = np.random.default_rng(step)
            width = 1 / (1 + step / 500)
            points = np.clip(random.normal(0, width, size=(500, 2)), -1, 1)
            points[:, 0] = random.uniform(size=500)
            folder.save_drawn(step, points)
    return path
