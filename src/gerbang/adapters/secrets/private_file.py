"""Files that only their owner can read: reading them, replacing them whole, and one writer at a time."""

import contextlib
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gerbang.errors import ConfigError

MAX_FILE_BYTES: Final = 4_194_304
"""A file of secrets larger than this is refused."""

_LOCK_WAIT_S: Final = 10.0
_LOCK_STEP_S: Final = 0.02
Mark = tuple[int, int, int, int]


def mark_of(path: Path) -> Mark | None:
    """Return what changes when the file is changed or replaced, None when there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _cannot("read", path, error) from None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def read_private(path: Path, what: str) -> bytes:
    """Return a file's bytes. `what` names it in errors, such as `key file`.

    Raises ConfigError when it is missing, no ordinary file, larger than MAX_FILE_BYTES, belongs to another
    user, or can be read or written by one.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not stop us
    except FileNotFoundError:
        raise ConfigError(f"There is no {what} {path}. Check the path.") from None
    except OSError as error:
        raise _cannot("read", path, error) from None
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode):  # a folder could not be wrapped below
        os.close(number)
        raise ConfigError(f"The {what} {path} is no ordinary file. Name another.")
    with os.fdopen(number, "rb") as file:
        if found.st_uid not in (os.geteuid(), 0):
            raise ConfigError(f"The {what} {path} belongs to another user. Use a file of your own.")
        if found.st_mode & 0o077:
            raise ConfigError(
                f"The {what} {path} can be read or written by other users. Run: chmod 600 {path}"
            )
        try:
            data = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise _cannot("read", path, error) from None
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"The {what} {path} is larger than {MAX_FILE_BYTES} bytes. Name another.")
    return data


def replace_private(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Put the bytes in the file's place, with that mode: readers see the old file or the new one, whole.

    Returns when the new file is on disk. Raises ConfigError; the old file is then as it was.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(number, "wb") as file:
                os.fchmod(number, mode)  # whatever the umask took away
                file.write(data)
                file.flush()
                os.fsync(number)
            os.replace(draft, target)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise _cannot("written", path, error) from None


@contextlib.contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the lock of a file, an empty file beside it, against other threads and processes.

    The folder is made when it is missing. Raises ConfigError when another writer does not end in time.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = target.with_name(f"{target.name}.lock")
        number = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _cannot("written", path, error) from None
    try:
        _wait_for(number, path)
        yield
    finally:
        os.close(number)


def _wait_for(number: int, path: Path) -> None:
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise ConfigError(
                    f"Another program has been writing {path} for {_LOCK_WAIT_S:g} s. Wait for it to end, "
                    "then run this again."
                ) from None
            time.sleep(_LOCK_STEP_S)
        except OSError as error:
            raise _cannot("locked", path, error) from None
        else:
            return


def _cannot(what: str, path: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"{path} cannot be {what}: {error.strerror or 'the system refuses'}. Check the path and its folder."
    )
