"""What is told of a run while it goes on."""

from ...core import AbstractCallback as AbstractCallback
from ...core import Plan as Plan
from .lines import Lines as Lines
from .several import Several as Several
from .silent import Silent as Silent
