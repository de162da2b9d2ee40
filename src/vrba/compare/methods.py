"""Methods of a comparison: the same recipe with different policies."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from ..adapt import AbstractPolicy, AbstractTimed
from ..core import is_same_description, kebab_case
from ..data import Pairs
from ..operators import (
    Drawn,
    Operator,
    OperatorRecipe,
    check_samples,
    fingerprint,
    is_same_data,
    train_operator,
)
from ..operators import methods as operator_policies
from ..pinn import Recipe, Solution, solve
from ..problems import Problem
from ..runs import Silent, describe_problem
from ._base import AbstractCase, RunTask, UsageError
from .budget import operator_bytes, problem_bytes
from .names import (
    known_policies,
    known_potentials,
    pick,
    policy_from_words,
    with_time_axis,
)

Policies = Sequence[Any] | Mapping[str, Any]

_OPERATOR_BASELINES = {
    "uniform": operator_policies.uniform,
    "uniform-as-published": operator_policies.uniform_as_published,
}


class ProblemCase(AbstractCase):
    """A problem; a method is a policy, or `POLICY` or `POLICY:POTENTIAL`."""

    command: ClassVar[str] = "solve"
    default_policies: ClassVar[tuple[str, ...]] = ("uniform", "rad", "default")

    def __init__(self, problem: Problem, recipe: Recipe):
        self.problem, self.recipe = problem, recipe

    @override
    def describe(self) -> dict[str, Any]:
        return describe_problem(self.problem)

    @staticmethod
    @override
    def is_same(before: dict[str, Any], now: dict[str, Any]) -> bool:
        return is_same_description(before, now)

    @override
    def method(self, policy: Any) -> tuple[str, Recipe]:
        if not isinstance(policy, str):
            _check_policy(policy)
            return _class_name(policy), self._with(policy)
        word, colon, potential_word = policy.partition(":")
        name = pick("policy", word, {known: known for known in known_policies()})
        potential = None
        if colon:
            potentials = {known: known for known in known_potentials()}
            potential = pick("potential", potential_word, potentials)
        found = policy_from_words(name, potential, self.recipe.policy)
        return ":".join(filter(None, (name, potential))), self._with(found)

    def _with(self, policy: AbstractPolicy) -> Recipe:
        if isinstance(policy, AbstractTimed):
            policy = with_time_axis(policy, self.problem.domain.coordinates)
        return dataclasses.replace(self.recipe, policy=policy)

    @override
    def num_bytes(self, recipe: Recipe) -> float:
        return problem_bytes(self.problem, recipe)

    @override
    def run(
        self,
        recipe: Recipe,
        seed: int,
        minutes: float | int | None,
        task: RunTask,
        **options: Any,
    ) -> None:
        how: dict[str, Any] = options | {"resume": task.is_begun, "callback": Silent()}
        solve(self.problem, recipe, seed, minutes, task.folder, **how)

    @override
    def load(self, folder: Path, recipe: Recipe | None = None) -> Solution:
        return Solution.load(folder, self.problem, recipe)


class DataCase(AbstractCase):
    """Data for operators; a method is `uniform`, `uniform-as-published`, a potential,
    or a policy with weights of points, such as `Hybrid`."""

    command: ClassVar[str] = "train"
    default_policies: ClassVar[tuple[str, ...]] = (
        "uniform",
        "uniform-as-published",
        "quadratic",
        "exponential",
    )

    def __init__(self, pairs: Pairs, recipe: OperatorRecipe, file: str | None = None):
        self.pairs, self.recipe, self.file = pairs, recipe, file

    @override
    def describe(self) -> dict[str, Any]:
        known = fingerprint(self.pairs, self.file)
        return known | {"name": str(known.get("name", "operator")).capitalize()}

    @staticmethod
    @override
    def is_same(before: dict[str, Any], now: dict[str, Any]) -> bool:
        return is_same_data(before, now)

    @override
    def method(self, policy: Any) -> tuple[str, OperatorRecipe]:
        if not isinstance(policy, str):
            _check_policy(policy)
            if not policy.has_point_weights:
                raise UsageError(
                    f"`policies` has {type(policy).__name__}, which has no weights for "
                    "the points of a function: give names such as `uniform`, or a "
                    "policy such as `Hybrid`."
                )
            changed = dataclasses.replace(self.recipe, policy=policy, batches=Drawn())
            check_samples(changed, self.pairs)
            return _class_name(policy), changed
        known = operator_methods()
        if ":" in policy:
            raise UsageError(
                f"The method `{policy}` of an operator must be one of "
                f"{', '.join(known)}."
            )
        name = pick("policy", policy, {one: one for one in known})
        recipe = with_operator_method(self.recipe, name)
        check_samples(recipe, self.pairs)
        return name, recipe

    @override
    def num_bytes(self, recipe: OperatorRecipe) -> float:
        return operator_bytes(self.pairs, recipe)

    @override
    def run(
        self,
        recipe: OperatorRecipe,
        seed: int,
        minutes: float | int | None,
        task: RunTask,
        **options: Any,
    ) -> None:
        data = self.pairs if self.file is None else self.file
        how: dict[str, Any] = {"resume": task.is_begun, "callback": Silent()}
        train_operator(data, recipe, seed, minutes, task.folder, **how)

    @override
    def load(self, folder: Path, recipe: OperatorRecipe | None = None) -> Operator:
        return Operator.load(folder, recipe)


def known_weights() -> dict[str, Callable[[OperatorRecipe, Pairs], OperatorRecipe]]:
    """Resolutions of the weights of operators by name."""
    return {
        "point": lambda recipe, pairs: recipe,
        "time": operator_policies.weights_per_time,
        "coarse": operator_policies.coarse_weights,
        "half": operator_policies.half_precision_weights,
    }


def operator_methods() -> tuple[str, ...]:
    """The methods for operators by name: two baselines, and every potential."""
    return (*_OPERATOR_BASELINES, *known_potentials())


def with_operator_method(recipe: OperatorRecipe, name: str) -> OperatorRecipe:
    """The recipe with the method of this name."""
    method = pick("policy", name, {known: known for known in operator_methods()})
    if method in _OPERATOR_BASELINES:
        return _OPERATOR_BASELINES[method](recipe)
    return operator_policies.adaptive(recipe, known_potentials()[method]())


def methods_of(case: AbstractCase, policies: Policies | None) -> dict[str, Any]:
    """The recipe of each method by its name; raise if two are the same.

    `policies` are names or policy objects; a mapping gives names of its own.
    """
    policies = case.default_policies if policies is None else policies
    policies = policies.split(",") if isinstance(policies, str) else policies
    if isinstance(policies, Mapping):
        given = list(policies.items())
    else:
        given = [(None, policy) for policy in _cleaned(policies)]
    found: dict[str, Any] = {}
    for own_name, policy in given:
        known_name, recipe = case.method(policy)
        name = known_name if own_name is None else _checked_name(own_name)
        same = [other for other, there in found.items() if there == recipe]
        if same:
            raise UsageError(f"The methods `{same[0]}` and `{name}` are the same.")
        if name in found:
            raise UsageError(
                f"`policies` has two methods `{name}`: give a dict with a name for "
                "each."
            )
        found[name] = recipe
    if not found:
        example = ", ".join(case.default_policies)
        raise UsageError(f"`policies` is empty: give some, such as {example}.")
    return found


def _cleaned(policies: Sequence[Any]) -> list[Any]:
    """Without spaces around names, and without empty ones."""
    stripped = [one.strip() if isinstance(one, str) else one for one in policies]
    return [one for one in stripped if one != ""]


def _checked_name(name: Any) -> str:
    """A name that can be a folder."""
    if not isinstance(name, str) or not name.strip() or set(name) & set("/\\,"):
        raise UsageError(
            f"`policies` has the name {name!r}: give a text without slashes and commas."
        )
    return name


def _check_policy(policy: Any) -> None:
    if not isinstance(policy, AbstractPolicy):
        given = policy.__name__ if inspect.isclass(policy) else type(policy).__name__
        raise UsageError(
            f"`policies` has {given}: give names such as `uniform`, or policy objects."
        )


def _class_name(policy: Any) -> str:
    return kebab_case(type(policy).__name__)
