"""Tables of the SQLite store, as a list of migrations that only grows.

A migration that was released is never changed: stores in the field have already run it. `chains` gives a
run a small number; `events` is written at its end only, so that the events of many runs in one commit
touch few pages. The end of a run's chain is its last event: it is kept nowhere else. `leases` has a row for
each run that somebody drives; `rates` and `spends` hold times and windows in microseconds.
"""

from typing import Final

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
        """CREATE TABLE runs (
            run_id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL, user TEXT NOT NULL, state TEXT NOT NULL,
            started_at REAL NOT NULL, updated_at REAL NOT NULL, prompt TEXT NOT NULL, answer TEXT NOT NULL,
            model TEXT NOT NULL, profile TEXT NOT NULL, steps INTEGER NOT NULL, events INTEGER NOT NULL,
            place INTEGER PRIMARY KEY)""",
        "CREATE INDEX runs_by_time ON runs (started_at)",
        "CREATE INDEX runs_by_tenant ON runs (tenant, started_at)",
        """CREATE TABLE answers (
            run_id TEXT NOT NULL, step INTEGER NOT NULL, message BLOB NOT NULL,
            PRIMARY KEY (run_id, step)) WITHOUT ROWID""",
        """CREATE TABLE calls (
            key TEXT NOT NULL UNIQUE, run_id TEXT NOT NULL, step_id TEXT NOT NULL, ordinal INTEGER NOT NULL,
            call_id TEXT NOT NULL, tool TEXT NOT NULL, state TEXT NOT NULL, fingerprint TEXT NOT NULL,
            arguments BLOB NOT NULL, attempt INTEGER NOT NULL, result BLOB NOT NULL, for_model TEXT NOT NULL,
            approval_id TEXT, updated_at REAL NOT NULL, place INTEGER PRIMARY KEY)""",
        "CREATE INDEX calls_by_run ON calls (run_id)",
        """CREATE TABLE approvals (
            approval_id TEXT NOT NULL UNIQUE, run_id TEXT NOT NULL, key TEXT NOT NULL, tool TEXT NOT NULL,
            tenant TEXT NOT NULL, state TEXT NOT NULL, binding TEXT NOT NULL, preview TEXT NOT NULL,
            arguments BLOB NOT NULL, reasons TEXT NOT NULL, created_at REAL NOT NULL,
            expires_at REAL NOT NULL, decided_by TEXT, decided_at REAL, note TEXT NOT NULL,
            place INTEGER PRIMARY KEY)""",
        "CREATE INDEX approvals_by_time ON approvals (created_at)",
        "CREATE INDEX approvals_by_run ON approvals (run_id, created_at)",
        "CREATE INDEX approvals_by_state ON approvals (state, created_at)",
        "CREATE TABLE chains (run INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE)",
        """CREATE TABLE events (
            run INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL,
            digest BLOB NOT NULL, place INTEGER PRIMARY KEY)""",
        "CREATE UNIQUE INDEX events_by_run ON events (run, seq)",
    ),
    (
        """CREATE TABLE kills (
            target TEXT PRIMARY KEY, "by" TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL)
            WITHOUT ROWID""",
        """CREATE TABLE pins (
            name TEXT PRIMARY KEY, digest TEXT NOT NULL, "by" TEXT NOT NULL, at REAL NOT NULL)
            WITHOUT ROWID""",
        """CREATE TABLE leases (
            run_id TEXT PRIMARY KEY, holder TEXT NOT NULL, fence INTEGER NOT NULL,
            expires_at REAL NOT NULL) WITHOUT ROWID""",
        "CREATE TABLE rates (key TEXT PRIMARY KEY, full_at INTEGER NOT NULL) WITHOUT ROWID",
        """CREATE TABLE spends (
            key TEXT NOT NULL, span INTEGER NOT NULL, began INTEGER NOT NULL, amount REAL NOT NULL,
            PRIMARY KEY (key, span)) WITHOUT ROWID""",
        "CREATE INDEX runs_by_state ON runs (state, started_at)",
        "CREATE INDEX runs_by_tenant_state ON runs (tenant, state, started_at)",
        "CREATE INDEX approvals_by_tenant ON approvals (tenant, created_at)",
        "CREATE INDEX approvals_by_tenant_state ON approvals (tenant, state, created_at)",
        "CREATE INDEX calls_uncertain ON calls (updated_at) WHERE state = 'UNCERTAIN'",
    ),
    (
        "ALTER TABLE approvals ADD COLUMN terms TEXT NOT NULL DEFAULT '{}'",
        "ALTER TABLE approvals ADD COLUMN votes TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE approvals ADD COLUMN seal TEXT NOT NULL DEFAULT ''",
    ),
    ("ALTER TABLE runs ADD COLUMN salt BLOB NOT NULL DEFAULT x''",),
    (
        """CREATE TABLE messages (
            message_id TEXT PRIMARY KEY, channel TEXT NOT NULL, run_id TEXT NOT NULL, kind TEXT NOT NULL,
            state TEXT NOT NULL, body BLOB NOT NULL, created_at REAL NOT NULL, due_at REAL NOT NULL,
            approval_id TEXT, attempts INTEGER NOT NULL, status INTEGER NOT NULL, error TEXT NOT NULL)
            WITHOUT ROWID""",
        "CREATE INDEX messages_waiting ON messages (due_at, channel) WHERE state = 'waiting'",
        "CREATE INDEX messages_by_run ON messages (run_id)",
    ),
    ("ALTER TABLE calls ADD COLUMN policy_input BLOB NOT NULL DEFAULT x''",),
    ("CREATE INDEX calls_sent ON calls (updated_at) WHERE state = 'DISPATCHED'",),
    ("CREATE INDEX messages_given_up ON messages (due_at, channel) WHERE state = 'given_up'",),
)
"""Entry n brings a store from version n to version n + 1, all of it in one transaction."""

VERSION: Final = len(MIGRATIONS)
"""The version that this program writes."""

APPLICATION_ID: Final = 0x47726267
"""Marks the file as ours in its header (`Grbg`), so that another program's database is not written to."""
