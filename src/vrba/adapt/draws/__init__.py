"""Draws: from probabilities to point ids."""

from ._base import AbstractDraw as AbstractDraw
from .stratified import Stratified as Stratified
from .systematic import Systematic as Systematic
from .with_replacement import WithReplacement as WithReplacement
from .without_replacement import WithoutReplacement as WithoutReplacement
