"""The SQL of the SQLite store. Columns are the fields of the rows, in their order."""

from typing import Final

from gerbang.values.record import FOLLOWS, AnswerRow, ApprovalRow, CallRow, RunRow

_RowType = type[RunRow] | type[AnswerRow] | type[CallRow] | type[ApprovalRow]


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
    + f" WHERE calls.state || '>' || excluded.state IN ({_STEPS})"
)
RUN: Final = _upsert("runs", RunRow, "run_id", frozenset({"run_id", "tenant", "user", "started_at"}))
ANSWER: Final = _upsert("answers", AnswerRow, "run_id, step", frozenset({"run_id", "step"}))
APPROVAL: Final = _upsert("approvals", ApprovalRow, "approval_id", frozenset({"approval_id"}))
EVENT: Final = "INSERT INTO events (run, seq, kind, body, digest) VALUES (?, ?, ?, ?, ?)"
NEW_CHAIN: Final = "INSERT INTO chains (run_id) VALUES (?)"
FREE_CALL: Final = "DELETE FROM calls WHERE key = ?"

_RUN: Final = ", ".join(f"runs.{name}" for name in RunRow.__struct_fields__ if name != "events")
_RUNS: Final = (
    f"SELECT {_RUN}, (SELECT coalesce(max(seq), 0) FROM events WHERE events.run = chains.run) "  # noqa: S608
    "FROM runs LEFT JOIN chains USING (run_id)"
)

GET_CHAIN: Final = "SELECT run FROM chains WHERE run_id = ?"
GET_HEAD: Final = "SELECT seq, digest FROM events WHERE run = ? ORDER BY seq DESC LIMIT 1"
GET_CALL: Final = f"SELECT {_columns(CallRow)} FROM calls WHERE key = ?"  # noqa: S608
GET_CALLS: Final = f"SELECT {_columns(CallRow)} FROM calls WHERE run_id = ? ORDER BY place"  # noqa: S608
GET_RUN: Final = f"{_RUNS} WHERE runs.run_id = ?"
GET_RUNS: Final = f"{_RUNS} ORDER BY runs.started_at DESC, runs.place DESC LIMIT ?"
GET_TENANT_RUNS: Final = f"{_RUNS} WHERE tenant = ? ORDER BY runs.started_at DESC, runs.place DESC LIMIT ?"
GET_ANSWERS: Final = f"SELECT {_columns(AnswerRow)} FROM answers WHERE run_id = ? ORDER BY step"  # noqa: S608
GET_EVENTS: Final = (
    "SELECT run_id, seq, kind, body, digest FROM chains JOIN events USING (run) "
    "WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?"
)
GET_APPROVAL: Final = f"SELECT {_columns(ApprovalRow)} FROM approvals WHERE approval_id = ?"  # noqa: S608
GET_KEY: Final = "SELECT value FROM meta WHERE name = 'secret_key'"


def get_approvals(*, by_run: bool, by_state: bool) -> str:
    """Return the query for approvals, newest first, narrowed by run, by state, or both, in that order."""
    wanted = [name for name, use in (("run_id = ?", by_run), ("state = ?", by_state)) if use]
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    return (
        f"SELECT {_columns(ApprovalRow)} FROM approvals{where} "  # noqa: S608 - no value is in the text
        "ORDER BY created_at DESC, place DESC LIMIT ?"
    )
