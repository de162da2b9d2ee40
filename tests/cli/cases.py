"""How the tests call a command."""

import contextlib
import io

import pytest

from vrba.cli import children, compare, machine, solve, train
from vrba.cli.entry import main


def call(*arguments):
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in arguments])
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def children_that_share(compiled):
    """Child processes share a compilation cache, which users' do not."""
    shared = {"JAX_COMPILATION_CACHE_DIR": str(compiled)}
    shared |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            children, "environment", lambda count: machine.environment(count) | shared
        )
        yield


@contextlib.contextmanager
def children_in_this_process():
    """Run a comparison in this process, one run after another, without pages: the runs
    import nothing and share what is compiled."""

    def run_all(tasks, *, on_end, **settings):
        del settings
        for task in tasks:
            code, out, err = call(*task.words)
            task.log.parent.mkdir(parents=True, exist_ok=True)
            task.log.write_text(out + err)
            on_end(task, code, False)
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "run_all", run_all)
        for command in (solve, train):
            patch.setattr(command, "write_page", lambda path, **settings: None)
        yield
