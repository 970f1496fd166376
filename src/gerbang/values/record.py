"""Rows of the store and the batch that writes them. One batch is one atomic, durable commit.

Audit events are redacted and chained; the other rows are working state, needed to show and resume a run.
"""

from enum import StrEnum

from msgspec import Struct


class RunState(StrEnum):
    """How a run stands. `RUNNING` in a reopened store with no live owner means that it was cut off.

    `OPEN` is a run that a caller drives with an own loop: it has no end that we know of.
    """

    RUNNING = "running"
    OPEN = "open"
    COMPLETED = "completed"
    MAX_STEPS = "max_steps"
    BUDGET = "budget"
    DENIED = "denied"
    PENDING_APPROVAL = "pending_approval"
    CANCELLED = "cancelled"
    MODEL_ERROR = "model_error"


class CallState(StrEnum):
    """States of the effect ledger (see `gerbang.ledger`)."""

    PLANNED = "PLANNED"
    DISPATCHED = "DISPATCHED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    UNCERTAIN = "UNCERTAIN"
    RESOLVED_SUCCEEDED = "RESOLVED_SUCCEEDED"
    RESOLVED_FAILED = "RESOLVED_FAILED"
    CANCELLED = "CANCELLED"
    REFUSED = "REFUSED"


class RunRow(Struct, frozen=True, gc=False):
    """One run. `started_at` and `updated_at` are seconds since the epoch."""

    run_id: str
    tenant: str
    user: str
    state: str
    started_at: float
    updated_at: float
    prompt: str = ""
    answer: str = ""
    model: str = ""
    profile: str = ""
    steps: int = 0
    events: int = 0


class AnswerRow(Struct, frozen=True, gc=False):
    """A model answer, committed before any of its calls is dispatched. `message` is its JSON."""

    run_id: str
    step: int
    message: bytes


class CallRow(Struct, frozen=True, gc=False):
    """One call in the ledger. `key` is unique in the store; `fingerprint` binds it to its arguments.

    `arguments` and `result` are JSON bytes; `for_model` the text that the model saw.
    """

    key: str
    run_id: str
    step_id: str
    ordinal: int
    call_id: str
    tool: str
    state: str
    fingerprint: str
    arguments: bytes = b"{}"
    attempt: int = 0
    result: bytes = b""
    for_model: str = ""
    approval_id: str | None = None
    updated_at: float = 0.0


class ApprovalRow(Struct, frozen=True, gc=False):
    """One request for a person's decision. `state` is a state of `gerbang.approval`.

    `binding` is the digest over arguments, contract, policy version and taint; `preview` what the
    person is shown; `arguments` the JSON that will run (as edited); `decided_by` who answered.
    """

    approval_id: str
    run_id: str
    key: str
    tool: str
    tenant: str
    state: str
    binding: str
    preview: str
    arguments: bytes
    reasons: str
    created_at: float
    expires_at: float
    decided_by: str | None = None
    decided_at: float | None = None
    note: str = ""


class NewEvent(Struct, frozen=True, gc=False):
    """An audit event before the store gives it its place in the run's chain. `body` is redacted JSON."""

    run_id: str
    kind: str
    body: bytes


class EventRow(Struct, frozen=True, gc=False):
    """An audit event in its place. `digest` = SHA-256 of the former event's digest and this one's body."""

    run_id: str
    seq: int
    kind: str
    body: bytes
    digest: bytes


class Batch(Struct):
    """What one commit writes, atomically: all of it or, when a claimed key is taken, nothing.

    `claims` are new calls whose key must be free (a row in FAILED, CANCELLED, REFUSED or RESOLVED_FAILED
    counts as free and is replaced). `calls` are rows that exist and are overwritten. `expects` names
    approvals and the state that each must still be in: otherwise nothing is written.
    """

    runs: list[RunRow] = []
    answers: list[AnswerRow] = []
    claims: list[CallRow] = []
    calls: list[CallRow] = []
    approvals: list[ApprovalRow] = []
    events: list[NewEvent] = []
    expects: dict[str, str] = {}


class Committed(Struct, frozen=True, gc=False):
    """What a commit did. `taken` is the row that already holds a claimed key: then nothing was written.

    `stale` is the approval that was not in the state that the batch expected: nothing was written either.

    `seq` is the sequence number of the batch's last event in its run (0 when it had none).
    """

    seq: int = 0
    taken: CallRow | None = None
    stale: ApprovalRow | None = None


FREE_STATES = frozenset({CallState.FAILED, CallState.CANCELLED, CallState.REFUSED, CallState.RESOLVED_FAILED})
"""States in which a key may be claimed again: the effect is known not to have happened."""


FOLLOWS = frozenset(
    {
        (CallState.PLANNED, CallState.DISPATCHED),
        (CallState.PLANNED, CallState.CANCELLED),
        (CallState.PLANNED, CallState.REFUSED),
        (CallState.DISPATCHED, CallState.DISPATCHED),
        (CallState.DISPATCHED, CallState.SUCCEEDED),
        (CallState.DISPATCHED, CallState.FAILED),
        (CallState.DISPATCHED, CallState.UNCERTAIN),
        (CallState.UNCERTAIN, CallState.RESOLVED_SUCCEEDED),
        (CallState.UNCERTAIN, CallState.RESOLVED_FAILED),
    }
)
"""Which state of a call's row may be written over which: the ledger's table, held by the stores as well.

A write that comes too late, from a process that knew an older row, changes nothing.
"""


def frees(holder: CallRow, claim: CallRow) -> bool:
    """Tell whether the row that holds a key gives way to a claim.

    It does when its effect is known not to have happened, and when it only holds the key for the very
    approval that the claim uses: two users of one approval then meet here, and the second is refused.
    """
    if holder.state in FREE_STATES:
        return True
    held = holder.state == CallState.PLANNED and holder.approval_id is not None
    return held and claim.state == CallState.DISPATCHED and claim.approval_id == holder.approval_id
