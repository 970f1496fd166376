"""Opening the file of a SQLite store: checked before it is touched, created private, migrated forward."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

from gerbang.adapters.stores.schema import APPLICATION_ID, MIGRATIONS, VERSION
from gerbang.adapters.stores.sqlite_fault import is_busy, not_a_store
from gerbang.errors import StoreTooNew, StoreUnavailable

_HEADER: Final = b"SQLite format 3\x00"
_RETRY_S: Final = 0.01
_STATEMENTS: Final = 64

_KEY_BYTES: Final = 32


def open_writer(path: Path, timeout_s: float) -> sqlite3.Connection:
    """Return the connection that writes: WAL, synced to disk at each commit, schema up to date.

    Raises StoreUnavailable, StoreTooNew or a sqlite3 error. A file that is newer or not ours is left alone.
    """
    try:
        _make(path)
    except OSError as fault:  # a name that is too long, a folder that may not be looked into
        raise StoreUnavailable(
            f"The store {path} cannot be used: {fault.strerror}. Name another place with `sqlite:PATH`."
        ) from fault
    connection = _connect(path, "rw", timeout_s)
    try:
        version = _version(connection, path)
        _use_wal(connection, path, timeout_s)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = 1")  # macOS: a plain fsync leaves data in the drive's cache
        if version < VERSION:
            _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(path: Path, timeout_s: float) -> sqlite3.Connection:
    """Return a connection that cannot write and never blocks the one that does."""
    return _connect(path, "ro", timeout_s)


def _connect(path: Path, mode: str, timeout_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=timeout_s,
        isolation_level=None,
        check_same_thread=False,  # opened in one thread, then used in another; never in two at a time
        cached_statements=_STATEMENTS,
    )


def _make(path: Path) -> None:
    """Create the file for its owner only; SQLite gives its side files the same mode."""
    if not path.parent.is_dir():
        raise StoreUnavailable(
            f"The folder {path.parent} of the store does not exist. Create it, "
            "or name another place with `sqlite:PATH`."
        )
    if path.is_dir():
        raise StoreUnavailable(
            f"The store {path} is a folder. Name a file in it, such as `sqlite:{path}/gerbang.db`."
        )
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        _check_existing(path)
        return
    except OSError as fault:
        raise StoreUnavailable(
            f"The store {path} cannot be created: {fault.strerror}. Make its folder writable for this user, "
            "or name another place with `sqlite:PATH`."
        ) from fault
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # else a power cut could take the whole new file away
    finally:
        os.close(folder)


def _check_existing(path: Path) -> None:
    """Refuse what is no database before SQLite sees it: it would overwrite a file of a few bytes."""
    if not path.is_file():
        raise StoreUnavailable(f"The store {path} is not a file. Name another place with `sqlite:PATH`.")
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_HEADER))
    except OSError:
        return  # not readable: SQLite finds the same, and the translation of its errors says what to do
    if beginning and beginning != _HEADER:
        raise StoreUnavailable(not_a_store(str(path)))


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the file's schema version, 0 when it is empty; refuse what is not ours or is newer."""
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if objects == 0:
        return 0
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    if mark != APPLICATION_ID:
        raise StoreUnavailable(
            f"The file {path} is the database of another program. Name another place with `sqlite:PATH`."
        )
    version = _own_value(connection, path, "schema_version")
    key = _own_value(connection, path, "secret_key")
    if type(version) is not int or version < 1 or type(key) is not bytes or len(key) != _KEY_BYTES:
        raise _damaged(path)
    if version > VERSION:
        raise StoreTooNew(
            f"The store {path} has format {version}, this program knows formats up to {VERSION}. It was left "
            "as it is. Update gerbang, or name another place with `sqlite:PATH`."
        )
    return version


def _own_value(connection: sqlite3.Connection, path: Path, name: str) -> object:
    """Return one of the store's facts about itself."""
    try:
        row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    except sqlite3.OperationalError:
        row = None
    if row is None:
        raise _damaged(path)
    value: object = row[0]
    return value


def _damaged(path: Path) -> StoreUnavailable:
    return StoreUnavailable(
        f"The store {path} is damaged: what it says of itself is missing or wrong. Restore it from a copy, "
        "or name another place with `sqlite:PATH`."
    )


def _use_wal(connection: sqlite3.Connection, path: Path, timeout_s: float) -> None:
    """Switch to the write-ahead log. Two processes that create the store at once meet here."""
    limit = time.monotonic() + timeout_s
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as fault:
            # SQLite does not wait by itself for this lock.
            if not is_busy(fault) or time.monotonic() > limit:
                raise
            time.sleep(_RETRY_S)
    if mode != "wal":
        raise StoreUnavailable(
            f"The file system of {path} cannot share a write-ahead log. "
            "Name a place on a local disk with `sqlite:PATH`."
        )


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, path)  # again: another process may have been faster
        for step in MIGRATIONS[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', ?)", (VERSION,))
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('secret_key', ?)", (os.urandom(_KEY_BYTES),))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
