"""`vrba train`: from pairs of functions to an operator and its folder."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

from typing_extensions import override
from tyro.conf import OmitArgPrefixes, Positional, arg

from ..compare import check_budget, known_makers, listed
from ..core import use_precision
from ..data import open_pairs
from ..operators import Operator, OperatorRecipe, train_operator
from ..runs import TRAIN, RunFolder
from ._base import AbstractCommand, UsageError
from .data import open_target
from .flags import Folder, Minutes, Name, Switch
from .output import (
    as_json,
    exit_code,
    output_folder,
    print_how_to_resume,
    print_result,
    progress,
    reproducible_command,
    write_page,
)
from .recipe import OperatorFlags, new_operator_recipe, resumed_operator_recipe


@dataclasses.dataclass(frozen=True)
class Train(AbstractCommand):
    """Train a neural operator on pairs of functions, by name or from a file.

    The run folder contains everything, and the run can be resumed from it.
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
    """Size of generated data: paper, laptop (default) or tiny."""
    recipe: OmitArgPrefixes[OperatorFlags] = OperatorFlags()
    minutes: Minutes = None
    """Time limit in minutes, including the time before a resume."""
    seed: int = 0
    """Random seed of the network and the batches."""
    out: Folder = None
    """Output folder (default: a new folder in runs/)."""
    resume: Folder = None
    """Resume from this folder; TARGET is optional if the data file has not moved."""
    tensorboard: Switch = False
    """Also write TensorBoard curves to RUN/tensorboard."""
    json: Switch = False
    """Print the result as one JSON object in the last line."""

    @override
    def run(self) -> int:
        _check(self)
        path = open_target(self.target, self.scale, self.resume)
        pairs = open_pairs(path)
        with use_precision(self.recipe.dtype or "float32"):
            if self.resume is None:
                recipe = new_operator_recipe(self.recipe, pairs)
            else:
                flags = self.recipe
                run, steps = self.resume, flags.steps
                recipe = resumed_operator_recipe(run, steps, flags.patience)
        given = self.resume or self.out
        with output_folder(given, Path("runs") / path.stem) as folder:
            operator = _train(self, path, recipe, folder)
        print_how_to_resume(operator.result, _resume_words(self, folder))
        text = f"{operator.sentence()} See {folder}."
        print_result(as_json(operator.summary()) if self.json else text)
        write_page(folder, raises=self.debug)
        return exit_code([operator.result["stop_reason"]])


def _train(flags: Train, path: Path, recipe: OperatorRecipe, folder: Path) -> Operator:
    seed = flags.seed
    if flags.resume is not None:
        seed = RunFolder(folder).read_manifest(TRAIN)["seed"]
    words = _resume_words(flags, folder)
    with progress(folder, words, has_tensorboard=flags.tensorboard) as callback:
        return train_operator(
            path,
            recipe,
            seed,
            flags.minutes,
            folder,
            resume=flags.resume is not None,
            callback=callback,
            command=reproducible_command(flags.words),
        )


def _check(flags: Train) -> None:
    """Raise for flags that would fail later."""
    check_budget(flags.seed, 1, flags.minutes, 0)
    if flags.target is None and flags.resume is None:
        raise UsageError(
            "Give training data: a file of pairs, or one of "
            f"{listed(known_makers())}; or resume a run with `--resume DIR`."
        )
    if flags.resume is not None:
        given: dict[str, Any] = dataclasses.asdict(flags.recipe)
        given |= {"out": flags.out, "seed": flags.seed or None}
        given |= {"steps": None, "patience": None}
        wrong = [name for name, value in given.items() if value is not None]
        if wrong:
            flag = wrong[0].replace("_", "-")
            raise UsageError(f"`--{flag}` cannot be changed with `--resume`.")
    if flags.out is not None:
        RunFolder(flags.out).check_free()


def _resume_words(flags: Train, folder: Path) -> list[str]:
    """The command that resumes; it repeats data that the folder may not name."""
    data = [flags.target] if flags.resume and flags.target else []
    return ["vrba", "train", *data, "--resume", str(folder)]
