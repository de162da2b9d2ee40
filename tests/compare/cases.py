"""Commands and their processes for the tests of comparisons."""

import contextlib
import io

import pytest

from vrba.__main__ import main
from vrba.cli import solve, train
from vrba.compare import environment, executors

DECAY = """
import vrba


class Decay(vrba.Problem):
    domain = vrba.Box(t=(0, 1))

    def equations(self, u, t):
        return {"decay": u.t + u}

    def conditions(self):
        return [vrba.Ansatz(lambda t, N: 1 + t * N)]
"""
TINY = ["--points", "8", "--pool", "32", "--width", "4", "--depth", "1"]


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
    """Run the commands of a comparison one after another in this process.

    They share compiled programs, and write no page of their own.
    """

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
            patch.setattr(command, "write_page", lambda path, **settings: None)
        yield


def residuals(content):
    """Method, seed and residuals of each run."""
    return [(run["method"], run["seed"], run["residual"]) for run in content["runs"]]
