"""Which conditions of a problem have an exact form."""

from typing import Any

from ..domains import AbstractDomain, Box
from .conditions import (
    AbstractCondition,
    Dirichlet,
    Initial,
    Neumann,
    Penalty,
)
from .exact import EndCondition, ExactAxis, ExactConditions, ExactField
from .exact_shapes import ShapePiece, find_pieces, largest_distance

Parts = list[EndCondition] | list[ShapePiece]

_TOLERANCE = 1e-6  # of the largest given value


def find_exact_conditions(
    domain: AbstractDomain,
    fields: tuple[str, ...],
    periodic: tuple[str, ...],
    conditions: dict[str, AbstractCondition],
) -> ExactConditions:
    """Find the conditions that an ansatz can fulfil exactly.

    These are initial values and rates, values on balls and boxes, and on a box values
    and normal derivatives on whole faces. A derivative needs the lower ones at the same
    place. Conditions with a `Penalty` of their own remain, and those whose values
    disagree where faces meet.
    """
    reasons: dict[str, str] = {}
    known: dict[str, tuple[str, Parts]] = {}
    for name, condition in conditions.items():
        found = _parts_of(name, condition, domain, periodic)
        if isinstance(found, str):
            reasons[name] = found
        else:
            known[name] = condition.field or fields[0], found
    _leave_out_incomplete(known, reasons)
    forms = {field: _field_of(field, known, domain) for field in fields}
    for field, form in forms.items():
        if form is None:
            continue
        if why := _disagreement(form, domain):
            forms[field] = None
            left = [name for name, (of, _) in known.items() if of == field]
            reasons |= dict.fromkeys(left, why)
    exact = tuple(name for name in known if name not in reasons)
    ordered = {name: reasons[name] for name in conditions if name in reasons}
    each = tuple(forms[field] for field in fields)
    return ExactConditions(domain.coordinates, each, exact, ordered)


def without_initials(
    conditions: dict[str, AbstractCondition],
) -> dict[str, AbstractCondition]:
    """Return the other conditions than initial ones."""
    pairs = conditions.items()
    return {name: one for name, one in pairs if not isinstance(one, Initial)}


def _parts_of(
    name: str,
    condition: AbstractCondition,
    domain: AbstractDomain,
    periodic: tuple[str, ...],
) -> Parts | str:
    """Return a condition at ends of coordinates or on shapes, or why it has no form."""
    if condition.penalty != Penalty():
        return "it has a `Penalty` of its own"
    if isinstance(condition, Initial):
        lower = domain.bounds(condition.on)[0]
        if lower not in domain.planes(condition.on):
            return f"the domain has no face at {condition.on} = {lower:g}"
        return [EndCondition(name, condition, condition.on, lower, condition.order)]
    if not isinstance(condition, Dirichlet | Neumann):
        return "only values, normal derivatives and initial values have an exact form"
    if condition.where is not None:
        return "it has `where`"
    is_on_faces = isinstance(condition.on, str) or condition.on == domain
    if isinstance(domain, Box) and is_on_faces:
        return _on_faces(name, condition, domain, periodic)
    if isinstance(condition, Dirichlet) and not isinstance(condition.on, str):
        return find_pieces(name, condition, domain)
    return "only values on balls and boxes and the faces of a box have an exact form"


def _on_faces(
    name: str, condition: Dirichlet | Neumann, domain: Box, periodic: tuple[str, ...]
) -> Parts | str:
    """Return a condition at the ends of the coordinates of a box."""
    axes = (condition.on,) if isinstance(condition.on, str) else domain.coordinates
    faces = [
        (axis, float(end))
        for axis in axes
        for end in (domain.bounds(axis) if condition.at is None else (condition.at,))
    ]
    if any(end not in domain.bounds(axis) or axis in periodic for axis, end in faces):
        return "it is not on a face"
    order = int(isinstance(condition, Neumann))
    outward = lambda axis, end: 1.0 if end == domain.bounds(axis)[1] else -1.0
    return [
        EndCondition(name, condition, *face, order, outward(*face) ** order)
        for face in faces
    ]


def _leave_out_incomplete(
    known: dict[str, tuple[str, Parts]], reasons: dict[str, str]
) -> None:
    """Move conditions that repeat others or lack lower derivatives to `reasons`."""
    while True:
        first: dict[Any, str] = {}
        for name, (field, parts) in known.items():
            for one in parts:
                first.setdefault((field, *one.place), name)
        for name, (field, parts) in known.items():
            for one in parts:
                if first[field, *one.place] != name:
                    reasons[name] = f"it repeats `{first[field, *one.place]}`"
                elif any((field, *place) not in first for place in one.lower_places):
                    reasons[name] = "the value itself is not given at the same place"
        left = [name for name in known if name in reasons]
        if not left:
            return
        for name in left:
            del known[name]


def _field_of(
    field: str, known: dict[str, tuple[str, Parts]], domain: AbstractDomain
) -> ExactField | None:
    """Return the form of a field, initial values first; `None` without conditions."""
    parts = [one for of, found in known.values() if of == field for one in found]
    pieces = tuple(one for one in parts if isinstance(one, ShapePiece))
    by_axis: dict[str, list[EndCondition]] = {}
    for one in parts:
        if isinstance(one, EndCondition):
            by_axis.setdefault(one.coordinate, []).append(one)
    if not parts:
        return None
    is_initial = lambda ends: any(isinstance(one.condition, Initial) for one in ends)
    rank = lambda name: (not is_initial(by_axis[name]), domain.position(name))
    axes = [
        ExactAxis.of(name, domain.bounds(name), tuple(by_axis[name]))
        for name in sorted(by_axis, key=rank)
    ]
    scale = largest_distance(pieces, domain) if pieces else 1.0
    return ExactField(tuple(axes), pieces, scale)


def _disagreement(form: ExactField, domain: AbstractDomain) -> str:
    """Say which condition the form violates where faces meet; empty if none."""
    found = form.mismatches(domain)
    largest = max(size for _, _, size in found) or 1.0
    for place, distance, _ in found:
        if not distance <= _TOLERANCE * largest:
            return (
                f"the values given at {place} and elsewhere differ by {distance:.1e} "
                "where they meet"
            )
    return ""
