"""`train_operator`: from pairs of functions to an operator."""

import os
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..core import (
    InputError,
    Status,
    describe,
    is_same_description,
    kebab_case,
    use_precision,
)
from ..data import Pairs, open_pairs
from .about import program
from .callbacks import AbstractCallback, Lines, Plan
from .frame import describe_frame
from .operator import Operator
from .operator_defaults import default_operator_recipe
from .operator_fields import fields_of
from .operator_network import relative_errors
from .operator_recipe import OperatorRecipe
from .operator_trainer import OperatorCheck, OperatorState, OperatorTrainer
from .run import AbstractRun
from .run_folder import RunFolder

PERCENTILES = (50, 95, 99)


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
    """Trains an operator on pairs of functions, within `minutes` or the recipe's steps.

    `data` are pairs, or the file that holds them; without a recipe one is chosen from
    them (`default_operator_recipe`). With a folder `run` everything is saved there
    every `save_every` seconds; `resume=True` goes on with such a run as if it had never
    stopped. Ctrl-C stops after the current step and returns what there is.
    """
    seed = cast(int, describe(seed))  # numbers of numpy as plain ones
    minutes = cast(float | None, describe(minutes))
    if minutes is not None and not minutes > 0:
        raise InputError(f"`minutes` must be positive, got {minutes}.")
    pairs, file = (data, None) if isinstance(data, Pairs) else _opened(data)
    recipe = default_operator_recipe(pairs) if recipe is None else recipe
    if pairs.num_test < 1:
        raise InputError("There are no functions in the part `test`: give some.")
    folder = None if run is None else RunFolder(run)
    if folder is None and resume:
        raise InputError("`resume=True` needs the folder of a run: give `run`.")
    before = None
    if folder is not None and resume:
        before = folder.about_operator()
        minutes = before["minutes"] if minutes is None else minutes
    elif folder is not None:
        folder.check_free()
    with use_precision(recipe.dtype):
        trainer = OperatorTrainer(pairs, recipe, seed)
        about = {
            "operator": describe(recipe),
            "data": fingerprint(pairs, file),
            "file": file,
            "frame": describe_frame(pairs, trainer.frame),
            "seed": seed,
            "minutes": minutes,
            "num_params": trainer.num_params,
            "weights_bytes": trainer.weights_bytes,
            "program": program(),
            "command": command,
        }
        if before is not None:
            _check_same(before, about)
            about["command"] = before.get("command")
        callback = Lines() if callback is None else callback
        one = _Run(trainer, about, folder, callback, save_every, minutes, pairs)
        return one.go(None, resume)


def _opened(data: str | os.PathLike[str]) -> tuple[Pairs, str]:
    return open_pairs(data), str(data)


def fingerprint(
    pairs: Pairs, file: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """What tells data from others: where they come from, shapes and moments; and their
    name."""
    made_by = pairs.provenance.get("settings", {}).get("class")
    names = {} if file is None else {"name": Path(file).stem}
    names = names if made_by is None else {"name": kebab_case(made_by)}
    counts = {"valid": pairs.num_valid, "test": pairs.num_test}
    found = {
        "shapes": [list(pairs.inputs.shape), list(pairs.outputs.shape)],
        "moments": _moments(pairs, "train"),
        "held_out": {p: _moments(pairs, p) for p, count in counts.items() if count},
    }
    return names | dict(pairs.provenance) | found


def _moments(pairs: Pairs, part: str) -> list[list[float]]:
    return [[float(np.mean(p)), float(np.std(p))] for p in pairs.load(part)]


def is_same_data(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether two fingerprints are of the same data, as far as the first tells it; a
    file may have been renamed."""
    told = {key: part for key, part in before.items() if key != "name"}
    return is_same_description(told, {key: now.get(key) for key in told})


def _check_same(before: dict[str, Any], about: dict[str, Any]) -> None:
    """Refuses to go on with another recipe, seed or data; the end may be another."""
    ends = ("max_steps", "patience")
    kept = lambda recipe: {k: v for k, v in recipe.items() if k not in ends}
    before = before | {"operator": kept(before["operator"])}
    about = about | {"operator": kept(about["operator"])}
    same = {
        "operator": is_same_description,
        "data": is_same_data,
        "seed": is_same_description,
    }
    for name, is_alike in same.items():
        if not is_alike(before[name], about[name]):
            raise InputError(
                f"The run was begun with another `{name}`: {before[name]}, not "
                f"{about[name]}. Give the same to go on, or begin a run in another "
                "folder."
            )
    if not is_same_description(before.get("frame"), about["frame"]):
        raise InputError(
            "The run was begun with other `data`: their moments or places differ. Give "
            "the same to go on, or begin a run in another folder."
        )


class _Run(AbstractRun):
    """One call of `train_operator`."""

    def __init__(self, trainer, about, folder, callback, save_every, minutes, pairs):
        super().__init__(trainer, about, folder, callback, save_every, minutes)
        self.pairs: Pairs = pairs

    def prepare(self) -> None:
        """Nothing."""

    def begin(self, start: Any) -> OperatorState:
        """Random parameters."""
        return self.trainer.init(start)

    def plan(self, state: OperatorState, seconds: float) -> Plan:
        """What is about to be done."""
        trainer, recipe = self.trainer, self.trainer.recipe
        left = recipe.max_steps - int(state.num_steps)
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(state))
        return Plan(
            type(recipe.model).__name__,
            trainer.num_params,
            f"batches of {recipe.batch_size} of {trainer.train.num_rows} samples with "
            f"weights of {trainer.weights_bytes / 1e6:.2g} MB",
            recipe.dtype,
            type(recipe.optimizer).__name__,
            int(state.num_steps),
            recipe.max_steps,
            self.pace,
            max(min(self.limit - seconds, self.pace * left), 0.0),
            3 * size,
            None if self.folder is None else str(self.folder.path),
        )

    def planned(self, seconds: float) -> None:
        """Nothing depends on it."""

    def entry(
        self, state: OperatorState, check: OperatorCheck, loss: float, seconds: float
    ) -> dict[str, Any]:
        """A line of the log."""
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

    def more(self, state: OperatorState, seconds: float) -> dict[str, Any]:
        """Nothing yet."""
        return {}

    def keep(self, state: OperatorState) -> None:
        """Nothing yet."""

    def finish(self, state: OperatorState, status: Status, seconds: float) -> Operator:
        """The operator, with its errors on functions it has never seen."""
        trainer = self.trainer
        state, check = trainer.check(state)
        state = self.selected(state)
        path = None if self.folder is None else self.folder.path
        result = {
            "step": int(state.num_steps),
            "seconds": round(seconds, 3),
            "selected_step": int(state.best_step),
            "score": float(state.best_score),
            "last_score": float(check.score),
            "status": str(Status[status]),
            "about": self.about,
        }
        both = (state.best_params, state.params)
        operator = Operator(
            trainer.recipe, trainer.frame, *both, self.record, result, path
        )
        errors, last = operator.errors(self.pairs), operator.last_errors(self.pairs)
        fields = fields_of(operator, trainer, state, self.pairs)
        result["errors"] = summarise(errors) | {"last": float(np.mean(last))}
        result["errors"]["raw"] = float(np.mean(fields["raw errors"]))
        known = trainer.train.first(len(errors))  # as many as there are to test
        size = trainer.recipe.batch_size
        found = relative_errors(operator.network(), known, size)
        result["errors"]["train"] = float(jnp.mean(found))
        if self.folder is not None:
            self.folder.save_fields(fields)
            header = {key: v for key, v in result.items() if key != "about"}
            self.folder.save_best(state, header)
        self.callback.end(operator.sentence())
        return operator


def summarise(errors: Float[np.ndarray, " funcs"]) -> dict[str, float]:
    """The mean, some percentiles, and the largest."""
    found = {f"p{p}": float(np.percentile(errors, p)) for p in PERCENTILES}
    return {"selected": float(np.mean(errors)), **found, "max": float(np.max(errors))}
