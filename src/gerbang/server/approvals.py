"""`/v1/approvals`: what waits for a person, and deciding it."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from gerbang.approval.machine import ApprovalState
from gerbang.compose.people import Changed, Unfit
from gerbang.errors import UsageError
from gerbang.server.operation import (
    SHORT,
    Answer,
    Exchange,
    Operation,
    Parameter,
    RouteGroup,
    number,
    short,
    whole,
)
from gerbang.server.owners import owner_of
from gerbang.server.problems import Problem, not_found, problem
from gerbang.server.replies import Reply, json_reply
from gerbang.server.run_history import own_run
from gerbang.server.schemas import ApprovalView, approval_view
from gerbang.server.service import Service
from gerbang.values.record import ApprovalRow, RunState

Mark = Annotated[str, Meta(max_length=200)]
Reason = Annotated[str, Meta(max_length=2_000)]


class DecisionNote(Struct, frozen=True, forbid_unknown_fields=True):
    """Why; shown to the model when the call is refused. `mark` is that of the request that was shown."""

    reason: Reason = ""
    mark: Mark | None = None


class EditBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments that shall run instead. They pass every check again. `mark` as for a plain decision."""

    arguments: dict[str, Any]
    mark: Mark | None = None


class ApprovalList(Struct, frozen=True):
    """Requests, newest first. `next` is the `before` of the next page; null on the last."""

    approvals: list[ApprovalView]
    next: str | None


class Decided(Struct, frozen=True):
    """The request after the decision. `resumed` tells whether the run that waited goes on by itself."""

    approval: ApprovalView
    resumed: bool


_NOTE: Final = msgspec.json.Decoder(DecisionNote)
_EDIT: Final = msgspec.json.Decoder(EditBody)


async def listed(exchange: Exchange) -> Reply:
    """List the tenant's requests."""
    asked = exchange.query(limit=whole(1, 500), before=short, state=_state, run_id=short)
    limit = asked.get("limit", 50)
    before = asked.get("before")
    if before is not None:
        await _own(exchange, before)
    run_id = asked.get("run_id")
    if run_id is not None:
        run = await own_run(exchange.service.store, run_id, exchange.caller.principal.tenant)
        run_id = run_id if run is None else run.run_id
    try:
        rows = await exchange.service.store.approvals(
            run_id=run_id,
            state=asked.get("state"),
            tenant=exchange.caller.principal.tenant,
            before=before,
            limit=limit,
        )
    except UsageError:
        raise not_found("approval 'before'") from None
    views = [approval_view(row) for row in rows]
    return json_reply(ApprovalList(views, rows[-1].approval_id if len(rows) == limit else None))


async def shown(exchange: Exchange) -> Reply:
    """Show one request."""
    return json_reply(approval_view(await _own(exchange, exchange.path[0])))


async def approve(exchange: Exchange) -> Reply:
    """Grant a request as it is."""
    return await _decide(exchange, grant=True, mark=_read_note(exchange).mark)


async def deny(exchange: Exchange) -> Reply:
    """Refuse a request."""
    note = _read_note(exchange)
    return await _decide(exchange, grant=False, reason=note.reason, mark=note.mark)


async def edit(exchange: Exchange) -> Reply:
    """Grant a request with other arguments."""
    body: EditBody = exchange.read(_EDIT)
    return await _decide(exchange, grant=True, arguments=body.arguments, mark=body.mark)


async def _decide(
    exchange: Exchange,
    *,
    grant: bool,
    reason: str = "",
    arguments: dict[str, Any] | None = None,
    mark: str | None = None,
) -> Reply:
    who = exchange.caller.principal
    row = await _own(exchange, exchange.path[0])
    if row.state != ApprovalState.PENDING:
        raise _decided_before(row)
    gateway = exchange.service.toolsets.of(who.tenant).gateway
    try:
        if grant:
            row = await gateway.approve(row.approval_id, by=who, arguments=arguments, seen=mark)
        else:
            row = await gateway.refuse(row.approval_id, by=who, reason=reason, seen=mark)
    except Changed as error:
        raise problem(409, "conflict", "CHANGED", str(error)) from None
    except Unfit as error:
        raise Problem(422, error.error) from None
    except UsageError as error:
        fresh = await _own(exchange, exchange.path[0])
        if fresh.state != ApprovalState.PENDING:
            raise _decided_before(fresh) from None
        raise problem(422, "validation_error", "CANNOT_DECIDE", str(error), recoverable=True) from None
    return json_reply(Decided(approval_view(row), await go_on(exchange.service, row)))


async def go_on(service: Service, row: ApprovalRow) -> bool:
    """Resume the run that waited, where this version can; its own user's rights hold, not the approver's."""
    run = await service.store.run(row.run_id)
    toolset = service.toolsets.of(row.tenant)
    if run is None or run.state != RunState.PENDING_APPROVAL or not service.runs.can_resume(toolset):
        return False
    waiting = await service.store.approvals(run_id=row.run_id, state=ApprovalState.PENDING, limit=1)
    if waiting:
        return False
    try:
        service.runs.resume(toolset, run.run_id, await owner_of(service, run), run.prompt)
    except Problem:  # it runs already, or the server stops: whoever asks for it later resumes it
        return False
    return True


def _read_note(exchange: Exchange) -> DecisionNote:
    if not exchange.body:
        return DecisionNote()
    note: DecisionNote = exchange.read(_NOTE)
    return note


async def _own(exchange: Exchange, approval_id: str) -> ApprovalRow:
    if len(approval_id) <= 512 and "\x00" not in approval_id:
        row = await exchange.service.store.approval(approval_id)
        if row is not None and row.tenant == exchange.caller.principal.tenant:
            return row
    raise not_found("approval of that id")


def _decided_before(row: ApprovalRow) -> Problem:
    return problem(409, "conflict", "DECIDED", f"The request is {row.state} already; nothing was changed.")


def _state(text: str) -> str:
    if text not in set(ApprovalState):
        raise ValueError(f"it is one of {', '.join(ApprovalState)}")
    return text


_EXAMPLE: Final[dict[str, Any]] = {
    "approval_id": "apr_81dc8d4a292489645fec",
    "run_id": "r1",
    "tool": "mail.send.v1",
    "state": "pending",
    "preview": "Send a mail to ana@example.org",
    "arguments": {"to": "ana@example.org", "text": "Hello"},
    "reasons": ["CLASS_EXTERNAL_COMMUNICATION"],
    "created_at": 1796033011.5,
    "expires_at": 1796119411.5,
    "decided_by": None,
    "decided_at": None,
    "note": "",
    "edited_by": None,
    "agreed": [],
    "mark": "sha256:6a0f61eb38edbbd48c5a5d9a8d0cd2ce3b0a3a0b8f3c1e5b1ed1ad0b1c6e0c02",
    "checked": True,
    "asked_for": "ana",
    "agent": None,
    "purpose": None,
    "risk": "external_communication",
    "tainted": False,
    "files": [],
    "obligations": [],
    "needed": 1,
    "votes": [],
    "changes": [],
}
_COMMON: Final = (400, 401, 403, 404, 429, 500, 503)
_DECIDING: Final = (*_COMMON, 409, 413, 415, 422)
_DONE: Final = (Answer(200, "The decision is recorded", Decided, {"approval": _EXAMPLE, "resumed": False}),)


def _text(name: str, about: str) -> Parameter:
    return Parameter(name, "query", about, SHORT)


GROUP: Final = RouteGroup(
    "approvals",
    "Requests for a person's decision.",
    (
        Operation(
            "GET",
            "/v1/approvals",
            listed,
            "approvals",
            "List requests, newest first",
            right="approvals",
            parameters=(
                Parameter("limit", "query", "How many.", number(1, 500)),
                _text("before", "The `next` of the page before."),
                _text("run_id", "Only those of this run."),
                Parameter(
                    "state",
                    "query",
                    "Only those in this state.",
                    {"type": "string", "enum": [str(state) for state in ApprovalState]},
                ),
            ),
            answers=(Answer(200, "The requests", ApprovalList, {"approvals": [_EXAMPLE], "next": None}),),
            problems=_COMMON,
        ),
        Operation(
            "GET",
            "/v1/approvals/{approval_id}",
            shown,
            "approvals",
            "Show one request",
            right="approvals",
            answers=(Answer(200, "The request", ApprovalView, _EXAMPLE),),
            problems=_COMMON,
        ),
        Operation(
            "POST",
            "/v1/approvals/{approval_id}/approve",
            approve,
            "approvals",
            "Grant a request",
            right="approvals",
            body=DecisionNote,
            body_about="May be left out.",
            examples={"plain": {"value": {}}, "as shown": {"value": {"mark": _EXAMPLE["mark"]}}},
            answers=_DONE,
            problems=_DECIDING,
        ),
        Operation(
            "POST",
            "/v1/approvals/{approval_id}/deny",
            deny,
            "approvals",
            "Refuse a request",
            right="approvals",
            body=DecisionNote,
            body_about="May be left out.",
            examples={"why": {"value": {"reason": "Not this customer."}}},
            answers=_DONE,
            problems=_DECIDING,
        ),
        Operation(
            "POST",
            "/v1/approvals/{approval_id}/edit",
            edit,
            "approvals",
            "Grant a request with other arguments",
            right="approvals",
            body=EditBody,
            examples={"shorter": {"value": {"arguments": {"to": "ana@example.org", "text": "Hi"}}}},
            answers=_DONE,
            problems=_DECIDING,
        ),
    ),
)
