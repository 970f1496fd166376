"""A folder that tools may read, and nothing outside of it.

A path is walked one name at a time with `open(dir_fd=…, O_NOFOLLOW)`; links are followed here and not by the
system. Nothing outside of the folder is opened or even looked up, and exchanging a name for a link while a
call runs gains nothing. A path that leaves the folder and comes back, or an absolute one, is inside when it
spells the folder's own real path. A hard link to a file elsewhere counts as inside: no system can tell.
"""

import codecs
import contextlib
import errno
import heapq
import itertools
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

FaultKind = Literal[
    "OUTSIDE", "MISSING", "BAD_PATH", "IS_FOLDER", "NOT_A_FOLDER", "NOT_A_FILE", "NOT_TEXT",
    "UNREADABLE", "CHANGED", "TOO_MANY_LINKS", "TOO_MANY_ENTRIES", "NO_WORKSPACE",
]  # fmt: skip
Kind = Literal["file", "folder", "outside", "other"]

MAX_PATH_CHARS: Final = 1_024
"""Longest path that a caller may ask for."""
MAX_DEPTH: Final = 64
"""Folders within folders: each is an open descriptor while a path is walked."""
MAX_LINKS: Final = 40
"""Links followed for one path; the same number as Linux."""
MAX_SCANNED: Final = 100_000
"""Entries of one folder that a listing looks at."""

_WALK: Final = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BOM: Final = "\ufeff"
_ODD: Final = re.compile("[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_ODD_SHARE: Final = 0.05  # more control or undecodable characters than this, and it is not text
_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})


class WorkspaceFault(Exception):
    """The workspace cannot answer. `kind` says why; no text of the system, no path outside is kept."""

    def __init__(self, kind: FaultKind) -> None:
        super().__init__(kind)
        self.kind: FaultKind = kind


class Workspace:
    """Reads files and lists folders below one real folder. Holds no descriptor between calls."""

    def __init__(self, root: Path | str) -> None:
        """`root` is trusted: it comes from the program's owner. It need not exist yet."""
        self.root = Path(os.path.realpath(root))
        self._given = os.path.abspath(root)
        self._names = self.root.parts[1:]

    def read_text(self, path: str, max_chars: int) -> str:
        """Return the first `max_chars` characters of a UTF-8 text file; only those bytes are read.

        Bytes that are not UTF-8 become U+FFFD. Raises WorkspaceFault: also for binary content.
        """
        with self._opened(path, folder=False) as file:
            # A character takes at most 4 bytes, a byte order mark 3.
            data, ended = _read(file, 4 * max_chars + 3)
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=ended)
        text = text.removeprefix(_BOM)[:max_chars]
        if not _is_text(text):
            raise WorkspaceFault("NOT_TEXT")
        return text

    def list_folder(self, path: str, limit: int) -> tuple[list[tuple[str, Kind]], int]:
        """Return the first `limit` names of a folder in code-point order with their kinds, and the total.

        A link has the kind of what it points to. Raises WorkspaceFault.
        """
        with self._opened(path, folder=True) as folder:
            try:
                with os.scandir(folder) as entries:
                    names = [entry.name for entry in itertools.islice(entries, MAX_SCANNED + 1)]
            except OSError:
                raise WorkspaceFault("UNREADABLE") from None
            if len(names) > MAX_SCANNED:
                raise WorkspaceFault("TOO_MANY_ENTRIES")
            first = heapq.nsmallest(limit, names)
            return [(name, self._kind(f"{path}/{name}" if path else name)) for name in first], len(names)

    def _kind(self, path: str) -> Kind:
        try:
            with _Walk(self.root, self._names, self._given) as walk:
                return "file" if walk.to(path) is not None else "folder"
        except WorkspaceFault as fault:
            return "outside" if fault.kind == "OUTSIDE" else "other"

    @contextlib.contextmanager
    def _opened(self, path: str, *, folder: bool) -> Iterator[int]:
        if len(path) > MAX_PATH_CHARS or "\0" in path:
            raise WorkspaceFault("BAD_PATH")
        with _Walk(self.root, self._names, self._given) as walk:
            name = walk.to(path)
            if name is None and not folder:
                raise WorkspaceFault("IS_FOLDER")
            if name is not None and folder:
                raise WorkspaceFault("NOT_A_FOLDER")
            file = walk.open(name)
        try:
            yield file
        finally:
            os.close(file)


class _Walk:
    """One walk down a path. The folders on the way stay open, so that `..` is the way we came by.

    `above` counts how many names of the root's own path were left behind by `..` or an absolute path;
    there only the root's own names lead back, and the file system is not asked.
    """

    def __init__(self, root: Path, names: tuple[str, ...], given: str) -> None:
        self._root = root
        self._names = names
        self._given = given
        self._above = 0
        self._open: list[int] = []

    def __enter__(self) -> "_Walk":
        try:
            self._open.append(os.open(self._root, _WALK))
        except OSError:
            raise WorkspaceFault("NO_WORKSPACE") from None
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            os.close(self._open.pop())

    def to(self, path: str) -> str | None:
        """Go to `path`. Return the last name when it is a regular file, None when it is a folder."""
        todo = self._split(path)
        links = 0
        while todo:
            name = todo.pop()
            if name == ".." or self._above:
                self._outside(name)
                continue
            mode = self._mode(name)
            if stat.S_ISLNK(mode):
                links += 1
                if links > MAX_LINKS:
                    raise WorkspaceFault("TOO_MANY_LINKS")
                todo += self._split(self._target(name))
            elif stat.S_ISDIR(mode):
                links += self._enter(name, todo)
            elif todo:
                raise WorkspaceFault("MISSING")
            elif not stat.S_ISREG(mode):
                raise WorkspaceFault("NOT_A_FILE")
            else:
                return name
        if self._above:
            raise WorkspaceFault("OUTSIDE")
        return None

    def open(self, name: str | None) -> int:
        """Open where `to` arrived, for reading. What was put in its place since then is refused."""
        try:
            if name is None:
                return os.open(".", _READ | os.O_DIRECTORY, dir_fd=self._open[-1])
            file = os.open(name, _READ, dir_fd=self._open[-1])
        except OSError as error:
            raise _fault(error) from None
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise WorkspaceFault("NOT_A_FILE")
        return file

    def _split(self, path: str) -> list[str]:
        """Return the names of a path, last one first, after going back to `/` when it is absolute."""
        if path.startswith("/"):
            while len(self._open) > 1:
                os.close(self._open.pop())
            rest = path.removeprefix(self._given)
            inside = rest != path and rest[:1] in ("", "/")
            path = rest if inside else path
            self._above = 0 if inside else len(self._names)
        return [name for name in reversed(path.split("/")) if name not in ("", ".")]

    def _outside(self, name: str) -> None:
        if name == "..":
            if len(self._open) > 1:
                os.close(self._open.pop())
            else:
                self._above = min(self._above + 1, len(self._names))
        elif name == self._names[-self._above]:
            self._above -= 1
        else:
            raise WorkspaceFault("OUTSIDE")

    def _mode(self, name: str) -> int:
        try:
            return os.stat(name, dir_fd=self._open[-1], follow_symlinks=False).st_mode
        except (OSError, ValueError) as error:
            raise _fault(error) from None

    def _target(self, name: str) -> str:
        try:
            return os.readlink(name, dir_fd=self._open[-1])
        except OSError as error:
            raise _fault(error) from None

    def _enter(self, name: str, todo: list[str]) -> int:
        """Enter a folder. Return 1 when it is no folder any more: its name is then looked up again."""
        if len(self._open) > MAX_DEPTH:
            raise WorkspaceFault("BAD_PATH")
        try:
            self._open.append(os.open(name, _WALK, dir_fd=self._open[-1]))
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise _fault(error) from None
            todo.append(name)
            return 1
        return 0


def _fault(error: OSError | ValueError) -> WorkspaceFault:
    if not isinstance(error, OSError):  # half a surrogate pair: no file name has it
        return WorkspaceFault("BAD_PATH")
    if error.errno in _ABSENT:
        return WorkspaceFault("MISSING")
    if error.errno in (errno.ELOOP, errno.EINVAL):  # a link stands where there was none, or the reverse
        return WorkspaceFault("CHANGED")
    return WorkspaceFault("NOT_A_FILE" if error.errno == errno.ENXIO else "UNREADABLE")


def _read(file: int, limit: int) -> tuple[bytes, bool]:
    """Return up to `limit` bytes, and whether the file ended there."""
    parts: list[bytes] = []
    try:
        while limit > 0:
            part = os.read(file, min(limit, 65_536))
            if not part:
                return b"".join(parts), True
            parts.append(part)
            limit -= len(part)
    except OSError:
        raise WorkspaceFault("UNREADABLE") from None
    return b"".join(parts), False


def _is_text(text: str) -> bool:
    if "\0" in text:
        return False
    return sum(1 for _ in _ODD.finditer(text)) <= len(text) * _ODD_SHARE
