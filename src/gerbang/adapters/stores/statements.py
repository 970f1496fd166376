"""The SQL of the SQLite store. Columns are the fields of the rows, in their order."""

from typing import Final

from gerbang.audit.chain import DETAIL_MARK, DETAIL_WIDTH
from gerbang.values.call_order import FOLLOWS
from gerbang.values.record import AnswerRow, ApprovalRow, CallRow, Message, RunRow

_RowType = type[RunRow] | type[AnswerRow] | type[CallRow] | type[ApprovalRow] | type[Message]


def _columns(row: _RowType) -> str:
    return ", ".join(row.__struct_fields__)


def _insert(table: str, row: _RowType) -> str:
    marks = ", ".join("?" * len(row.__struct_fields__))
    return f"INSERT INTO {table} ({_columns(row)}) VALUES ({marks})"  # noqa: S608 - names are our own


def _upsert(table: str, row: _RowType, key: str, fixed: frozenset[str]) -> str:
    """Return an insert that overwrites. `fixed` columns stay: setting one would rewrite its index."""
    changed = (name for name in row.__struct_fields__ if name not in fixed)
    sets = ", ".join(f"{name} = excluded.{name}" for name in changed)
    return f"{_insert(table, row)} ON CONFLICT ({key}) DO UPDATE SET {sets}"


CLAIM: Final = _insert("calls", CallRow) + " ON CONFLICT (key) DO NOTHING"
_STEPS: Final = ", ".join(sorted(f"'{former}>{state}'" for former, state in FOLLOWS))
CALL: Final = (
    _upsert("calls", CallRow, "key", frozenset({"key", "run_id"}))
    + f" WHERE calls.state || '>' || excluded.state IN ({_STEPS}) AND (excluded.attempt = calls.attempt "
    "OR (excluded.state = 'DISPATCHED' AND excluded.attempt > calls.attempt))"
)
RUN: Final = _upsert("runs", RunRow, "run_id", frozenset({"run_id", "tenant", "user", "started_at", "salt"}))
ANSWER: Final = _upsert("answers", AnswerRow, "run_id, step", frozenset({"run_id", "step"}))
APPROVAL: Final = _upsert("approvals", ApprovalRow, "approval_id", frozenset({"approval_id"}))
MESSAGE: Final = (
    _upsert("messages", Message, "message_id", frozenset({"message_id", "channel", "run_id", "created_at"}))
    + " WHERE messages.state = 'waiting' "
    "AND (excluded.state <> 'waiting' OR excluded.attempts > messages.attempts)"
)
EVENT: Final = "INSERT INTO events (run, seq, kind, body, digest) VALUES (?, ?, ?, ?, ?)"
NEW_CHAIN: Final = "INSERT INTO chains (run_id) VALUES (?)"
FREE_CALL: Final = "DELETE FROM calls WHERE key = ?"

_COUNT: Final = "(SELECT coalesce(max(seq), 0) FROM events WHERE events.run = chains.run)"
_RUN: Final = ", ".join(_COUNT if name == "events" else f"runs.{name}" for name in RunRow.__struct_fields__)
_RUNS: Final = f"SELECT {_RUN} FROM runs LEFT JOIN chains USING (run_id)"  # noqa: S608

GET_CHAIN: Final = "SELECT run FROM chains WHERE run_id = ?"
GET_HEAD: Final = "SELECT seq, digest FROM events WHERE run = ? ORDER BY seq DESC LIMIT 1"
GET_CALL: Final = f"SELECT {_columns(CallRow)} FROM calls WHERE key = ?"  # noqa: S608
GET_CALLS: Final = f"SELECT {_columns(CallRow)} FROM calls WHERE run_id = ? ORDER BY place"  # noqa: S608
GET_NEWEST_CALLS: Final = f"{GET_CALLS} DESC LIMIT ?"
GET_RUN: Final = f"{_RUNS} WHERE runs.run_id = ?"
GET_UNFINISHED: Final = (
    f"{_RUNS} LEFT JOIN leases USING (run_id) WHERE runs.state = 'running' "
    "AND (leases.expires_at IS NULL OR leases.expires_at <= ?) ORDER BY runs.started_at, runs.place LIMIT ?"
)
GET_ANSWERS: Final = f"SELECT {_columns(AnswerRow)} FROM answers WHERE run_id = ? ORDER BY step"  # noqa: S608
GET_EVENTS: Final = (
    "SELECT run_id, seq, kind, body, digest FROM chains JOIN events USING (run) "
    "WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?"
)
GET_ALL_HEADS: Final = (
    "SELECT c.run, c.run_id, e.seq, e.digest FROM chains c JOIN events e ON e.run = c.run "
    "AND e.seq = (SELECT max(seq) FROM events WHERE run = c.run) WHERE c.run > ? ORDER BY c.run LIMIT ?"
)
GET_APPROVAL: Final = f"SELECT {_columns(ApprovalRow)} FROM approvals WHERE approval_id = ?"  # noqa: S608
NAMED: Final = {
    "run": "SELECT run_id FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY run_id LIMIT ?",
    "approval": "SELECT approval_id FROM approvals WHERE approval_id >= ? AND approval_id < ? "
    "ORDER BY approval_id LIMIT ?",
}
"""Ids from a text on, up to another."""
GET_SEAL: Final = "SELECT digest FROM pins WHERE name = ?"
GET_KEY: Final = "SELECT value FROM meta WHERE name = 'secret_key'"


GET_OPEN_CALLS: Final = (
    f"SELECT {_columns(CallRow)} FROM calls WHERE run_id = ? "  # noqa: S608
    "AND state IN ('PLANNED', 'DISPATCHED', 'UNCERTAIN') ORDER BY place"
)
GET_UNCERTAIN: Final = (
    f"SELECT {_columns(CallRow)} FROM calls WHERE state = 'UNCERTAIN' "  # noqa: S608
    "ORDER BY updated_at, place LIMIT ?"
)
GET_SENT: Final = (
    f"SELECT {_columns(CallRow)} FROM calls WHERE state = 'DISPATCHED' "  # noqa: S608
    "AND NOT EXISTS (SELECT 1 FROM leases WHERE leases.run_id = calls.run_id AND leases.expires_at > ?) "
    "AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = calls.run_id AND runs.state = 'running') "
    "ORDER BY updated_at, place LIMIT ?"
)

GET_META: Final = "SELECT value FROM meta WHERE name = ?"
SET_META: Final = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
GET_KILLS: Final = 'SELECT target, "by", reason, at FROM kills ORDER BY target'
KILL: Final = "INSERT OR REPLACE INTO kills VALUES (?, ?, ?, ?)"
REVIVE: Final = "DELETE FROM kills WHERE target = ?"
GET_PINS: Final = 'SELECT name, digest, "by", at FROM pins ORDER BY name'
PIN: Final = "INSERT OR REPLACE INTO pins VALUES (?, ?, ?, ?)"
GET_LEASE: Final = "SELECT run_id, holder, fence, expires_at FROM leases WHERE run_id = ?"
LEASE: Final = "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)"
RELEASE: Final = "DELETE FROM leases WHERE run_id = ?"
GET_RATE: Final = "SELECT full_at FROM rates WHERE key = ?"
RATE: Final = "INSERT INTO rates VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET full_at = excluded.full_at"
GET_SPENT: Final = "SELECT began, amount FROM spends WHERE key = ? AND span = ?"
SPENT: Final = (
    "INSERT INTO spends VALUES (?, ?, ?, ?) "
    "ON CONFLICT (key, span) DO UPDATE SET began = excluded.began, amount = excluded.amount"
)
FULL_RATES: Final = "DELETE FROM rates WHERE full_at < ?"
PAST_SPENDS: Final = "DELETE FROM spends WHERE span > 0 AND began + span < ?"


_CUT: Final = f"instr(body, x'{DETAIL_MARK.hex()}')"
ERASE: Final = (
    "UPDATE runs SET prompt = '', answer = '', salt = x'00' WHERE run_id = ?1",
    "DELETE FROM answers WHERE run_id = ?1",
    "UPDATE calls SET arguments = x'7b7d', fingerprint = '', for_model = '', policy_input = x'', "
    "result = CASE WHEN length(result) = 0 THEN result ELSE ?2 END WHERE run_id = ?1",
    "UPDATE approvals SET arguments = x'7b7d', preview = '', note = '', terms = '{}', votes = '[]' "
    "WHERE run_id = ?1",
    "DELETE FROM messages WHERE run_id = ?1",
    f"UPDATE events SET body = CAST(substr(body, 1, {_CUT} + {DETAIL_WIDTH - 1}) || '}}' AS BLOB) "  # noqa: S608
    f"WHERE run = (SELECT run FROM chains WHERE run_id = ?1) AND {_CUT} > 0",
)
"""Takes the payloads of a run away; ?1 is the run, ?2 what stands in the place of results."""


def get_messages(*, channel: bool, given_up: bool) -> str:
    """Return the query for messages that wait, or were given up, earliest due first, of a channel or all."""
    state = "given_up" if given_up else "waiting"
    where = " AND channel = ?" if channel else ""
    return (
        f"SELECT {_columns(Message)} FROM messages WHERE state = '{state}'{where} "  # noqa: S608
        "ORDER BY due_at, message_id LIMIT ?"
    )


def get_old_runs(*, after: bool) -> str:
    """Return the query for runs that began before a time and keep their payloads, oldest first."""
    place = "(SELECT b.started_at, b.place FROM runs b WHERE b.run_id = ?)"
    page = f" AND (runs.started_at, runs.place) > {place}" if after else ""
    return (
        f"{_RUNS} WHERE runs.started_at < ?{page} AND runs.salt <> x'00' "
        "ORDER BY runs.started_at, runs.place LIMIT ?"
    )


def get_runs(*, tenant: bool, state: bool, before: bool) -> str:
    """Return the query for runs, newest first, narrowed by those named, in that order of parameters."""
    wanted = [f"runs.{name} = ?" for name, use in (("tenant", tenant), ("state", state)) if use]
    if before:
        wanted.append(
            "(runs.started_at, runs.place) < (SELECT b.started_at, b.place FROM runs b WHERE b.run_id = ?)"
        )
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    return f"{_RUNS}{where} ORDER BY runs.started_at DESC, runs.place DESC LIMIT ?"


def get_approvals(*, run: bool, state: bool, tenant: bool, before: bool) -> str:
    """Return the query for approvals, newest first, narrowed by those named, in that order of parameters."""
    # A run has few approvals: the plus keeps the planner from walking all that wait instead.
    plus = "+" if run else ""
    named = (("run_id", run), (f"{plus}state", state), (f"{plus}tenant", tenant))
    wanted = [f"{name} = ?" for name, use in named if use]
    if before:
        wanted.append(
            "(created_at, place) < (SELECT b.created_at, b.place FROM approvals b WHERE b.approval_id = ?)"
        )
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    return (
        f"SELECT {_columns(ApprovalRow)} FROM approvals{where} "  # noqa: S608 - no value is in the text
        "ORDER BY created_at DESC, place DESC LIMIT ?"
    )
