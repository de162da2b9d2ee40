"""Commands and their processes, as tests of comparisons call them."""

import contextlib
import io

import pytest

from vrba.cli import solve, train
from vrba.cli.entry import main
from vrba.compare import environment, executors


def call(*arguments):
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in arguments])
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def processes_share_cache(compiled):
    """Processes of a comparison share a compilation cache, unlike those of users."""
    shared = {"JAX_COMPILATION_CACHE_DIR": str(compiled)}
    shared |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            executors, "environment", lambda count: environment(count) | shared
        )
        yield


@contextlib.contextmanager
def runs_in_this_process():
    """Commands of a comparison run one after another in this process: they import
    nothing, share what is compiled, and draw no page of their own."""

    def run_processes(commands, *, on_end, **settings):
        del settings
        for command in commands:
            code, out, err = call(*command.words)
            command.log.parent.mkdir(parents=True, exist_ok=True)
            command.log.write_text(out + err)
            on_end(command, code, False)
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executors, "run_processes", run_processes)
        for command in (solve, train):
            patch.setattr(command, "draw_report", lambda path, **settings: None)
        yield
