"""One process at a time at work in a folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows has no such locks: there nothing is refused
    fcntl = None

NAME = "lock"


@contextmanager
def at_work(path: Path) -> Iterator[None]:
    """Refuses a folder in which another process is at work; makes it if need be, and
    drops what it made if nothing comes into it. The system ends the lock of a process
    that is killed."""
    is_ours = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    lock = path / NAME
    with open(lock, "a+", encoding="utf-8") as file:
        if not _is_locked(file, lock):
            file.seek(0)
            raise ValueError(
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


def is_at_work(path: Path) -> bool:
    """Whether a process that lives on this machine is at work in the folder: one that
    was killed leaves its number there. Nobody knows on Windows, where to ask would
    stop that process."""
    if fcntl is None:
        return False
    try:
        os.kill(int((path / NAME).read_text(encoding="utf-8")), 0)
    except PermissionError:  # it lives, and is another user's
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True


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
