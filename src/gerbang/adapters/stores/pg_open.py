"""Opening a PostgreSQL store: checked before it is touched, migrated forward by one of all who start."""

import os
from typing import Final

import psycopg
from psycopg import errors

from gerbang.adapters.stores import pg_statements as statements
from gerbang.adapters.stores.pg_connection import Connection
from gerbang.adapters.stores.pg_schema import LOCK_FAMILY, MIGRATE_LOCK, MIGRATIONS, VERSION
from gerbang.errors import StoreTooNew, StoreUnavailable

_KEY_BYTES: Final = 32
_SET_META: Final = (
    "INSERT INTO gerbang.meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


def prepare(connection: Connection, shown: str) -> bytes:
    """Migrate the store forward and return its secret key. Raises StoreError or psycopg.Error."""
    (encoding,) = connection.execute("SHOW server_encoding").fetchone() or ("",)
    if encoding != "UTF8":
        raise StoreUnavailable(
            f"The database of {shown} has the encoding {encoding}. Create one with `createdb -E UTF8`."
        )
    if _version(connection, shown) < VERSION:
        _migrate(connection, shown)
    key = _meta(connection, "secret_key")
    if key is None or len(key) != _KEY_BYTES:
        raise _damaged(shown)
    return key


def _migrate(connection: Connection, shown: str) -> None:
    with connection.transaction():
        connection.execute(statements.LOCK_GATE, (LOCK_FAMILY, MIGRATE_LOCK))
        version = _version(connection, shown)  # again: another process may have been faster
        try:
            if version == 0:
                connection.execute("CREATE SCHEMA IF NOT EXISTS gerbang")
            for step in MIGRATIONS[version:]:
                for statement in step:
                    connection.execute(statement.encode())
        except errors.DuplicateTable as fault:
            raise StoreUnavailable(
                f"The schema `gerbang` of {shown} belongs to another program. Name another database."
            ) from fault
        if version < VERSION:
            connection.execute(_SET_META, ("schema_version", str(VERSION).encode()))
        if version == 0:
            connection.execute(_SET_META, ("secret_key", os.urandom(_KEY_BYTES)))


def _version(connection: Connection, shown: str) -> int:
    """Return the store's format, 0 when there is none yet; refuse a newer one."""
    try:
        found = _meta(connection, "schema_version")
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return 0
    except errors.UndefinedColumn as fault:
        raise StoreUnavailable(
            f"The schema `gerbang` of {shown} belongs to another program. Name another database."
        ) from fault
    if found is None or not found.isdigit():
        raise _damaged(shown)
    version = int(found)
    if version > VERSION:
        raise StoreTooNew(
            f"The format of {shown} is {version}, this program knows formats up to {VERSION}. It was left as "
            "it is. Update gerbang, or name another database."
        )
    return version


def _meta(connection: Connection, name: str) -> bytes | None:
    # A savepoint when inside a transaction: a table that is not there must not end it.
    with connection.transaction():
        row = connection.execute(statements.GET_META, (name,)).fetchone()
    return None if row is None else bytes(row[0])


def _damaged(shown: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"What {shown} says of itself is missing or wrong. Restore it from a backup, "
        "or name another database."
    )


def forget_old_writers(connection: Connection) -> None:
    """Remove the rows of programs that are long gone."""
    try:
        connection.execute(statements.OLD_WRITERS)
    except psycopg.Error:
        return  # housekeeping: a store that is read-only can be read all the same
