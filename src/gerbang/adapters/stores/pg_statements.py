"""The SQL of the PostgreSQL store. A statement that writes takes one array a column."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gerbang.adapters.stores.pg_columns import types_of
from gerbang.audit.chain import DETAIL_MARK, DETAIL_WIDTH
from gerbang.values.call_order import FOLLOWS
from gerbang.values.record import AnswerRow, ApprovalRow, CallRow, Kill, Lease, Message, Pin, RunRow

CALL_TYPES: Final = types_of(CallRow)
RUN_TYPES: Final = types_of(RunRow)
ANSWER_TYPES: Final = types_of(AnswerRow)
APPROVAL_TYPES: Final = types_of(ApprovalRow)
MESSAGE_TYPES: Final = types_of(Message)
EVENT_TYPES: Final = ("bigint", "bigint", "text", "bytea", "bytea")
KILL_TYPES: Final = types_of(Kill)
PIN_TYPES: Final = types_of(Pin)
LEASE_TYPES: Final = types_of(Lease)
RATE_TYPES: Final = ("text", "bigint")
SPENT_TYPES: Final = ("text", "bigint", "bigint", "float8")


def _names(row: type[Struct]) -> list[str]:
    return [f'"{name}"' for name in row.__struct_fields__]


def _arrays(types: Sequence[str]) -> str:
    return f"unnest({', '.join(f'%b::{kind}[]' for kind in types)})"


def _insert(table: str, names: Sequence[str], types: Sequence[str]) -> str:
    return f"INSERT INTO gerbang.{table} ({', '.join(names)}) SELECT * FROM {_arrays(types)}"  # noqa: S608


def _upsert(table: str, row: type[Struct], key: str, *fixed: str) -> str:
    """Return an insert that overwrites all but the `fixed` columns and the key."""
    stays = {f'"{name}"' for name in (*fixed, *key.split(", "))}
    sets = ", ".join(f"{name} = excluded.{name}" for name in _names(row) if name not in stays)
    return f"{_insert(table, _names(row), types_of(row))} ON CONFLICT ({key}) DO UPDATE SET {sets}"


_STEPS: Final = ", ".join(sorted(f"'{former}>{state}'" for former, state in FOLLOWS))

CLAIM: Final = _insert("calls", _names(CallRow), CALL_TYPES) + " ON CONFLICT (key) DO NOTHING"
SET_CALL: Final = _upsert("calls", CallRow, "key", "run_id")
CALL: Final = (
    f"{SET_CALL} WHERE calls.state || '>' || excluded.state IN ({_STEPS}) "
    "AND (excluded.attempt = calls.attempt "
    "OR (excluded.state = 'DISPATCHED' AND excluded.attempt > calls.attempt))"
)
FREE_CALL: Final = "DELETE FROM gerbang.calls WHERE key = ANY (%b::text[])"
UNCERTAIN: Final = (
    "INSERT INTO gerbang.uncertain SELECT * FROM unnest(%b::text[]) ON CONFLICT (key) DO NOTHING"
)
CERTAIN: Final = "DELETE FROM gerbang.uncertain WHERE key = ANY (%b::text[])"
SENT: Final = "INSERT INTO gerbang.sent SELECT * FROM unnest(%b::text[]) ON CONFLICT (key) DO NOTHING"
ENDED: Final = "DELETE FROM gerbang.sent WHERE key = ANY (%b::text[])"
RUN: Final = _upsert("runs", RunRow, "run_id", "tenant", "user", "started_at", "salt")
ANSWER: Final = _upsert("answers", AnswerRow, "run_id, step")
APPROVAL: Final = _upsert("approvals", ApprovalRow, "approval_id")
MESSAGE: Final = (
    _upsert("messages", Message, "message_id", "channel", "run_id", "created_at")
    + " WHERE messages.state = 'waiting' "
    "AND (excluded.state <> 'waiting' OR excluded.attempts > messages.attempts)"
)
EVENT: Final = _insert("events", ("run", "seq", "kind", "body", "digest"), EVENT_TYPES)
KILL: Final = _upsert("kills", Kill, "target")
REVIVE: Final = "DELETE FROM gerbang.kills WHERE target = ANY (%b::text[])"
PIN: Final = _upsert("pins", Pin, "name")
LEASE: Final = _upsert("leases", Lease, "run_id")
RELEASE: Final = "DELETE FROM gerbang.leases WHERE run_id = ANY (%b::text[])"
RATE: Final = (
    _insert("rates", ("key", "full_at"), RATE_TYPES)
    + " ON CONFLICT (key) DO UPDATE SET full_at = excluded.full_at"
)
SPENT: Final = (
    _insert("spends", ("key", "span", "began", "amount"), SPENT_TYPES)
    + " ON CONFLICT (key, span) DO UPDATE SET began = excluded.began, amount = excluded.amount"
)

BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
SHARE_GATE: Final = "SELECT pg_advisory_xact_lock_shared(%b::int, %b::int)"
LOCK_GATE: Final = "SELECT pg_advisory_xact_lock(%b::int, %b::int)"
NEW_WRITER: Final = "INSERT INTO gerbang.writers (id, done) VALUES (%b::uuid, 0)"
WROTE: Final = "UPDATE gerbang.writers SET done = %b::bigint, at = now() WHERE id = %b::uuid"
LAST_WROTE: Final = "SELECT done FROM gerbang.writers WHERE id = %b::uuid FOR UPDATE"
OLD_WRITERS: Final = "DELETE FROM gerbang.writers WHERE at < now() - interval '30 days'"
END_BACKEND: Final = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %b::int "
    "AND backend_start = %b::timestamptz"
)
MYSELF: Final = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"

NEW_CHAINS: Final = (
    "INSERT INTO gerbang.chains (run_id) SELECT * FROM unnest(%b::text[]) ON CONFLICT (run_id) DO NOTHING"
)
GET_HEADS: Final = (
    "SELECT c.run_id, c.run, e.seq, e.digest FROM gerbang.chains c LEFT JOIN LATERAL "
    "(SELECT seq, digest FROM gerbang.events WHERE events.run = c.run ORDER BY seq DESC LIMIT 1) e ON true "
    "WHERE c.run_id = ANY (%b::text[])"
)
LOCK_CHAINS: Final = "SELECT run FROM gerbang.chains WHERE run_id = ANY (%b::text[]) ORDER BY run FOR UPDATE"

_CALL: Final = ", ".join(_names(CallRow))
_APPROVAL: Final = ", ".join(_names(ApprovalRow))
_MESSAGE: Final = ", ".join(_names(Message))
_KILL: Final = ", ".join(_names(Kill))
_LEASE: Final = ", ".join(_names(Lease))

LOCK_CALLS: Final = f"SELECT {_CALL} FROM gerbang.calls WHERE key = ANY (%b::text[]) ORDER BY key FOR UPDATE"  # noqa: S608
LOCK_APPROVALS: Final = (
    f"SELECT {_APPROVAL} FROM gerbang.approvals WHERE approval_id = ANY (%b::text[]) "  # noqa: S608
    "ORDER BY approval_id FOR UPDATE"
)
NEW_LEASES: Final = (
    "INSERT INTO gerbang.leases SELECT run_id, '', 0, 0 FROM unnest(%b::text[]) run_id "
    "ORDER BY run_id ON CONFLICT (run_id) DO NOTHING"
)
LOCK_LEASES: Final = (
    f"SELECT {_LEASE} FROM gerbang.leases WHERE run_id = ANY (%b::text[]) "  # noqa: S608
    "ORDER BY run_id FOR UPDATE"
)
GET_LEASES: Final = f"SELECT {_LEASE} FROM gerbang.leases WHERE run_id = ANY (%b::text[])"  # noqa: S608
GET_FENCES: Final = "SELECT run_id, fence FROM gerbang.leases WHERE run_id = ANY (%b::text[])"
NEXT_FENCES: Final = "SELECT nextval('gerbang.fences') FROM generate_series(1, %b::int)"
NEW_RATES: Final = (
    "INSERT INTO gerbang.rates SELECT key, 0 FROM unnest(%b::text[]) key "
    "ORDER BY key ON CONFLICT (key) DO NOTHING"
)
LOCK_RATES: Final = (
    "SELECT key, full_at FROM gerbang.rates WHERE key = ANY (%b::text[]) ORDER BY key FOR UPDATE"
)
NEW_SPENDS: Final = (
    "INSERT INTO gerbang.spends SELECT key, span, -1, 0 FROM unnest(%b::text[], %b::bigint[]) s (key, span) "
    "ORDER BY key, span ON CONFLICT (key, span) DO NOTHING"
)
LOCK_SPENDS: Final = (
    "SELECT key, span, began, amount FROM gerbang.spends WHERE (key, span) IN "
    "(SELECT * FROM unnest(%b::text[], %b::bigint[])) ORDER BY key, span FOR UPDATE"
)
FULL_RATES: Final = (
    "DELETE FROM gerbang.rates WHERE key IN (SELECT key FROM gerbang.rates "
    "WHERE full_at < %b::bigint LIMIT 100000 FOR UPDATE SKIP LOCKED)"
)
PAST_SPENDS: Final = (
    "DELETE FROM gerbang.spends WHERE (key, span) IN (SELECT key, span FROM gerbang.spends "
    "WHERE span > 0 AND began + span < %b::bigint LIMIT 100000 FOR UPDATE SKIP LOCKED)"
)
NOW: Final = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
GET_TARGETS: Final = "SELECT target FROM gerbang.kills"
GET_KILLS: Final = f"SELECT {_KILL} FROM gerbang.kills"  # noqa: S608

_COUNT: Final = "(SELECT coalesce(max(seq), 0) FROM gerbang.events e WHERE e.run = c.run)"
_RUN: Final = ", ".join(_COUNT if name == '"events"' else f"r.{name}" for name in _names(RunRow))
_RUNS: Final = f"SELECT {_RUN} FROM gerbang.runs r LEFT JOIN gerbang.chains c USING (run_id)"  # noqa: S608
GET_RUN: Final = f"{_RUNS} WHERE r.run_id = %s"
GET_UNFINISHED: Final = (
    f"{_RUNS} LEFT JOIN gerbang.leases l USING (run_id) WHERE r.state = 'running' "
    "AND (l.expires_at IS NULL OR l.expires_at <= extract(epoch FROM clock_timestamp())) "
    "ORDER BY r.started_at, r.place LIMIT %s"
)
GET_CALL: Final = f"SELECT {_CALL} FROM gerbang.calls WHERE key = %s"  # noqa: S608
GET_CALLS: Final = f"SELECT {_CALL} FROM gerbang.calls WHERE run_id = %s ORDER BY place"  # noqa: S608
GET_NEWEST_CALLS: Final = f"{GET_CALLS} DESC LIMIT %s"
GET_OPEN_CALLS: Final = (
    f"SELECT {_CALL} FROM gerbang.calls WHERE run_id = %s "  # noqa: S608
    "AND state IN ('PLANNED', 'DISPATCHED', 'UNCERTAIN') ORDER BY place"
)
GET_UNCERTAIN: Final = (
    f"SELECT {_CALL} FROM gerbang.uncertain JOIN gerbang.calls USING (key) "  # noqa: S608
    "WHERE state = 'UNCERTAIN' ORDER BY updated_at, place LIMIT %s"
)
GET_SENT: Final = (
    f"SELECT {_CALL} FROM gerbang.sent JOIN gerbang.calls USING (key) WHERE state = 'DISPATCHED' "  # noqa: S608
    "AND NOT EXISTS (SELECT FROM gerbang.leases l WHERE l.run_id = calls.run_id "
    "AND l.expires_at > extract(epoch FROM clock_timestamp())) "
    "AND NOT EXISTS (SELECT FROM gerbang.runs r WHERE r.run_id = calls.run_id AND r.state = 'running') "
    "ORDER BY updated_at, place LIMIT %s"
)
GET_ANSWERS: Final = "SELECT run_id, step, message FROM gerbang.answers WHERE run_id = %s ORDER BY step"
GET_EVENTS: Final = (
    "SELECT run_id, seq, kind, body, digest FROM gerbang.chains JOIN gerbang.events USING (run) "
    "WHERE run_id = %s AND seq > %s ORDER BY seq LIMIT %s"
)
GET_ALL_HEADS: Final = (
    "SELECT c.run, c.run_id, e.seq, e.digest FROM gerbang.chains c JOIN LATERAL "
    "(SELECT seq, digest FROM gerbang.events WHERE events.run = c.run ORDER BY seq DESC LIMIT 1) e ON true "
    "WHERE c.run > %s ORDER BY c.run LIMIT %s"
)
GET_APPROVAL: Final = f"SELECT {_APPROVAL} FROM gerbang.approvals WHERE approval_id = %s"  # noqa: S608
NAMED: Final = {
    "run": "SELECT run_id FROM gerbang.runs WHERE starts_with(run_id, %s) "
    'ORDER BY run_id COLLATE "C" LIMIT %s',
    "approval": "SELECT approval_id FROM gerbang.approvals WHERE starts_with(approval_id, %s) "
    'ORDER BY approval_id COLLATE "C" LIMIT %s',
}
GET_PINS: Final = 'SELECT name, digest, "by", at FROM gerbang.pins'
GET_SPENT: Final = "SELECT began, amount FROM gerbang.spends WHERE key = %s AND span = %s"
GET_SEAL: Final = "SELECT digest FROM gerbang.pins WHERE name = %s"
GET_META: Final = "SELECT value FROM gerbang.meta WHERE name = %s"


_CUT: Final = f"position('\\x{DETAIL_MARK.hex()}'::bytea in body)"
ERASE: Final = (
    ("UPDATE gerbang.runs SET prompt = '', answer = '', salt = '\\x00' WHERE run_id = %s", False),
    ("DELETE FROM gerbang.answers WHERE run_id = %s", False),
    (
        "UPDATE gerbang.calls SET arguments = '\\x7b7d', fingerprint = '', for_model = '', "
        "policy_input = '', "
        "result = CASE WHEN length(result) = 0 THEN result ELSE %s END WHERE run_id = %s",
        True,
    ),
    (
        "UPDATE gerbang.approvals SET arguments = '\\x7b7d', preview = '', note = '', terms = '{}', "
        "votes = '[]' "
        "WHERE run_id = %s",
        False,
    ),
    ("DELETE FROM gerbang.messages WHERE run_id = %s", False),
    (
        f"UPDATE gerbang.events SET body = substring(body from 1 for {_CUT} + {DETAIL_WIDTH - 1}) "  # noqa: S608
        f"|| '\\x7d'::bytea WHERE run = (SELECT run FROM gerbang.chains WHERE run_id = %s) AND {_CUT} > 0",
        False,
    ),
)
"""Takes the payloads of a run away. True: what stands in the place of results goes before the run's id."""


def get_messages(*, channel: bool, given_up: bool) -> str:
    """Return the query for messages that wait, or were given up, earliest due first, of a channel or all."""
    state = "given_up" if given_up else "waiting"
    where = " AND channel = %s" if channel else ""
    return (
        f"SELECT {_MESSAGE} FROM gerbang.messages WHERE state = '{state}'{where} "  # noqa: S608
        "ORDER BY due_at, message_id LIMIT %s"
    )


def get_old_runs(*, after: bool) -> str:
    """Return the query for runs that began before a time and keep their payloads, oldest first."""
    place = "(SELECT started_at, place FROM gerbang.runs WHERE run_id = %s)"
    page = f" AND (r.started_at, r.place) > {place}" if after else ""
    return (
        f"{_RUNS} WHERE r.started_at < %s{page} AND r.salt <> '\\x00' ORDER BY r.started_at, r.place LIMIT %s"
    )


def get_runs(*, tenant: bool, state: bool, before: bool) -> str:
    """Return the query for runs, newest first, narrowed by those named, in that order of parameters."""
    wanted = [f"r.{name} = %s" for name, use in (("tenant", tenant), ("state", state)) if use]
    if before:
        wanted.append(
            "(r.started_at, r.place) < (SELECT started_at, place FROM gerbang.runs WHERE run_id = %s)"
        )
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    return f"{_RUNS}{where} ORDER BY r.started_at DESC, r.place DESC LIMIT %s"


def get_approvals(*, run: bool, state: bool, tenant: bool, before: bool) -> str:
    """Return the query for approvals, newest first, narrowed by those named, in that order of parameters."""
    named = (("run_id", run), ("state", state), ("tenant", tenant))
    wanted = [f"{name} = %s" for name, use in named if use]
    if before:
        wanted.append(
            "(created_at, place) < (SELECT created_at, place FROM gerbang.approvals WHERE approval_id = %s)"
        )
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    return (
        f"SELECT {_APPROVAL} FROM gerbang.approvals{where} "  # noqa: S608 - no value is in the text
        "ORDER BY created_at DESC, place DESC LIMIT %s"
    )
