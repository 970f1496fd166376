"""Digests of files of one folder, read off the event loop."""

import asyncio
import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gerbang.ports import UnreadableFile

MAX_FILE_BYTES: Final = 256 * 1024 * 1024
"""A larger file is not read: a call that names one cannot be approved."""
ABSENT: Final = "absent"
_CHUNK: Final = 1 << 20


class FolderFiles:
    """Reads files of `folder`; the folder itself may not be there yet.

    Absolute paths are given by tools, which answer for them; names that a model wrote stay inside.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = None if folder is None else Path(folder).expanduser()

    async def digests(self, named: Mapping[str, str]) -> dict[str, str]:
        """Return a digest of each file by its name. Raises UnreadableFile."""
        return await asyncio.to_thread(self._read_all, dict(named))

    def _read_all(self, named: dict[str, str]) -> dict[str, str]:
        root = (self._folder or Path.cwd()).resolve()
        return {name: self._read(root, name, path) for name, path in named.items()}

    def _read(self, root: Path, name: str, path: str) -> str:
        shown = name[:200]
        try:
            found = Path(path) if os.path.isabs(path) and path != name else root / path
            real = found.resolve()
            if path == name and not real.is_relative_to(root):
                raise UnreadableFile(shown)
            return _digest(real) + _led_to(found, real, root)
        except (OSError, ValueError, RuntimeError):
            raise UnreadableFile(shown) from None


def _led_to(named: Path, real: Path, root: Path) -> str:
    """Return the mark of where links lead: two files may hold the same, and it matters which one is meant."""
    if str(real) == os.path.normpath(named):
        return ""
    place = os.path.relpath(real, root)
    return "@" + hashlib.sha256(os.fsencode(place)).hexdigest()[:16]


def _digest(path: Path) -> str:
    """Return the digest of a file, or of a folder's names, or that it is not there. Raises OSError."""
    try:  # not to wait for a writer: a name may lead to a pipe
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ABSENT
    try:
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            names = "\0".join(sorted(os.listdir(descriptor)))
            return "folder:" + hashlib.sha256(os.fsencode(names)).hexdigest()
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_FILE_BYTES:
            raise OSError("not an ordinary file of ordinary size")
        total, sums = 0, hashlib.sha256()
        while chunk := os.read(descriptor, _CHUNK):
            total += len(chunk)
            if total > MAX_FILE_BYTES:
                raise OSError("it grows while it is read")
            sums.update(chunk)
        return "sha256:" + sums.hexdigest()
    finally:
        os.close(descriptor)
