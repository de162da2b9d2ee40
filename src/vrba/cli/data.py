"""`vrba data`, and the data argument of other commands."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from typing_extensions import override
from tyro.conf import Positional, arg

from ..compare import known_makers, listed, pick
from ..core import kebab_case
from ..data import open_pairs, write_pairs
from ..runs import TRAIN, RunFolder
from ._base import DONE, AbstractCommand, UsageError
from .flags import Assignments, File, Switch
from .output import as_json, print_result
from .problem_argument import parse_settings

_SUFFIXES = (".h5", ".hdf5", ".npz", ".mat")


@dataclasses.dataclass(frozen=True)
class Data(AbstractCommand):
    """Generate operator training data, or describe a data file.

    An existing file is kept, and an interrupted generation resumes.
    """

    action: Annotated[Positional[Literal["make", "info"]], arg(metavar="make|info")]
    target: Annotated[
        Positional[str],
        arg(
            metavar="NAME|FILE",
            help=f"make: one of {listed(known_makers())}; info: a data file",
        ),
    ]
    scale: Annotated[str, arg(metavar="SCALE")] = "laptop"
    """Size of the data: paper, laptop or tiny."""
    param: Assignments = ()
    out: File = None
    """Output file (default: data/NAME-SCALE.h5)."""
    json: Switch = False
    """Print one JSON object."""

    @override
    def run(self) -> int:
        path = self._make() if self.action == "make" else _existing(self.target)
        found = open_pairs(path).summary() | {"file": str(path)}
        lines = [f"{name}: {value}" for name, value in found.items()]
        print_result(as_json(found) if self.json else "\n".join(lines))
        return DONE

    def _make(self) -> Path:
        if self.param and self.out is None:
            raise UsageError("Data with `--param` need an output file, `--out FILE`.")
        return make_data(self.target, self.scale, self.param, self.out)


def make_data(
    target: str, scale: str, settings: Sequence[str] = (), out: Path | None = None
) -> Path:
    """The file of generated data, written unless it exists."""
    from ..report import Bar  # imports matplotlib

    kind = pick("data", target, known_makers())
    given = pick(f"scale of {target}", scale, kind.scales)
    maker = kind(**(given | parse_settings(kind, settings)))
    name = f"{kebab_case(kind.__name__)}-{scale}"
    path = out or Path("data") / f"{name}.h5"
    if path.exists():
        return write_pairs(maker, path)  # raises if it holds other data
    with Bar(f"Making {name}") as bar:
        return write_pairs(maker, path, on_progress=bar.update)


def data_file(target: str, scale: str | None) -> Path:
    """The data file of an argument; shipped data are generated unless they exist."""
    if Path(target).suffix.casefold() not in _SUFFIXES:
        hint = " For your own data give the file, such as pairs.h5."
        pick("data", target, known_makers(), hint)
        return make_data(target, scale or "laptop")
    if scale is not None:
        raise UsageError(f"`--scale {scale}` applies to generated data only.")
    return _existing(target)


def _existing(file: str) -> Path:
    if not Path(file).is_file():
        raise UsageError(f"There is no file `{file}`.")
    return Path(file)


def open_target(target: str | None, scale: str | None, run: Path | None) -> Path:
    """The data file of the argument, or that of a run."""
    if target is not None:
        return data_file(target, scale)
    if scale is not None:
        raise UsageError(f"`--scale {scale}` needs the name of the data.")
    file = None if run is None else RunFolder(run).read_manifest(TRAIN)["data_file"]
    if file is None:
        raise UsageError(f"Give the data: a file, or one of {listed(known_makers())}.")
    if not Path(file).exists():
        raise UsageError(f"The data file of the run, `{file}`, is missing: give it.")
    return Path(file)
