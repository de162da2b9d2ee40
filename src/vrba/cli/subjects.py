"""What arms are compared on: an equation to solve, or data to train an operator on."""

import abc
import dataclasses
from typing import Any, ClassVar

from ..compare import known_policies, known_potentials, pick
from ..data import Pairs
from ..problems import Problem
from ..train.run_folder import describe_problem
from ..train.train_operator import fingerprint
from ._base import UsageError
from .machine import bytes_of_operator_run, bytes_of_run
from .operator_recipe import OperatorFlags, known_arms, new_operator_recipe
from .recipe import RecipeFlags, new_recipe
from .target import load_problem


class AbstractSubject(abc.ABC):
    """What every arm is given. `command` is that of a single run."""

    command: ClassVar[str]
    usual_arms: ClassVar[str]

    @abc.abstractmethod
    def describe(self) -> dict[str, Any]:
        """Its name, and what tells it from others."""

    @abc.abstractmethod
    def recipe(self, word: str, minutes: float | None) -> tuple[str, Any]:
        """The name of an arm, spelt as it is known, and its recipe."""

    @abc.abstractmethod
    def bytes_of(self, recipe: Any) -> float:
        """About what a run needs."""

    @property
    @abc.abstractmethod
    def flags(self) -> dict[str, Any]:
        """Those that every run gets."""


class Equation(AbstractSubject):
    """A problem to solve; an arm is `POLICY` or `POLICY:POTENTIAL`."""

    command: ClassVar[str] = "solve"
    usual_arms: ClassVar[str] = "uniform,rad,default"

    def __init__(self, target: str, settings: tuple[str, ...], flags: RecipeFlags):
        self.problem: Problem = load_problem(target, settings)
        self._flags = flags

    def describe(self) -> dict[str, Any]:
        """Its class, settings and source."""
        return describe_problem(self.problem)

    def recipe(self, word: str, minutes: float | None) -> tuple[str, Any]:
        """From `default:exponential` to a recipe."""
        name, colon, after = word.partition(":")
        policy = pick("policy", name, {known: known for known in known_policies()})
        own: dict[str, Any] = {"policy": policy, "potential": None}
        if colon:
            potentials = {known: known for known in known_potentials()}
            own["potential"] = pick("potential", after, potentials)
        flags = dataclasses.replace(self._flags, **own)
        recipe = new_recipe(flags, self.problem, minutes, None)
        return ":".join(filter(None, own.values())), recipe

    def bytes_of(self, recipe: Any) -> float:
        """Mostly matrices."""
        return bytes_of_run(self.problem, recipe)

    @property
    def flags(self) -> dict[str, Any]:
        """As given."""
        return dataclasses.asdict(self._flags)


class Pairing(AbstractSubject):
    """Pairs of functions; an arm is uniform, or a potential."""

    command: ClassVar[str] = "train"
    usual_arms: ClassVar[str] = "uniform,uniform-as-published,quadratic,exponential"

    def __init__(
        self, pairs: Pairs, target: str, scale: str | None, flags: OperatorFlags
    ):
        self.pairs, self._target = pairs, target
        self._scale, self._flags = scale, flags

    def describe(self) -> dict[str, Any]:
        """Where the functions come from, and how many there are."""
        about = fingerprint(self.pairs, self._target)
        return about | {"name": about["name"].capitalize()}

    def recipe(self, word: str, minutes: float | None) -> tuple[str, Any]:
        """From `exponential` to a recipe."""
        if word.partition(":")[1]:
            raise UsageError(
                f"The arm `{word}` of an operator is one of {', '.join(known_arms())}."
            )
        arm = pick("policy", word, {known: known for known in known_arms()})
        flags = dataclasses.replace(self._flags, policy=arm)
        return arm, new_operator_recipe(flags, self.pairs)

    def bytes_of(self, recipe: Any) -> float:
        """Mostly the functions themselves, and what a batch of them becomes."""
        return bytes_of_operator_run(self.pairs, recipe)

    @property
    def flags(self) -> dict[str, Any]:
        """As given."""
        return dataclasses.asdict(self._flags) | {"scale": self._scale}


def recipes_of(
    subject: AbstractSubject, arms: str | None, minutes: float | None
) -> dict[str, Any]:
    """From `uniform,default:exponential` to a recipe for each arm."""
    found: dict[str, Any] = {}
    words = (subject.usual_arms if arms is None else arms).split(",")
    for word in filter(None, (part.strip() for part in words)):
        arm, recipe = subject.recipe(word, minutes)
        same = [other for other, there in found.items() if there == recipe]
        if same:
            raise UsageError(f"The arms `{same[0]}` and `{arm}` are the same.")
        found[arm] = recipe
    if not found:
        raise UsageError(
            f"`--policies` names none: give some, as in {subject.usual_arms}."
        )
    return found
