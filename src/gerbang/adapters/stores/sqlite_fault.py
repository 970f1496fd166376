"""Translation of SQLite's errors into ours: what happened, and what a person does about it."""

import sqlite3
from typing import Final

from gerbang.errors import StoreBusy, StoreError, StoreUnavailable

_ELSEWHERE: Final = "or name another place with `sqlite:PATH`"

_NOT_A_STORE: Final = (
    f"The file {{path}} is not a store: it holds something else. Move it away, {_ELSEWHERE}."
)

_REMEDY: Final[dict[int, str]] = {
    sqlite3.SQLITE_FULL: (
        "The disk that holds the store {path} is full. Nothing of this record was written; "
        "free some space and try again."
    ),
    sqlite3.SQLITE_IOERR: (
        "The store {path} could not be written or read: the disk is full, a size limit is reached, or the "
        "disk fails. Nothing of this record was written; check the disk and try again."
    ),
    sqlite3.SQLITE_READONLY: (
        f"The store {{path}} is read-only. Make the file and its folder writable for this user, {_ELSEWHERE}."
    ),
    sqlite3.SQLITE_CANTOPEN: (
        f"The store {{path}} cannot be opened. Check that its folder exists and is writable, {_ELSEWHERE}."
    ),
    sqlite3.SQLITE_PERM: f"No permission for the store {{path}}. Give this user access, {_ELSEWHERE}.",
    sqlite3.SQLITE_NOTADB: _NOT_A_STORE,
    sqlite3.SQLITE_CORRUPT: (
        f"The store {{path}} is damaged. Keep a copy, restore it from a backup, {_ELSEWHERE}."
    ),
}


def not_a_store(path: str) -> str:
    """Return the text for a file that is no SQLite database."""
    return _NOT_A_STORE.format(path=path)


def is_busy(fault: BaseException) -> bool:
    """True when another process held the lock for too long."""
    return isinstance(fault, sqlite3.Error) and _code(fault) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def translate(fault: BaseException, path: str, timeout_s: float) -> StoreError:
    """Return the StoreError for an error that SQLite, or binding a value to a statement, raised."""
    if isinstance(fault, StoreError):
        return fault
    if is_busy(fault):
        return StoreBusy(
            f"Another process held the store {path} for more than {timeout_s:g} s. Nothing was written; "
            "try again, and end the program that keeps it locked if this goes on."
        )
    remedy = _REMEDY.get(_code(fault)) if isinstance(fault, sqlite3.Error) else None
    if remedy is not None:
        return StoreUnavailable(remedy.format(path=path))
    return StoreError(
        f"The store {path} refused a record ({type(fault).__name__}). Nothing of it was written; "
        "a value in it has a type or size that cannot be stored."
    )


def _code(fault: sqlite3.Error) -> int:
    """Return the primary result code; the upper bits only say where it happened."""
    return getattr(fault, "sqlite_errorcode", 0) & 0xFF
