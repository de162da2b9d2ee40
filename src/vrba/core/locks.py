"""One process at a time works in a folder."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no such locks: nothing is refused there
    fcntl = None

NAME = "lock"
_NUM_ATTEMPTS = 5
_PAUSE = 0.02  # seconds


@contextmanager
def lock_folder(path: Path) -> Iterator[None]:
    """Lock a folder for this process; raise if another process works there.

    A missing folder is made, and removed again if it stays empty. The operating system
    releases the lock of a process that is killed.
    """
    is_ours = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    lock = path / NAME
    with open(lock, "a+", encoding="utf-8") as file:
        if not any(_is_locked(file, lock) for _ in _attempts()):
            file.seek(0)
            raise InputError(
                f"`{path}` is in use by another process ({file.read().strip()}): wait "
                "until that process has ended, or choose another folder."
            )
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            with suppress(OSError):
                lock.unlink()
            if is_ours:
                with suppress(OSError):  # it is not empty
                    path.rmdir()


def is_locked(path: Path) -> bool:
    """Whether a process works in the folder; always false on Windows.

    The lock file of a killed process stays, but nothing holds its lock.
    """
    if fcntl is None:
        return False
    try:
        with open(path / NAME, encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no such file, not ours to read, or no locks there
        return False
    return False


def _attempts() -> Iterator[None]:
    """Several attempts, because `is_locked` of another process locks for a moment."""
    for _ in range(_NUM_ATTEMPTS):
        yield
        time.sleep(_PAUSE)


def _is_locked(file: IO[str], path: Path) -> bool:
    """Whether this process now holds the lock of the file that has this name."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
