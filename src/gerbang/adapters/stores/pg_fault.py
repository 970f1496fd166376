"""Translation of PostgreSQL's errors into ours: what happened, and what a person does about it."""

from typing import Final

import psycopg
from psycopg import errors

from gerbang.errors import StoreBusy, StoreError, StoreUnavailable

_ELSEWHERE: Final = "or name another store"
_RIGHTS: Final = f"Give its user the rights to create and use the schema `gerbang`, {_ELSEWHERE}."

_BY_STATE: Final = (
    ("28P01", "{store} refused the password. Set the right one in the address, or in PGPASSWORD."),
    ("28", "{store} does not let this user in. Check the user of the address and the server's pg_hba.conf."),
    ("3D000", f"The database of {{store}} does not exist. Create it with `createdb`, {_ELSEWHERE}."),
    ("42501", f"No permission in {{store}}. {_RIGHTS}"),
    ("25006", f"{{store}} is read-only. Name the server that takes writes, {_ELSEWHERE}."),
    ("53100", "The disk of {store} is full. Nothing of this record was written; free some space."),
    ("53", "{store} has no room for more connections or memory. Nothing was written; try again later."),
    ("57P03", "{store} is starting or stopping. Nothing was written; try again in a moment."),
    ("XX001", "{store} reports damaged data. Keep a copy, and restore the database from a backup."),
    ("XX002", "{store} reports a damaged index. Keep a copy, and have it rebuilt with REINDEX."),
)

_BY_TEXT: Final = (
    ("password authentication failed", "28P01"),
    ("no password supplied", "28P01"),
    ("no pg_hba.conf entry", "28000"),
    ("does not exist", ""),
    ("starting up", "57P03"),
    ("shutting down", "57P03"),
    ("not yet accepting", "57P03"),
    ("too many clients", "53300"),
    ("remaining connection slots", "53300"),
)
"""Errors of connecting carry no code, only the server's text."""


def is_lost(fault: BaseException) -> bool:
    """Tell whether the connection is gone, so that nothing more can be asked on it."""
    ended = (
        errors.AdminShutdown,
        errors.CrashShutdown,
        errors.CannotConnectNow,
        errors.IdleInTransactionSessionTimeout,
        errors.TransactionTimeout,
    )
    if isinstance(fault, ended):
        return True
    return isinstance(fault, psycopg.OperationalError) and fault.sqlstate is None


def is_conflict(fault: BaseException) -> bool:
    """Tell whether another transaction was in the way, so that the same work may be done again."""
    kinds = (errors.UniqueViolation, errors.DeadlockDetected, errors.SerializationFailure)
    return isinstance(fault, kinds)


def is_everyones(fault: BaseException) -> bool:
    """Tell whether the fault would meet every batch, whatever is in it."""
    if isinstance(fault, StoreError):
        return True
    if not isinstance(fault, psycopg.Error):
        return False
    state = fault.sqlstate or ""
    return is_lost(fault) or state[:2] in ("25", "28", "42", "53", "55", "57", "58", "XX")


def translate(fault: BaseException, store: str, password: str = "") -> StoreError:
    """Return the StoreError for what the driver raised. `store` is the address as it may be shown."""
    if isinstance(fault, StoreError):
        return fault
    if isinstance(fault, errors.LockNotAvailable):
        return StoreBusy(
            f"Another program held a lock in {store} for too long. Nothing was written; try again, and look "
            "for a session that hangs in pg_stat_activity if this goes on."
        )
    if isinstance(fault, psycopg.Error):
        state = fault.sqlstate or _state_of(str(fault))
        for beginning, remedy in _BY_STATE:
            if state.startswith(beginning):
                return StoreUnavailable(_sentence(remedy.format(store=store)))
        if is_lost(fault):
            return StoreUnavailable(_unreachable(fault, store, password))
    return StoreError(
        f"{_sentence(store)} refused a record ({type(fault).__name__}). Nothing of it was written; "
        "a value in it has a type or size that cannot be stored."
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _state_of(text: str) -> str:
    for part, state in _BY_TEXT:
        if part in text:
            return state or ("3D000" if "database" in text else "28000")
    return ""


def _unreachable(fault: psycopg.Error, store: str, password: str) -> str:
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    why = lines[0][:200] if lines else type(fault).__name__
    if password:
        why = why.replace(password, "…")
    return (
        f"{_sentence(store)} cannot be reached ({why}). Start the server, check host and port of the "
        f"address, {_ELSEWHERE}."
    )
