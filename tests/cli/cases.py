"""How the tests call a command."""

import contextlib
import io

from vrba.cli.main import main


def call(*arguments):
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in arguments])
    return code, out.getvalue(), err.getvalue()
