"""Words to objects: everything the rooms export can be called by name."""

import dataclasses
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import ModuleType
from typing import Any, TypeVar

from .. import adapt, data, models, operators, optim, problems
from ..adapt import presets
from ..core import kebab_case
from ..pinn import Recipe, published
from ._base import UsageError

_T = TypeVar("_T")


def listed(options: Iterable[str]) -> str:
    """Names in a message: `a, b, c`."""
    return ", ".join(sorted(options)) or "none"


def pick(what: str, name: str, options: Mapping[str, _T], hint: str = "") -> _T:
    """The option of this name, ignoring case, `-` and `_`; raise if there is none."""
    found = {_plain(option): value for option, value in options.items()}
    if _plain(name) in found:
        return found[_plain(name)]
    guess = did_you_mean(name, options)
    raise UsageError(
        f"There is no {what} `{name}`.{guess} There are: {listed(options)}.{hint}"
    )


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """A sentence with the closest option, or nothing if none is close."""
    plain = {_plain(option): option for option in options}
    begun = [option for name, option in plain.items() if name.startswith(_plain(word))]
    if word and begun:
        return f" Did you mean `{begun[0]}`?"
    close = difflib.get_close_matches(_plain(word), plain, 1)
    return f" Did you mean `{plain[close[0]]}`?" if close else ""


def pick_some(what: str, names: str | None, options: Iterable[str]) -> tuple[str, ...]:
    """The options named in `A,B`; all if `names` is `None`."""
    known = {option: option for option in options}
    if names is None:
        return tuple(known)
    said = [name.strip() for name in names.split(",") if name.strip()]
    if not said:
        raise UsageError(f"Name one {what}, or several: {listed(known)}.")
    return tuple(pick(what, name, known) for name in said)


def known_problems() -> dict[str, type[problems.Problem]]:
    """The problems of the package."""
    return named_in(problems, problems.Problem)


def known_potentials() -> dict[str, Callable[[], adapt.AbstractPotential]]:
    """Potentials that need no arguments."""
    found = classes_in(adapt, adapt.AbstractPotential)
    return {kebab_case(kind.__name__): kind for kind in found if not required_by(kind)}


def known_optimizers() -> dict[str, Callable[[], optim.AbstractOptimizer]]:
    """Optimizers that need no arguments, and quasi-Newton updates."""
    found: dict[str, Callable[[], Any]] = {}
    for kind in classes_in(optim, optim.AbstractOptimizer):
        if not required_by(kind):
            name = kebab_case(kind.__name__)
            found[name] = kind
            if "-" in name:
                found["".join(part[0] for part in name.split("-"))] = kind
    for kind in classes_in(optim, optim.AbstractUpdate):
        found[kebab_case(kind.__name__)] = partial(_quasi_newton, kind)
    for name, make in vars(optim).items():
        if inspect.isfunction(make) and not required_by(make):
            made = inspect.signature(make).return_annotation
            if inspect.isclass(made) and issubclass(made, optim.AbstractOptimizer):
                found[kebab_case(name)] = make
    return found


def known_policies() -> dict[str, Callable[..., adapt.AbstractPolicy]]:
    """Presets, and policies for points that need only a potential or another policy."""
    found: dict[str, Callable[..., Any]] = {}
    for kind in classes_in(adapt, adapt.AbstractPolicy):
        is_for_operators = issubclass(kind, adapt.AbstractTilting) and not issubclass(
            kind, adapt.AbstractPoolPolicy
        )
        is_easy = required_by(kind) <= {"potential"} or required_by(kind) == {"policy"}
        if is_easy and not is_for_operators:
            found[kebab_case(kind.__name__)] = kind
    for name, make in vars(presets).items():
        if inspect.isfunction(make) and not name.startswith("_"):
            found[kebab_case(name)] = make
    return found | {"default": recipe_policy, "vrba-unbiased": unbiased_policy}


def recipe_policy(policy: adapt.AbstractPolicy) -> adapt.AbstractPolicy:
    """The recipe's own policy: adaptive sampling that suits the optimizer."""
    return policy


def unbiased_policy(policy: adapt.AbstractPolicy) -> adapt.AbstractPolicy:
    """The recipe's own policy, with weights that make its sampling unbiased."""
    inner = getattr(policy, "policy", None)
    changes: dict[str, Any] = {"correction": adapt.Unbiased()}
    if inner is not None:
        changes = {"policy": unbiased_policy(inner)}
    elif not isinstance(policy, adapt.Sampling):
        name = type(policy).__name__
        raise UsageError(
            f"The policy `{name}` of the recipe changes the objective by its weights, "
            "so correcting its sampling does not make it unbiased: leave out `--policy "
            "vrba-unbiased`, or take a recipe that samples, such as `--recipe "
            "ssbroyden-sampling`."
        )
    return dataclasses.replace(policy, **changes)


def _quasi_newton(rule: Callable[[], optim.AbstractUpdate]) -> optim.QuasiNewton:
    return optim.QuasiNewton(update=rule())


def known_recipes() -> dict[str, Callable[..., Recipe]]:
    """Published recipes."""
    return {
        kebab_case(name): make
        for name, make in vars(published).items()
        if inspect.isfunction(make) and make.__module__ == published.__name__
    }


def known_makers() -> dict[str, type[data.AbstractMaker]]:
    """Data generators by name."""
    return named_in(data, data.AbstractMaker)


def known_models() -> dict[str, type[models.AbstractOperatorArchitecture]]:
    """Operator networks by name."""
    return named_in(models, models.AbstractOperatorArchitecture)


def known_losses() -> dict[str, type[operators.AbstractFunctionLoss]]:
    """Operator losses by name."""
    return named_in(operators, operators.AbstractFunctionLoss)


def policy_from_words(
    policy: str | None, potential: str | None, own: adapt.AbstractPolicy
) -> adapt.AbstractPolicy:
    """The policy of these names; without a policy, the recipe's `own` with the
    potential."""
    chosen = None
    if potential is not None:
        chosen = pick("potential", potential, known_potentials())()
    if policy is not None:
        return make_policy(policy, chosen, own)
    return own if chosen is None else with_potential(own, chosen)


def make_policy(
    name: str,
    potential: adapt.AbstractPotential | None,
    wrapped: adapt.AbstractPolicy | None,
) -> adapt.AbstractPolicy:
    """The policy of this name, with the potential where it takes one.

    A policy that needs another one wraps `wrapped`, the policy of the recipe, unless
    that is one of its kind already.
    """
    make = pick("policy", name, known_policies())
    if "policy" in required_by(make):
        if wrapped is None:
            raise UsageError(
                f"The policy `{name}` wraps another policy, which cannot be read from "
                "the folder: resume this run from Python."
            )
        is_there = inspect.isclass(make) and isinstance(wrapped, make)
        policy = wrapped if is_there else make(wrapped)
        return policy if potential is None else with_potential(policy, potential)
    takes_potential = "potential" in inspect.signature(make).parameters
    if potential is None:
        needs = "potential" in required_by(make)
        return make(adapt.Quadratic()) if needs else make()
    if not takes_potential:
        raise UsageError(f"The policy `{name}` takes no potential.")
    return make(potential)


def with_potential(
    policy: adapt.AbstractPolicy, potential: adapt.AbstractPotential
) -> adapt.AbstractPolicy:
    """The same policy with another potential."""
    inner = getattr(policy, "policy", None)
    if inner is not None:
        changed: dict[str, Any] = {"policy": with_potential(inner, potential)}
        return dataclasses.replace(policy, **changed)
    if not hasattr(policy, "potential"):
        raise UsageError(f"The policy `{type(policy).__name__}` takes no potential.")
    return dataclasses.replace(policy, potential=potential)


def with_time_axis(
    policy: adapt.AbstractTimed, coordinates: tuple[str, ...]
) -> adapt.AbstractTimed:
    """The same policy, with the axis of the coordinate `t`."""
    if "t" not in coordinates:
        name = kebab_case(type(policy).__name__)
        raise UsageError(
            f"The policy `{name}` needs a coordinate `t`, but the coordinates of the "
            f"problem are {', '.join(coordinates)}."
        )
    axis: dict[str, Any] = {"axis": coordinates.index("t")}
    return dataclasses.replace(policy, **axis)


def _plain(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")


def classes_in(room: ModuleType, base: type[_T]) -> list[type[_T]]:
    """The subclasses of `base` that a room exports and that can be built."""
    return [
        kind
        for kind in vars(room).values()
        if inspect.isclass(kind) and issubclass(kind, base) and not missing_parts(kind)
    ]


def missing_parts(kind: type) -> list[str]:
    """The abstract methods and fields that a class does not define."""
    marks = ("__abstractclassvars__", "__abstractmethods__", "__abstractvars__")
    return [name for mark in marks for name in sorted(getattr(kind, mark, ()))]


def named_in(room: ModuleType, base: type[_T]) -> dict[str, type[_T]]:
    """The subclasses of `base` that a room exports, by kebab-case name."""
    return {kebab_case(kind.__name__): kind for kind in classes_in(room, base)}


def required_by(make: Callable[..., Any]) -> set[str]:
    """The arguments without a default; `*arguments` count as one."""
    return {
        name
        for name, parameter in inspect.signature(make).parameters.items()
        if parameter.default is parameter.empty
    }
