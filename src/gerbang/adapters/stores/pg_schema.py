"""Tables of the PostgreSQL store, in a schema of their own, as a list of migrations that only grows.

A migration that was released is never changed. `chains` gives a run a small number; the end of a run's chain
is its last event. `writers` has a row for each open store, with the number of its last transaction, so that
the fate of a commit whose answer was lost can be read back. Calls in DISPATCHED and in UNCERTAIN
are named in tables of their own: with an index over the state of calls each change of a row would be
written to all of its indexes.
"""

from typing import Final

SCHEMA: Final = "gerbang"

_KEPT_ROOM: Final = "WITH (fillfactor = 80)"  # a row that changes finds its place on the same page

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        "CREATE TABLE gerbang.meta (name text PRIMARY KEY, value bytea NOT NULL)",
        f"""CREATE TABLE gerbang.runs (
            run_id text NOT NULL UNIQUE, tenant text NOT NULL, "user" text NOT NULL, state text NOT NULL,
            started_at float8 NOT NULL, updated_at float8 NOT NULL, prompt text NOT NULL,
            answer text NOT NULL, model text NOT NULL, profile text NOT NULL, steps bigint NOT NULL,
            events bigint NOT NULL, place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY) {_KEPT_ROOM}""",
        "CREATE INDEX runs_by_time ON gerbang.runs (started_at, place)",
        "CREATE INDEX runs_by_tenant ON gerbang.runs (tenant, started_at, place)",
        "CREATE INDEX runs_by_state ON gerbang.runs (state, started_at, place)",
        "CREATE INDEX runs_by_tenant_state ON gerbang.runs (tenant, state, started_at, place)",
        """CREATE TABLE gerbang.answers (
            run_id text NOT NULL, step bigint NOT NULL, message bytea NOT NULL,
            PRIMARY KEY (run_id, step))""",
        f"""CREATE TABLE gerbang.calls (
            key text NOT NULL UNIQUE, run_id text NOT NULL, step_id text NOT NULL, ordinal bigint NOT NULL,
            call_id text NOT NULL, tool text NOT NULL, state text NOT NULL, fingerprint text NOT NULL,
            arguments bytea NOT NULL, attempt bigint NOT NULL, result bytea NOT NULL,
            for_model text NOT NULL, approval_id text, updated_at float8 NOT NULL,
            place bigint GENERATED ALWAYS AS IDENTITY) {_KEPT_ROOM}""",
        "CREATE INDEX calls_by_run ON gerbang.calls (run_id, place)",
        "CREATE TABLE gerbang.uncertain (key text PRIMARY KEY)",
        """CREATE TABLE gerbang.approvals (
            approval_id text NOT NULL UNIQUE, run_id text NOT NULL, key text NOT NULL, tool text NOT NULL,
            tenant text NOT NULL, state text NOT NULL, binding text NOT NULL, preview text NOT NULL,
            arguments bytea NOT NULL, reasons text NOT NULL, created_at float8 NOT NULL,
            expires_at float8 NOT NULL, decided_by text, decided_at float8, note text NOT NULL,
            place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)""",
        "CREATE INDEX approvals_by_time ON gerbang.approvals (created_at, place)",
        "CREATE INDEX approvals_by_run ON gerbang.approvals (run_id, created_at, place)",
        "CREATE INDEX approvals_by_state ON gerbang.approvals (state, created_at, place)",
        "CREATE INDEX approvals_by_tenant ON gerbang.approvals (tenant, created_at, place)",
        "CREATE INDEX approvals_by_tenant_state ON gerbang.approvals (tenant, state, created_at, place)",
        """CREATE TABLE gerbang.chains (
            run bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run_id text NOT NULL UNIQUE)""",
        """CREATE TABLE gerbang.events (
            run bigint NOT NULL, seq bigint NOT NULL, kind text NOT NULL, body bytea NOT NULL,
            digest bytea NOT NULL, PRIMARY KEY (run, seq))""",
        """CREATE TABLE gerbang.kills (
            target text PRIMARY KEY, "by" text NOT NULL, reason text NOT NULL, at float8 NOT NULL)""",
        """CREATE TABLE gerbang.pins (
            name text PRIMARY KEY, digest text NOT NULL, "by" text NOT NULL, at float8 NOT NULL)""",
        """CREATE TABLE gerbang.leases (
            run_id text PRIMARY KEY, holder text NOT NULL, fence bigint NOT NULL,
            expires_at float8 NOT NULL)""",
        "CREATE SEQUENCE gerbang.fences",
        "CREATE TABLE gerbang.rates (key text PRIMARY KEY, full_at bigint NOT NULL)",
        """CREATE TABLE gerbang.spends (
            key text NOT NULL, span bigint NOT NULL, began bigint NOT NULL, amount float8 NOT NULL,
            PRIMARY KEY (key, span))""",
        """CREATE TABLE gerbang.writers (
            id uuid PRIMARY KEY, done bigint NOT NULL, at timestamptz NOT NULL DEFAULT now())""",
    ),
    (
        """ALTER TABLE gerbang.approvals ADD COLUMN terms text NOT NULL DEFAULT '{}',
            ADD COLUMN votes text NOT NULL DEFAULT '[]', ADD COLUMN seal text NOT NULL DEFAULT ''""",
    ),
    ("ALTER TABLE gerbang.runs ADD COLUMN salt bytea NOT NULL DEFAULT ''",),
    (
        """CREATE TABLE gerbang.messages (
            message_id text PRIMARY KEY, channel text NOT NULL, run_id text NOT NULL, kind text NOT NULL,
            state text NOT NULL, body bytea NOT NULL, created_at float8 NOT NULL, due_at float8 NOT NULL,
            approval_id text, attempts bigint NOT NULL, status bigint NOT NULL, error text NOT NULL)""",
        "CREATE INDEX messages_waiting ON gerbang.messages (due_at, channel) WHERE state = 'waiting'",
        "CREATE INDEX messages_by_run ON gerbang.messages (run_id)",
    ),
    ("ALTER TABLE gerbang.calls ADD COLUMN policy_input bytea NOT NULL DEFAULT ''",),
    (
        "CREATE TABLE gerbang.sent (key text PRIMARY KEY)",
        "INSERT INTO gerbang.sent SELECT key FROM gerbang.calls WHERE state = 'DISPATCHED'",
    ),
    ("CREATE INDEX messages_given_up ON gerbang.messages (due_at, channel) WHERE state = 'given_up'",),
)
"""Entry n brings a store from version n to version n + 1, all of it in one transaction."""

VERSION: Final = len(MIGRATIONS)
"""The version that this program writes."""

LOCK_FAMILY: Final = 0x47726267
"""First number of our advisory locks, so that they are not another program's."""
MIGRATE_LOCK: Final = 1
"""Held by who migrates: of two starters the second finds the work done."""
GATE_LOCK: Final = 2
"""Shared by commits that a switch or a lease may stop, and held alone by who turns a switch on or takes a
lease over: when that returns, no commit is on its way that did not see it."""
