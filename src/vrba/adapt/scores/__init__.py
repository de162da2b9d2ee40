"""Scores: from a tilt over functions and points to one over functions."""

from ._base import AbstractScore as AbstractScore
from .flatness import FlatnessScore as FlatnessScore
from .joint import JointScore as JointScore
