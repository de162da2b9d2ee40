"""Problems, policies, potentials, optimizers and recipes by name.

They are found among the exports of the rooms, so a new class has a name at once.
"""

import dataclasses
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import ModuleType
from typing import Any, TypeVar

from .. import adapt, optim, problems
from ..adapt import presets
from ..core import kebab_case
from ..pinn import Recipe, published
from ._base import UsageError

_T = TypeVar("_T")


def listed(options: Iterable[str]) -> str:
    """The sorted names for a message."""
    return ", ".join(sorted(options)) or "none"


def pick(what: str, name: str, options: Mapping[str, _T], hint: str = "") -> _T:
    """The option with this name; ignores case, `-` and `_`. Raise if there is none."""
    found = {_normalised(option): value for option, value in options.items()}
    if _normalised(name) in found:
        return found[_normalised(name)]
    close = difflib.get_close_matches(_normalised(name), found, 1)
    meant = [option for option in options if _normalised(option) in close]
    guess = f" Did you mean `{meant[0]}`?" if meant else ""
    raise UsageError(
        f"There is no {what} `{name}`.{guess} There are: {listed(options)}.{hint}"
    )


def pick_some(what: str, names: str | None, options: Iterable[str]) -> tuple[str, ...]:
    """The options named in `A,B`; all of them if `names` is None."""
    known = {option: option for option in options}
    if names is None:
        return tuple(known)
    given = [name.strip() for name in names.split(",") if name.strip()]
    if not given:
        raise UsageError(f"Name one {what}, or several: {listed(known)}.")
    return tuple(pick(what, name, known) for name in given)


def known_problems() -> dict[str, type[problems.Problem]]:
    """The problems of the package."""
    return named_in(problems, problems.Problem)


def known_potentials() -> dict[str, Callable[[], adapt.AbstractPotential]]:
    """Potentials without required arguments."""
    found = classes_in(adapt, adapt.AbstractPotential)
    return {kebab_case(kind.__name__): kind for kind in found if not required_by(kind)}


def known_optimizers() -> dict[str, Callable[[], optim.AbstractOptimizer]]:
    """Optimizers without required arguments, and quasi-Newton with each update rule.

    A name of several words has its initials as a second name: `lm`.
    """
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
    """Presets, and policies for points that require at most a potential, or another
    policy to wrap."""
    found: dict[str, Callable[..., Any]] = {}
    for kind in classes_in(adapt, adapt.AbstractPolicy):
        is_for_operators = issubclass(kind, adapt.AbstractTilting) and not issubclass(
            kind, adapt.AbstractPoolPolicy
        )
        needed = required_by(kind)
        can_be_named = needed <= {"potential"} or needed == {"policy"}
        if can_be_named and not is_for_operators:
            found[kebab_case(kind.__name__)] = kind
    for name, make in vars(presets).items():
        if inspect.isfunction(make) and not name.startswith("_"):
            found[kebab_case(name)] = make
    return found | {"default": default_policy, "vrba-unbiased": unbiased_policy}


def default_policy(policy: adapt.AbstractPolicy) -> adapt.AbstractPolicy:
    """Return the policy of the recipe unchanged."""
    return policy


def unbiased_policy(policy: adapt.AbstractPolicy) -> adapt.AbstractPolicy:
    """The policy of the recipe, with weights that make the sampled loss unbiased."""
    inner = getattr(policy, "policy", None)
    changes: dict[str, Any] = {"correction": adapt.Unbiased()}
    if inner is not None:
        changes = {"policy": unbiased_policy(inner)}
    elif not isinstance(policy, adapt.Sampling):
        name = type(policy).__name__
        raise UsageError(
            f"The policy `{name}` of the recipe changes what is minimised; a "
            "correction of the sampling cannot undo that. Choose another policy than "
            "`vrba-unbiased`, or a recipe that samples, such as `--recipe "
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
        if inspect.isfunction(make)
    }


def make_policy(
    name: str,
    potential: adapt.AbstractPotential | None,
    wrapped: adapt.AbstractPolicy | None,
) -> adapt.AbstractPolicy:
    """The policy with this name, and with this potential if one is given.

    A policy that wraps another one wraps that of the recipe, `wrapped`, unless that is
    of the same class already.
    """
    make = pick("policy", name, known_policies())
    if "policy" in required_by(make):
        if wrapped is None:
            raise UsageError(
                f"The policy `{name}` wraps another one, which cannot be read from the "
                "folder: resume this run from Python."
            )
        is_same_class = inspect.isclass(make) and isinstance(wrapped, make)
        policy = wrapped if is_same_class else make(wrapped)
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
    """The same policy with `axis` set to the coordinate `t`."""
    if "t" not in coordinates:
        name = kebab_case(type(policy).__name__)
        raise UsageError(
            f"The policy `{name}` needs a coordinate `t`, but those of the problem are "
            f"{', '.join(coordinates)}."
        )
    axis: dict[str, Any] = {"axis": coordinates.index("t")}
    return dataclasses.replace(policy, **axis)


def _normalised(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")


def classes_in(room: ModuleType, base: type[_T]) -> list[type[_T]]:
    """The subclasses of `base` that a room exports and that can be built."""
    marks = ("__abstractmethods__", "__abstractvars__", "__abstractclassvars__")
    return [
        kind
        for kind in vars(room).values()
        if inspect.isclass(kind)
        and issubclass(kind, base)
        and not any(getattr(kind, mark, None) for mark in marks)
    ]


def named_in(room: ModuleType, base: type[_T]) -> dict[str, type[_T]]:
    """The same classes by name, such as `allen-cahn` for `AllenCahn`."""
    return {kebab_case(kind.__name__): kind for kind in classes_in(room, base)}


def required_by(make: Callable[..., Any]) -> set[str]:
    """The names of the required arguments, `*args` and `**kwargs` among them."""
    return {
        name
        for name, parameter in inspect.signature(make).parameters.items()
        if parameter.default is parameter.empty
    }
