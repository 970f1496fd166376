"""A call that is about to be sent, as its row and its event: who asks for what, what was decided on what."""

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gerbang.audit.chain import PENDING, detailed
from gerbang.ledger.machine import LedgerEvent, advance
from gerbang.policy.basis import facts_text, kept
from gerbang.policy.input import PolicyInput
from gerbang.runtime.bodies import decided, is_masked, shown_input, shown_text, step_name, text_of
from gerbang.runtime.plan import draws
from gerbang.runtime.session import Actor, RunSession
from gerbang.values import Contract, Decision
from gerbang.values.event import NewEvent, Said
from gerbang.values.record import Batch, CallRow, CallState

if TYPE_CHECKING:
    from gerbang.runtime.ticket import Ticket
    from gerbang.runtime.verdict import Verdict

DISPATCHED: Final = advance(CallState.PLANNED, LedgerEvent.DISPATCH)
"""The state of a row that says so; looked up once, for it is taken for every call."""


class CallDispatched(Struct, frozen=True, gc=False, omit_defaults=True):
    """A call is about to be sent. The members behind `detail_hash` are its detail (`gerbang.audit.chain`).

    `tainted` tells that the run had read something from outside before the decision. Nothing of the attempt
    is sent after `deadline_at`.
    """

    run_id: str
    step_id: str
    agent_id: str | None
    tool_name: str
    call_id: str
    risk_class: str
    contract: str
    input_hash: str
    input_bytes: int
    coerced: tuple[str, ...] = ()
    repaired: bool = False
    policy_decision: str = ""
    reasons: tuple[str, ...] = ()
    rule: str | None = None
    policy_version: str = ""
    approval_id: str | None = None
    approver: str | None = None
    attempt: int = 0
    state: str = ""
    started_at: float = 0.0
    deadline_at: float = 0.0
    process: str = ""
    roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    user: str = ""
    team: str | None = None
    delegated_by: tuple[str, ...] = ()
    tainted: bool = False
    salt_id: str = ""
    detail_hash: str = ""
    input_redacted: str = ""
    facts: dict[str, Any] = {}
    reads: tuple[Any, ...] = ()


class _Intended(Said, frozen=True, gc=False):
    """The event of a call of `row`; its members are put together, and committed to, when it is written.

    `masked` are the arguments as they may be shown, empty when none of them is sensitive.
    """

    actor: Actor
    row: CallRow
    contract: Contract
    decision: Decision
    coerced: tuple[str, ...]
    repaired: bool
    person: bool
    approver: str | None
    tainted: bool
    masked: str

    @property
    def facts(self) -> CallDispatched:
        """The members that are there."""
        actor, row, contract, decision = self.actor, self.row, self.contract, self.decision
        return CallDispatched(
            row.run_id,
            row.step_id,
            actor.agent,
            contract.name,
            row.call_id,
            contract.risk,
            contract.digest,
            "",
            len(row.arguments),
            self.coerced,
            self.repaired,
            decided(decision, self.person),
            decision.reasons,
            decision.rule,
            decision.policy_version,
            row.approval_id,
            self.approver,
            row.attempt,
            row.state,
            row.updated_at,
            row.updated_at + contract.timeout_s,
            actor.process,
            actor.roles,
            actor.scopes,
            actor.user,
            actor.team,
            actor.delegated_by,
            self.tainted,
            "",
            PENDING,
            self.masked,
        )

    def written(self) -> bytes:
        """Return the body of the event."""
        return self.having(self.facts)

    def having(self, facts: CallDispatched) -> bytes:
        """Return the body of the event with these members."""
        arguments, marks = self.row.arguments, self.actor.marks
        shown = facts.input_redacted or shown_text(arguments)
        whole = replace(facts, input_hash=marks.of(arguments), salt_id=marks.name, input_redacted=shown)
        return detailed(text_of(whole), marks)


def intent(
    kind: str, session: RunSession, ticket: "Ticket", row: CallRow, verdict: "Verdict | None"
) -> NewEvent:
    """Return the event of that kind."""
    call, decision, found = ticket.call, ticket.decision, ticket.found
    said = _Intended(
        session.actor or session.acting(),
        row,
        call.contract,
        decision,
        call.coerced,
        call.proposal.repaired,
        verdict is not None or decision.decision == "ask",  # else it would not be sent
        None if verdict is None else verdict.by,
        session.memory.tainted,
        shown_input(call) if call.contract.sensitive and is_masked(call) else "",
    )
    if found is None:
        return NewEvent(session.run_id, kind, said)
    whole = replace(said.facts, facts=found.facts, reads=tuple(found.records))
    return NewEvent(session.run_id, kind, said.having(whole))  # at once: facts may be anything


def intent_batch(
    session: RunSession,
    ticket: "Ticket",
    row: CallRow,
    at: float,
    verdict: "Verdict | None",
    over: CallRow | None,
) -> Batch:
    """Return what is committed before the call of `row` runs. `over` is a row whose place it takes."""
    batch = session.batch()
    if over is None:
        batch.claims = (*batch.claims, row)
        batch.knows = session.memory.knows
    else:
        batch.calls = (*batch.calls, row)
    if verdict is not None:
        verdict.use(batch)
    batch.stops = ticket.plan.stops + session.stops
    batch.lease = session.lease
    if ticket.plan.limits or ticket.plan.rate is not None:
        batch.takes, batch.spends = draws(ticket.plan, session.principal, session.run_id)
    batch.events.append(intent("call.dispatched", session, ticket, row, verdict))
    return batch


def call_row(
    session: RunSession,
    ticket: "Ticket",
    state: CallState,
    attempt: int,
    at: float,
    approval_id: str | None,
) -> CallRow:
    """Return the row of a call that waits for a person (attempt 0), or is about to run."""
    call, proposal = ticket.call, ticket.call.proposal
    return CallRow(  # in the order of the fields: names of so many cost as much as all the rest
        ticket.key,
        session.run_id,
        step_name(proposal.step_id),
        proposal.ordinal,
        proposal.call_id,
        call.contract.name,
        state,
        ticket.fingerprint,
        call.canonical,
        attempt,
        b"",
        "",
        approval_id,
        at,
        b"" if ticket.seen is None else basis(session, ticket.seen),
    )


def basis(session: RunSession, seen: PolicyInput) -> bytes:
    """Return what is kept of what policy decided on; the tool's facts only once a run."""
    facts = seen.tool_facts
    told = None if facts.contract in session.memory.described else facts_text(facts)
    return kept(seen, session.roles, session.scopes, told)
