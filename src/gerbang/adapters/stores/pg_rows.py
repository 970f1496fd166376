"""Rows on their way into the database: all of a group, one statement a table."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import psycopg

from gerbang.adapters.stores import pg_statements as statements
from gerbang.adapters.stores.collecting import Collecting
from gerbang.adapters.stores.pg_columns import columns, texts
from gerbang.adapters.stores.pg_connection import Connection
from gerbang.adapters.stores.pg_heads import PgHeads
from gerbang.adapters.stores.prepared import KEY, Params
from gerbang.values.record import CallRow, CallState

Cursor = psycopg.Cursor[tuple[Any, ...]]

_STATE: Final = CallRow.__struct_fields__.index("state")
_RESOLVED: Final = frozenset({CallState.RESOLVED_SUCCEEDED, CallState.RESOLVED_FAILED})

_ENDED: Final = frozenset({CallState.SUCCEEDED, CallState.FAILED, CallState.UNCERTAIN})


class Rows(Collecting):
    """Collects what batches write, and writes it."""

    def __init__(self, heads: PgHeads) -> None:
        super().__init__(heads)
        self.claims: list[Params] = []
        self.calls: list[Params] = []
        self._sent: list[Cursor] = []

    def write(self, connection: Connection) -> None:
        """Send it all."""
        self._sent = send(connection, statements.CALL, statements.CALL_TYPES, self.calls, 1)
        note_states(connection, (*self.claims, *self.calls))
        send(connection, statements.RUN, statements.RUN_TYPES, self._runs, 1)
        send(connection, statements.ANSWER, statements.ANSWER_TYPES, self._answers, 2)
        send(connection, statements.APPROVAL, statements.APPROVAL_TYPES, self._approvals, 1)
        send(connection, statements.MESSAGE, statements.MESSAGE_TYPES, self._messages, 1)
        send(connection, statements.EVENT, statements.EVENT_TYPES, self._events, 2)

    def overtook(self) -> bool:
        """Tell, from the answers, whether a call's row could not be written over the one that stands."""
        return sum(cursor.rowcount for cursor in self._sent) != len(self.calls)


def send(
    connection: Connection, statement: str, types: Sequence[str], rows: Sequence[Params], width: int
) -> list[Cursor]:
    """Run one statement for all rows, and return what will be answered. The first `width` values of a row
    are its key.

    A statement may touch a row only once: rows of one key go one after the other.
    """
    return [connection.execute(statement, columns(types, wave), binary=True) for wave in _waves(rows, width)]


def _waves(rows: Sequence[Params], width: int) -> Iterable[Sequence[Params]]:
    if len(rows) < 2:
        return [rows] if rows else []
    keys = {row[:width] for row in rows}
    if len(keys) == len(rows):
        return [rows]
    waves: list[list[Params]] = []
    met: dict[Params, int] = {}
    for row in rows:
        turn = met[row[:width]] = met.get(row[:width], -1) + 1
        if turn == len(waves):
            waves.append([])
        waves[turn].append(row)
    return waves


def note_states(connection: Connection, calls: Iterable[Params]) -> None:
    """Keep the lists of calls in DISPATCHED and in UNCERTAIN."""
    states: dict[Any, Any] = {row[KEY]: row[_STATE] for row in calls}
    sent = [key for key, state in states.items() if state == CallState.DISPATCHED]
    if sent:
        connection.execute(statements.SENT, (texts(sent),), binary=True)
    ended = [key for key, state in states.items() if state in _ENDED]
    if ended:
        connection.execute(statements.ENDED, (texts(ended),), binary=True)
    uncertain = [key for key, state in states.items() if state == CallState.UNCERTAIN]
    if uncertain:
        connection.execute(statements.UNCERTAIN, (texts(uncertain),), binary=True)
    resolved = [key for key, state in states.items() if state in _RESOLVED]
    if resolved:
        connection.execute(statements.CERTAIN, (texts(resolved),), binary=True)
