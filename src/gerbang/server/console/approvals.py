"""The inbox of approvals: what waits for a person, deciding it, and changing the call before it runs."""

from typing import Any, Final

import msgspec

from gerbang.approval.machine import ApprovalState
from gerbang.approval.seal import shown_mark
from gerbang.compose.people import Changed, fitting
from gerbang.errors import UsageError
from gerbang.runtime.ballot import opened
from gerbang.server import approvals as decisions
from gerbang.server.console import pages
from gerbang.server.console.cards import (
    card,
    contract_of,
    hidden_of,
    masked,
    read_arguments,
    restored,
)
from gerbang.server.console.differences import difference
from gerbang.server.console.visit import Page, Visit
from gerbang.server.operation import short
from gerbang.server.problems import not_found, problem
from gerbang.server.replies import Reply
from gerbang.values import RiskClass
from gerbang.values.record import ApprovalRow

_PAGE: Final = 10
_MAX_REASON: Final = 2_000
STATES: Final = tuple(str(state) for state in ApprovalState)
DONE: Final = ("granted", "refused", "vote", "resumed")


async def inbox(visit: Visit) -> Reply:
    """Show what waits, oldest of the page last; or what was decided."""
    asked = visit.query(state=_state, before=short, done=_done)
    state = asked.get("state", str(ApprovalState.PENDING))
    before = asked.get("before")
    if before is not None:
        await own(visit, before)
    rows = await visit.store.approvals(state=state, tenant=visit.tenant, before=before, limit=_PAGE)
    return visit.page(
        "approvals.html",
        cards=[await card(visit, row) for row in rows],
        state=state,
        states=STATES,
        newest=rows[0].approval_id if rows and before is None else None if before else "",
        following=rows[-1].approval_id if len(rows) == _PAGE else None,
        done=asked.get("done"),
    )


async def news(visit: Visit) -> Reply:
    """Say whether something waits that the open page does not show; `newest` is what it shows first."""
    newest = visit.query(newest=_text).get("newest", "")
    rows = await visit.store.approvals(state=ApprovalState.PENDING, tenant=visit.tenant, limit=1)
    fresh = bool(rows) and rows[0].approval_id != newest
    return visit.page("news.html", newest=newest, fresh=fresh)


async def shown(visit: Visit) -> Reply:
    """Show one request."""
    row = await own(visit, visit.query(id=short).get("id", ""))
    return visit.page("approval.html", card=await card(visit, row), may_audit=visit.caller.may("audit"))


async def approve(visit: Visit) -> Reply:
    """Grant a request as it was shown."""
    row = await _as_shown(visit)
    return await _decided(visit, row, grant=True)


async def deny(visit: Visit) -> Reply:
    """Refuse a request."""
    row = await _as_shown(visit)
    reason = visit.form.get("reason", "").strip()
    if len(reason) > _MAX_REASON:
        raise problem(422, "validation_error", "TOO_LONG", visit.said("reason_long", limit=_MAX_REASON))
    return await _decided(visit, row, grant=False, reason=reason)


async def edit(visit: Visit) -> Reply:
    """Show the editor of a request's arguments."""
    row = await own(visit, visit.query(id=short).get("id", ""))
    hidden = hidden_of(contract_of(visit, row.tool), row)
    written = pages.editable(masked(hidden, read_arguments(row.arguments)))
    return visit.page("edit.html", card=await card(visit, row), written=written, fault=None)


async def review(visit: Visit) -> Reply:
    """Show what an edit would change, before it is decided on."""
    row = await _as_shown(visit)
    shown_card = await card(visit, row)
    written = visit.form.get("arguments", "")
    try:
        new = _read(visit, written)
        _fits(visit, row, new)
    except (ValueError, UsageError) as error:
        return visit.page("edit.html", status=422, card=shown_card, written=written, fault=str(error))
    old = masked(hidden_of(shown_card.contract, row), read_arguments(row.arguments))
    return visit.page(
        "review.html",
        card=shown_card,
        written=pages.editable(new),
        lines=difference(old, new),
        same=old == new,
    )


async def approve_edited(visit: Visit) -> Reply:
    """Grant a request with other arguments, which pass the whole gate again."""
    row = await _as_shown(visit)
    written = visit.form.get("arguments", "")
    try:
        arguments = _restored(visit, row, _read(visit, written))
        return await _decided(visit, row, grant=True, arguments=arguments)
    except (ValueError, UsageError) as error:
        return visit.page(
            "edit.html", status=422, card=await card(visit, row), written=written, fault=str(error)
        )


def _restored(visit: Visit, row: ApprovalRow, new: dict[str, Any]) -> dict[str, Any]:
    """Return new arguments with what was masked in them put back."""
    hidden = hidden_of(contract_of(visit, row.tool), row)
    return restored(hidden, read_arguments(row.arguments), new)


def _fits(visit: Visit, row: ApprovalRow, new: dict[str, Any]) -> None:
    """Raise Unfit, with all that is wrong, when the tool does not take new arguments."""
    ballot = opened(row)
    if ballot is not None:
        fitting(ballot, visit.gateway.catalogue, _restored(visit, row, new))


async def _decided(
    visit: Visit, row: ApprovalRow, *, grant: bool, reason: str = "", arguments: dict[str, Any] | None = None
) -> Reply:
    seen = visit.form["seen"]  # it was looked at, but somebody may speak on the request right now
    if grant:
        _confirmed(visit, row)
        try:
            row = await visit.gateway.approve(row.approval_id, by=visit.who, arguments=arguments, seen=seen)
        except Changed:
            raise problem(409, "conflict", "CHANGED", visit.said("changed_meanwhile")) from None
        except UsageError as error:
            if arguments is not None:
                raise
            raise problem(409, "conflict", "CANNOT_DECIDE", str(error)) from None
    else:
        try:
            row = await visit.gateway.refuse(row.approval_id, by=visit.who, reason=reason, seen=seen)
        except Changed:
            raise problem(409, "conflict", "CHANGED", visit.said("changed_meanwhile")) from None
        except UsageError as error:
            raise problem(409, "conflict", "CANNOT_DECIDE", str(error)) from None
    if row.state == ApprovalState.PENDING:
        return pages.moved("/console/approvals?done=vote")
    resumed = await decisions.go_on(visit.service, row)
    said = "resumed" if resumed else "granted" if grant else "refused"
    return pages.moved(f"/console/approvals?done={said}")


def _confirmed(visit: Visit, row: ApprovalRow) -> None:
    """Raise Problem when the name of a destructive tool was not typed."""
    contract = contract_of(visit, row.tool)
    if contract is None or contract.risk != RiskClass.DESTRUCTIVE:
        return
    if visit.form.get("typed", "").strip() != row.tool:
        raise problem(422, "validation_error", "NOT_CONFIRMED", visit.said("type_it", tool=row.tool))


async def _as_shown(visit: Visit) -> ApprovalRow:
    """Return the request of a form, as long as it is what the person was shown. Raises Problem."""
    row = await own(visit, visit.form.get("id", ""))
    if row.state != ApprovalState.PENDING:
        raise problem(409, "conflict", "DECIDED", visit.said("decided_before", state=row.state))
    if visit.form.get("seen") != shown_mark(row):
        raise problem(409, "conflict", "CHANGED", visit.said("changed_meanwhile"))
    return row


async def own(visit: Visit, approval_id: str) -> ApprovalRow:
    """Return a request of the tenant. Another tenant's does not exist for it: Problem 404."""
    if 0 < len(approval_id) <= 512 and "\x00" not in approval_id:
        row = await visit.store.approval(approval_id)
        if row is not None and row.tenant == visit.tenant:
            return row
    raise not_found("approval of that id")


def _read(visit: Visit, written: str) -> dict[str, Any]:
    """Return the arguments that somebody wrote. Raises ValueError with what is wrong."""
    try:
        found = msgspec.json.decode(written)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise ValueError(visit.said("not_json", why=str(error))) from None
    if not isinstance(found, dict):
        raise ValueError(visit.said("not_object"))  # noqa: TRY004 - what is wrong is what somebody wrote
    return found


def _state(value: str) -> str:
    if value not in STATES:
        raise ValueError(f"it is one of {', '.join(STATES)}")
    return value


def _text(value: str) -> str:
    if len(value) > 512:
        raise ValueError("it has at most 512 characters")
    return value


def _done(value: str) -> str:
    if value not in DONE:
        raise ValueError("it is not known")
    return value


PAGES: Final = (
    Page("GET", "/console/approvals", "approvals", inbox),
    Page("GET", "/console/approvals/news", "approvals", news),
    Page("GET", "/console/approval", "approvals", shown),
    Page("POST", "/console/approval/approve", "approvals", approve),
    Page("POST", "/console/approval/deny", "approvals", deny),
    Page("GET", "/console/approval/edit", "approvals", edit),
    Page("POST", "/console/approval/review", "approvals", review),
    Page("POST", "/console/approval/edit", "approvals", approve_edited),
)
