"""Flags that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, UseAppendAction, arg

from ..compare import known_problems, listed

Name = Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")]
Count = Annotated[int | None, arg(metavar="N", help_behavior_hint="")]
Folder = Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="")]
Minutes = Annotated[float | None, arg(metavar="MINUTES", help_behavior_hint="")]
Dtype = Annotated[
    Literal["float32", "float64"] | None,
    arg(metavar="TYPE", help="float32 or float64", help_behavior_hint=""),
]
Switch = Annotated[bool, arg(help_behavior_hint="")]
Target = Annotated[
    Positional[str | None],
    arg(
        metavar="[TARGET]",
        help=f"FILE.py, FILE.py:ClassName, or one of {listed(known_problems())}",
        help_behavior_hint="",
    ),
]
Only = Annotated[
    str | None,
    arg(
        metavar="A,B",
        help="Make runs of these methods only; results of others are kept.",
        help_behavior_hint="",
    ),
]
Assignments = Annotated[
    UseAppendAction[tuple[str, ...]],
    arg(metavar="NAME=VALUE", help="A setting of the problem"),
]
