"""`vrba train`: from pairs of functions to an operator and its folder."""

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, arg

from ..compare import listed
from ..core import ending, precision
from ..data import open_pairs
from ..report import Panel
from ..train import Operator, RunFolder, train_operator
from ._base import DONE, FAILED, INTERRUPTED, AbstractFolderCommand, UsageError
from .data import known_makers
from .drawing import draw_report
from .flags import Folder, Minutes, Name, Switch
from .operator_recipe import (
    OperatorFlags,
    new_operator_recipe,
    open_target,
    resumed_operator_recipe,
)
from .outcome import as_json, is_bad
from .retelling import retold, teller
from .target import folder_for


@dataclasses.dataclass(frozen=True)
class Train(AbstractFolderCommand):
    """Train an operator on pairs of functions, by the name of data or from a file.

    Everything goes to a folder, from which the run can be resumed.
    """

    target: Annotated[
        Positional[str | None],
        arg(
            metavar="[TARGET]",
            help=f"a file of pairs (.h5, .npz, .mat), or {listed(known_makers())}",
            help_behavior_hint="",
        ),
    ] = None
    scale: Name = None
    """How much of data that are made: paper, laptop (unless given) or tiny."""
    recipe: OmitArgPrefixes[OperatorFlags] = OperatorFlags()
    minutes: Minutes = None
    """Minutes at most in all, also before a resume."""
    seed: int = 0
    """Random numbers: the network and the batches."""
    out: Folder = None
    """The run's folder, runs/NAME unless given."""
    resume: Folder = None
    """Go on with a run; TARGET can be left out if its file is where it was."""
    tensorboard: Switch = False
    """Write curves for TensorBoard into RUN/tensorboard, too."""
    json: Switch = False
    """Print the result as one JSON object, the last line."""

    def run(self) -> int:
        """Trains, tells, draws."""
        _check(self)
        path = open_target(self.target, self.scale, self.resume)
        pairs = open_pairs(path)
        with precision(self.recipe.dtype or "float32"):
            if self.resume is None:
                recipe = new_operator_recipe(self.recipe, pairs)
            else:
                recipe = resumed_operator_recipe(self.resume, self.recipe.steps)
        given = self.resume or self.out
        with folder_for(given, Path("runs") / path.stem) as folder:
            operator = _train(self, path, recipe, folder)
        status = ending(operator.result["status"])
        if status == "interrupted":
            sys.stderr.write(f"Stopped, and all is saved. {_how_to_resume(folder)}")
        if status == "time_reached":
            again = shlex.join(["vrba", "train", "--resume", str(folder)])
            sys.stderr.write(f"The time was over. To go on: {again} --minutes MORE\n")
        told = f"{operator.sentence()} See {folder}."
        sys.stdout.write((_json(operator, folder) if self.json else told) + "\n")
        sys.stdout.flush()
        draw_report(folder, raises=self.debug)
        if status == "interrupted":
            return INTERRUPTED
        return FAILED if is_bad(status) else DONE


def _train(flags: Train, path: Path, recipe: Any, folder: Path) -> Operator:
    """The run, with a panel on a terminal and lines elsewhere."""
    panel = Panel() if sys.stderr.isatty() else None
    seed = flags.seed
    if flags.resume is not None:
        seed = RunFolder(folder).about_operator()["seed"]
    try:
        return train_operator(
            path,
            recipe,
            seed,
            flags.minutes,
            folder,
            resume=flags.resume is not None,
            callback=teller(panel, folder, has_tensorboard=flags.tensorboard),
            command=retold(flags.words),
        )
    except KeyboardInterrupt:  # before the first step, or at the second Ctrl-C
        if RunFolder(folder).checkpoint("latest").exists():
            sys.stderr.write(_how_to_resume(folder))
        raise
    finally:
        if panel is not None:
            panel.close()


def _check(flags: Train) -> None:
    """Refuses what would fail later."""
    if flags.target is None and flags.resume is None:
        raise UsageError(
            "Give data to train on: a file of pairs, or one of "
            f"{listed(known_makers())}; or go on with `--resume DIR`."
        )
    if flags.minutes is not None and not flags.minutes > 0:
        raise UsageError(f"`--minutes` must be positive, got {flags.minutes:g}.")
    if flags.resume is not None:
        given: dict[str, Any] = dataclasses.asdict(flags.recipe)
        given |= {"out": flags.out, "seed": flags.seed or None, "steps": None}
        wrong = [name for name, value in given.items() if value is not None]
        if wrong:
            raise UsageError(f"`--{wrong[0]}` is that of the run with `--resume`.")
    if flags.out is not None and RunFolder(flags.out).holds_run:
        raise UsageError(
            f"`{flags.out}` already holds a run: go on with `--resume {flags.out}`, or "
            "choose another folder."
        )


def _how_to_resume(folder: Path) -> str:
    words = ["vrba", "train", "--resume", str(folder)]
    return f"To go on: {shlex.join(words)}\n"


def _json(operator: Operator, folder: Path) -> str:
    result, about = operator.result, operator.result["about"]
    keys = ("step", "seconds", "selected_step", "errors")
    kept = ("seed", "num_params", "weights_bytes", "file")
    return as_json(
        {
            "run": str(folder),
            **{key: result[key] for key in keys},
            **{key: about[key] for key in kept},
            "status": ending(result["status"]),
            "message": result["status"],
            "dtype": operator.recipe.dtype,
        }
    )
