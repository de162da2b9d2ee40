"""What conditions on a face share: their name, their place and their points."""

from typing import ClassVar

import equinox as eqx

from ...domains import AbstractDomain
from ._base import AbstractCondition, Number, Sampled, Value, check_inside, sample_faces


class AbstractFaceCondition(AbstractCondition):
    """A condition where the coordinate `on` is `at`; not given, at both its ends.

    One that needs the outward direction must be on a face; another may be inside.
    """

    has_fresh_points: ClassVar[bool] = True
    needs_direction: eqx.AbstractClassVar[bool]
    value: eqx.AbstractVar[Value]
    on: eqx.AbstractVar[str]
    at: eqx.AbstractVar[Number | None]

    def label(self) -> str:
        """For instance `dirichlet x` or `robin x=1 of v`."""
        place = self.on if self.at is None else f"{self.on}={self.at:g}"
        name = f"{type(self).__name__.lower()} {place}"
        return name if self.of is None else f"{name} of {self.of}"

    def check(self, domain: AbstractDomain) -> None:
        """The place must be in the domain, or a face of it."""
        check_inside(domain, self.on, self.at, self.label())
        ends = domain.bounds(self.on)
        if self.needs_direction and self.at is not None and self.at not in ends:
            raise ValueError(
                f"The condition `{self.label()}` needs a face, {self.on} = "
                f"{ends[0]:g} or {ends[1]:g}, got {self.at:g}."
            )

    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        """Points of the face or faces, with the direction outwards."""
        return sample_faces(domain, self.on, self.at, num_points, seed)
