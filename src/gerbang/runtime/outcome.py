"""The event of a call that has ended: what the chain says of its outcome."""

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gerbang.runtime.bodies import text_of
from gerbang.runtime.session import Actor, RunSession
from gerbang.values import CallError, Contract, Outcome, Taint
from gerbang.values.event import NewEvent, Said
from gerbang.values.record import CallRow

if TYPE_CHECKING:
    from gerbang.runtime.ticket import Ticket


class CallFinished(Struct, frozen=True, gc=False, omit_defaults=True):
    """A call has ended. `taint` is the trust level of its result."""

    run_id: str
    step_id: str
    agent_id: str | None
    tool_name: str
    call_id: str
    risk_class: str
    approval_id: str | None = None
    attempt: int = 0
    state: str = ""
    status: str = ""
    error_code: str = ""
    effect: str = ""
    started_at: float = 0.0
    finished_at: float = 0.0
    latency_ms: float = 0.0
    output_hash: str = ""
    output_bytes: int = 0
    cost_units: float = 0.0
    taint: str = ""
    may_contain_instructions: bool = False
    salt_id: str = ""


class _Ended(Said, frozen=True, gc=False):
    """The event of a call that ended as `row` tells; its members are put together when it is written.

    `output`: there is a result to commit to.
    """

    actor: Actor
    row: CallRow
    contract: Contract
    started: float
    error: CallError | None
    taint: Taint | None
    output: bool

    @property
    def facts(self) -> CallFinished:
        """The members that are there."""
        row, contract, error, taint = self.row, self.contract, self.error, self.taint
        return CallFinished(
            row.run_id,
            row.step_id,
            self.actor.agent,
            contract.name,
            row.call_id,
            contract.risk,
            row.approval_id,
            row.attempt,
            row.state,
            "success" if error is None else "error",
            "" if error is None else error.error_code,
            "" if error is None else error.effect,
            self.started,
            row.updated_at,
            round((row.updated_at - self.started) * 1000, 3),
            "",
            len(row.result),
            contract.cost_units,
            "" if taint is None else taint.trust_level,
            taint is not None and taint.may_contain_instructions,
        )

    def written(self) -> bytes:
        """Return the body of the event."""
        marks = self.actor.marks
        output = marks.of(self.row.result) if self.output else ""
        return text_of(replace(self.facts, output_hash=output, salt_id=marks.name))


def ended(
    session: RunSession,
    ticket: "Ticket",
    done: CallRow,
    outcome: Outcome,
    taint: Taint | None,
    started: float,
    *,
    has_output: bool,
) -> NewEvent:
    """Return the event of a call that has ended as its row `done` tells."""
    actor = session.actor or session.acting()
    said = _Ended(actor, done, ticket.call.contract, started, outcome.error, taint, has_output)
    return NewEvent(session.run_id, "call.finished", said)
