"""Convex potentials, from no adaptivity (linear) to the maximum (superexponential).

`vrba.adapt` exports them: a new one needs a file here and an export line there.
"""

from ._base import AbstractPotential as AbstractPotential
