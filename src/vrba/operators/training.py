"""`train_operator`: from pairs of functions to an operator."""

import os
from contextlib import nullcontext
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from typing_extensions import override

from ..core import (
    InputError,
    check_positive,
    describe,
    is_same_description,
    lock_folder,
    use_precision,
)
from ..data import Pairs, open_pairs
from ..runs import (
    TRAIN,
    AbstractCallback,
    AbstractMeasurements,
    Checkpointer,
    Ended,
    Entry,
    Logger,
    PrintLines,
    Run,
    RunFolder,
    describe_program,
    save_best,
    status_of,
)
from .defaults import default_operator_recipe
from .identity import fingerprint, is_same_data
from .layout import describe_layout
from .network import relative_errors
from .operator import Operator
from .recipe import OperatorRecipe
from .snapshot import figure_arrays
from .trainer import OperatorCheck, OperatorState, OperatorTrainer

PERCENTILES = (50, 95, 99)
_MAY_CHANGE = ("max_steps", "patience")  # settings that a resume may change


def train_operator(
    data: Pairs | str | os.PathLike[str],
    recipe: OperatorRecipe | None = None,
    seed: int | np.integer = 0,
    minutes: float | int | np.number | None = None,
    run: str | os.PathLike[str] | None = None,
    *,
    resume: bool = False,
    callback: AbstractCallback | None = None,
    save_every: float = 60.0,
    command: str | None = None,
) -> Operator:
    """Train an operator within `minutes`, or within the steps of the recipe.

    `data` are pairs of functions, or a file of them. The default recipe follows from
    the data (`default_operator_recipe`). Ctrl-C stops after the current step and
    returns the operator so far.

    With a folder `run`, everything is saved there every `save_every` seconds;
    `resume=True` continues that run bit for bit. `command` is the command line for the
    report.
    """
    seed = cast(int, describe(seed))  # numbers of numpy as plain ones
    limit = cast(float | None, describe(minutes))
    if limit is not None:
        check_positive(minutes=limit)
    pairs, file = _opened(data)
    recipe = default_operator_recipe(pairs) if recipe is None else recipe
    if pairs.num_test < 1:
        raise InputError("There are no functions in the part `test`: give some.")
    folder = None if run is None else RunFolder(run)
    before = _manifest_of(folder) if resume else None
    if before is not None:
        limit = before["minutes"] if limit is None else limit
    elif folder is not None:
        folder.check_free()
    lock = nullcontext() if folder is None else lock_folder(folder.path)
    with use_precision(recipe.dtype), lock:
        if folder is not None and not resume:
            folder.check_free()
        trainer = OperatorTrainer(pairs, recipe, seed)
        manifest = _manifest(trainer, pairs, file, limit) | {"command": command}
        if before is not None:
            _check_same(before, manifest)
            manifest["command"] = before.get("command")
        callback = PrintLines() if callback is None else callback
        logger = Logger(_Measurements(trainer), callback, folder)
        checkpointer = Checkpointer(trainer, folder, save_every)
        one = Run(trainer, logger, checkpointer, manifest, limit)
        ended = one.train(trainer.init, resume=resume)
        operator = _finish(one, trainer, ended, pairs)
        callback.on_end(operator.sentence())
        return operator


def _opened(data: Pairs | str | os.PathLike[str]) -> tuple[Pairs, str | None]:
    """The pairs, and the name of their file if they are in one."""
    if isinstance(data, Pairs):
        return data, None
    return open_pairs(data), str(data)


def _manifest_of(folder: RunFolder | None) -> dict[str, Any]:
    if folder is None:
        raise InputError("`resume=True` needs the folder of a run: give `run`.")
    return folder.read_manifest(TRAIN)


def _manifest(
    trainer: OperatorTrainer,
    pairs: Pairs,
    file: str | None,
    minutes: float | int | None,
) -> dict[str, Any]:
    return {
        "kind": TRAIN,
        "recipe": describe(trainer.recipe),
        "data": fingerprint(pairs, file),
        "data_file": file,
        "layout": describe_layout(pairs, trainer.layout),
        "seed": int(trainer.root),
        "minutes": minutes,
        "num_params": trainer.num_params,
        "weights_bytes": trainer.weights_bytes,
        "provenance": describe_program(),
    }


def _check_same(before: dict[str, Any], manifest: dict[str, Any]) -> None:
    """Raise if a run would be resumed with another recipe, seed or data."""
    fixed = lambda recipe: {k: v for k, v in recipe.items() if k not in _MAY_CHANGE}
    before = before | {"recipe": fixed(before["recipe"])}
    manifest = manifest | {"recipe": fixed(manifest["recipe"])}
    comparisons = {
        "recipe": is_same_description,
        "data": is_same_data,
        "seed": is_same_description,
    }
    for name, is_equal in comparisons.items():
        if not is_equal(before[name], manifest[name]):
            raise InputError(
                f"The run was started with another `{name}`: {before[name]}, not "
                f"{manifest[name]}. Give the same one to resume, or start a run in "
                "another folder."
            )
    if not is_same_description(before["layout"], manifest["layout"]):
        raise InputError(
            "The run was started with other `data`: their moments or places differ. "
            "Give the same data to resume, or start a run in another folder."
        )


class _Measurements(AbstractMeasurements):
    """The validation error."""

    def __init__(self, trainer: OperatorTrainer):
        self.trainer = trainer

    @override
    def start(self, planned_seconds: float, record: list[Entry]) -> None:
        pass

    @override
    def entry(
        self, state: OperatorState, check: OperatorCheck, loss: float, seconds: float
    ) -> Entry:
        policy = self.trainer.recipe.policy
        return {
            "step": int(state.num_steps),
            "seconds": round(seconds, 3),
            "loss": loss,
            "error": float(check.score),
            "error_max": float(jnp.max(check.errors)),
            "best_step": int(state.best_step),
            "effective_size": float(policy.effective_size(state.policy)),
        }

    @override
    def drawn_points(self, state: OperatorState) -> None:
        return None


def _finish(run: Run, trainer: OperatorTrainer, ended: Ended, pairs: Pairs) -> Operator:
    """The operator with its test errors; written to the folder if there is one."""
    state, folder = ended.state, run.folder
    result: dict[str, Any] = {
        "step": int(state.num_steps),
        "seconds": round(ended.seconds, 3),
        "selected_step": int(state.best_step),
        "score": float(state.best_score),
        "last_score": float(ended.check.score),
        "stop_reason": ended.stop_reason,
        "status": status_of(ended.stop_reason, int(state.num_steps)),
        "manifest": run.manifest,
    }
    operator = Operator(
        trainer.recipe,
        trainer.layout,
        state.best_params,
        state.params,
        run.logger.record,
        result,
        None if folder is None else folder.path,
    )
    errors = operator.errors(pairs)
    arrays = figure_arrays(operator, trainer, state, pairs, errors)
    last = operator.errors(pairs, params=operator.last_params)
    known = trainer.train.first(len(errors))  # as many functions as in the test set
    size = trainer.recipe.batch_size
    result["errors"] = summarise(errors) | {
        "last": float(np.mean(last)),
        "raw": float(np.mean(arrays["raw errors"])),
        "train": float(jnp.mean(relative_errors(operator.network(), known, size))),
    }
    if folder is not None:
        folder.save_fields(arrays)
        header = {key: v for key, v in result.items() if key != "manifest"}
        save_best(folder, state, header)
    return operator


def summarise(errors: Float[np.ndarray, " funcs"]) -> dict[str, float]:
    """The mean, some percentiles, and the maximum."""
    found = {f"p{p}": float(np.percentile(errors, p)) for p in PERCENTILES}
    return {"selected": float(np.mean(errors)), **found, "max": float(np.max(errors))}
