"""Schedules: how a learning rate changes with the steps."""

from ._base import AbstractSchedule as AbstractSchedule
from .cosine import Cosine as Cosine
from .decaying import Decaying as Decaying
