"""Errors that are the user's to mend."""


class InputError(ValueError):
    """Bad input: the message names the argument, its value and what to do.

    The command line reports these without a traceback and exits with 2. Any other
    exception is a defect of vrba or of a library, and is reported as such.
    """


class BrokenFileError(InputError):
    """A file that is incomplete, damaged, or not what was saved."""
