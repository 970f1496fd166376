"""What the answers of the API are made of: types for the document, and rows of the store as JSON."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from gerbang.approval.seal import shown_mark
from gerbang.runtime.ballot import opened
from gerbang.runtime.requests import shown_arguments
from gerbang.server.run_names import given_name
from gerbang.values.record import ApprovalRow, EventRow, RunRow


class Health(Struct, frozen=True):
    """The state of the server."""

    status: Literal["ok"]


class ErrorView(Struct, frozen=True, omit_defaults=True):
    """The error taxonomy of the gate: whose fault it is, what happened to the effect, what to do next."""

    status: Literal["error"]
    error_type: str
    error_code: str
    message: str
    recoverable: bool
    effect: Literal["none", "happened", "unknown"]
    suggested_fix: str
    invalid_fields: list[dict[str, Any]]
    fix: list[dict[str, Any]] | None = None
    retry_after_ms: int | None = None
    available: list[str] | None = None


class DecisionView(Struct, frozen=True):
    """What would happen to a call. `reasons` are codes, `error` what its result would be, if it is one.

    `preview` is what an approver would be shown.
    """

    tool: str
    decision: Literal["allow", "ask", "deny"]
    reasons: list[str]
    rule: str | None
    policy_version: str
    obligations: list[str]
    error: ErrorView | None
    preview: str


class ResultView(Struct, frozen=True):
    """The one result of a call. `for_model` is the bounded, framed text that a model may see."""

    status: Literal["ok", "error", "pending"]
    tool: str
    run_id: str
    step_id: int | str
    call_id: str
    value: Any
    error: ErrorView | None
    replayed: bool
    taint: dict[str, Any] | None
    event_id: str
    for_model: str
    approval_id: str | None
    decision: dict[str, Any] | None


class ProblemView(Struct, frozen=True, omit_defaults=True):
    """A problem document (RFC 9457). `error` is the taxonomy's error, `result` the whole result of a call."""

    type: str
    title: str
    status: int
    detail: str
    error: ErrorView
    result: ResultView | None = None


class RunView(Struct, frozen=True):
    """An agent's run, or the run of callers with an own loop (`open`). Times are seconds since the epoch."""

    run_id: str
    state: str
    user: str
    tenant: str
    prompt: str
    answer: str
    model: str
    profile: str
    steps: int
    events: int
    started_at: float
    updated_at: float
    live: bool


class VoteView(Struct, frozen=True):
    """What one person said of a request: `verdict` is approve, refuse or edit.

    `code` is what stood against it.
    """

    user: str
    roles: list[str]
    verdict: str
    at: float
    note: str
    code: str


class ApprovalView(Struct, frozen=True):
    """A request for a person's decision. `preview` says what the model asked for; secrets are masked.

    `arguments` are what would run. `edited_by` has changed them, `changes` say how, a line each; `agreed`
    have agreed to them as they are, of `needed` who must; `votes` are all words, in order. `asked_for` is the
    user whose run it is, `tainted` tells that it has read something from outside, `files` are those that the
    call names, `obligations` what the policy asks of approvers. What is not known of an old record is empty.
    `mark` names the request as it is shown here: who decides sends it along. `checked` false: the change is
    checked when the call is made, for the tool was not known to whoever took it.
    """

    approval_id: str
    run_id: str
    tool: str
    state: str
    preview: str
    arguments: dict[str, Any]
    reasons: list[str]
    created_at: float
    expires_at: float
    decided_by: str | None
    decided_at: float | None
    note: str
    edited_by: str | None
    mark: str
    agreed: list[str] = []
    checked: bool = True
    asked_for: str = ""
    agent: str | None = None
    purpose: str | None = None
    risk: str = ""
    tainted: bool = False
    files: list[str] = []
    obligations: list[str] = []
    needed: int = 1
    votes: list[VoteView] = []
    changes: list[str] = []


class EventView(Struct, frozen=True):
    """One event of a run's audit chain. `digest` covers it and all before it."""

    seq: int
    kind: str
    body: dict[str, Any]
    digest: str


def run_view(row: RunRow, live: bool) -> RunView:
    """Return a run's row as it is shown."""
    return RunView(
        run_id=given_name(row.run_id, row.tenant),
        state=str(row.state),
        user=row.user,
        tenant=row.tenant,
        prompt=row.prompt,
        answer=row.answer,
        model=row.model,
        profile=row.profile,
        steps=row.steps,
        events=row.events,
        started_at=row.started_at,
        updated_at=row.updated_at,
        live=live,
    )


def approval_view(row: ApprovalRow) -> ApprovalView:
    """Return an approval's row as it is shown."""
    ballot = opened(row)
    editor = None if ballot is None else ballot.editor
    return ApprovalView(
        approval_id=row.approval_id,
        run_id=given_name(row.run_id, row.tenant),
        tool=row.tool,
        state=str(row.state),
        preview=row.preview,
        arguments=shown_arguments(row),
        reasons=[reason for reason in row.reasons.split(",") if reason],
        created_at=row.created_at,
        expires_at=row.expires_at,
        decided_by=row.decided_by,
        decided_at=row.decided_at,
        note=row.note,
        edited_by=None if editor is None else editor.user,
        mark=shown_mark(row),
        **({} if ballot is None else ballot.facts),
    )


def event_view(row: EventRow) -> EventView:
    """Return an event's row as it is shown."""
    return EventView(row.seq, row.kind, msgspec.json.decode(row.body), row.digest.hex())
