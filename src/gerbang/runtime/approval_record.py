"""What the record says of a request for approval: who, when, of what, and what stood against it."""

import secrets

from msgspec import Struct

from gerbang.approval.votes import Duties
from gerbang.audit.chain import PENDING
from gerbang.audit.commitments import SALT_BYTES
from gerbang.audit.redact import redact
from gerbang.runtime.ballot import Ballot
from gerbang.runtime.bodies import event, shown_input, step_name, with_salted_detail
from gerbang.runtime.changes import changes
from gerbang.runtime.requests import arguments_of
from gerbang.runtime.session import RunSession
from gerbang.runtime.ticket import Ticket
from gerbang.values import Principal
from gerbang.values.event import NewEvent
from gerbang.values.text import clean_text

APPROVAL_RUN = "approvals"
"""The chain of events of attempts to decide requests that do not exist."""


class ApprovalChanged(Struct, frozen=True, gc=False, omit_defaults=True):
    """Something happened to a request. `approver` said it, with the authority of `approver_for`.

    `votes` of `needed` people have agreed. `changes` says what was changed in the call, masked. `why` is what
    stands against the use of a grant, `notify` who is to be told.
    """

    run_id: str
    step_id: str
    agent_id: str | None
    tool_name: str
    call_id: str
    approval_id: str
    state: str = ""
    risk_class: str = ""
    reasons: tuple[str, ...] = ()
    policy_version: str = ""
    contract: str = ""
    approver: str | None = None
    approver_tenant: str = ""
    approver_roles: tuple[str, ...] = ()
    approver_agent: str | None = None
    approver_for: tuple[str, ...] = ()
    votes: int = 0
    needed: int = 1
    checked: bool = True
    tainted: bool = False
    obligations: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    error_code: str = ""
    why: str = ""
    started_at: float = 0.0
    finished_at: float = 0.0
    detail_hash: str = ""
    salt: str = ""
    changes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def approval_event(
    kind: str, ballot: Ballot, at: float, by: Principal | None = None, *, code: str = "", why: str = ""
) -> NewEvent:
    """Return the event `approval.KIND` about a request as it is now."""
    row, terms, duties = ballot.row, ballot.terms, ballot.duties
    editor = ballot.editor
    changed: tuple[str, ...] = ()
    if editor is not None:
        before, after = arguments_of(ballot.asked_for), arguments_of(row.arguments)
        changed = tuple(changes(before, after, terms.masked))
    files = tuple(sorted(terms.files))
    salt = secrets.token_hex(SALT_BYTES) if changed or files else ""  # what names things of the call can go
    body = ApprovalChanged(
        run_id=row.run_id,
        step_id=terms.step_id,
        agent_id=terms.asker.agent,
        tool_name=redact(row.tool),
        call_id=terms.call_id,
        approval_id=row.approval_id,
        state=str(row.state),
        risk_class=terms.risk,
        reasons=tuple(reason for reason in row.reasons.split(",") if reason),
        policy_version=terms.policy_version,
        contract=terms.contract,
        approver=None if by is None else by.user,
        approver_tenant="" if by is None else by.tenant,
        approver_roles=() if by is None else tuple(sorted(by.roles)),
        approver_agent=None if by is None else by.agent,
        approver_for=() if by is None else tuple(by.delegated_by),
        votes=len(ballot.agreed),
        needed=duties.needed,
        checked=editor is None or editor.checked,
        tainted=terms.tainted,
        obligations=terms.duties,
        notify=duties.notify,
        error_code=code,
        why=why,
        started_at=row.created_at,
        finished_at=at,
        detail_hash=PENDING if salt else "",
        salt=salt,
        changes=changed,
        files=files,
    )
    if not salt:
        return event(f"approval.{kind}", row.run_id, body)
    return with_salted_detail(f"approval.{kind}", row.run_id, body, salt)


class Notified(Struct, frozen=True, gc=False, omit_defaults=True):
    """A call was allowed that somebody is to be told of."""

    run_id: str
    step_id: str
    agent_id: str | None
    tool_name: str
    call_id: str
    notify: tuple[str, ...]
    user: str
    tenant: str
    risk_class: str
    reasons: tuple[str, ...]
    rule: str | None
    policy_version: str
    finished_at: float
    detail_hash: str
    input_redacted: str


def notified(session: RunSession, ticket: Ticket, duties: Duties, at: float) -> Notified:
    """Return what those who are to be told may know of a call."""
    call, decision, who = ticket.call, ticket.decision, session.principal
    return Notified(
        session.run_id,
        step_name(call.proposal.step_id),
        who.agent,
        call.contract.name,
        call.proposal.call_id,
        duties.notify,
        who.user,
        who.tenant,
        str(call.contract.risk),
        decision.reasons,
        decision.rule,
        decision.policy_version,
        at,
        PENDING,
        shown_input(call),
    )


class Attempt(Struct, frozen=True, gc=False):
    """Somebody tried to decide a request that there is not, or that was altered."""

    run_id: str
    approval_id: str
    approver: str
    approver_tenant: str
    what: str
    error_code: str
    finished_at: float


def attempt_event(
    approval_id: str, by: Principal, what: str, code: str, at: float, run_id: str = APPROVAL_RUN
) -> NewEvent:
    """Return the event of an attempt to decide what there is not, or what is not as it was issued."""
    body = Attempt(run_id, redact(clean_text(str(approval_id)[:80])), by.user, by.tenant, what, code, at)
    return event("approval.attempted", run_id, body)
