"""The interfaces of a comparison."""

from ..core import InputError


class UsageError(InputError):
    """A setting that does not fit; the user's problem file is not to blame."""
