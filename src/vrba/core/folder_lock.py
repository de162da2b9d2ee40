"""One process at a time at work in a folder."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no such locks: there nothing is refused
    fcntl = None

NAME = "lock"
_NUM_ATTEMPTS = 5
_PAUSE = 0.02  # seconds


@contextmanager
def lock_folder(path: Path) -> Iterator[None]:
    """Refuses a folder in which another process is at work; makes it if need be, and
    drops what it made if nothing comes into it. The system ends the lock of a process
    that is killed."""
    is_ours = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    lock = path / NAME
    with open(lock, "a+", encoding="utf-8") as file:
        if not any(_is_locked(file, lock) for _ in _attempts()):
            file.seek(0)
            raise InputError(
                f"`{path}` is at work in another process ({file.read().strip()}): wait "
                "until that has ended, or choose another folder."
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
    """Whether a process is at work in the folder. The file that a killed one leaves is
    locked by nobody, whatever process has its number now. Nobody knows on Windows."""
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
    """Some within a moment: who asks whether a folder is at work locks it for one."""
    for _ in range(_NUM_ATTEMPTS):
        yield
        time.sleep(_PAUSE)


def _is_locked(file: IO[str], path: Path) -> bool:
    """Whether the file is locked for us now, and still the one of that name."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
