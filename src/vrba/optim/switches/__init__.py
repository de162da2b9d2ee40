"""Switches: when one optimizer hands over to the next."""

from ._base import AbstractSwitch as AbstractSwitch
from .after_steps import AfterSteps as AfterSteps
from .below_loss import BelowLoss as BelowLoss
from .on_stall import OnStall as OnStall
from .on_stall import StallState as StallState
