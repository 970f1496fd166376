"""The event of a call that has ended: what the chain says of its outcome."""

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gerbang.audit.commitments import Commitments
from gerbang.runtime.bodies import text_of
from gerbang.runtime.session import RunSession
from gerbang.values import Outcome, Taint
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
    """The event with the commitment to the result still to be made; None: there is no result."""

    result: bytes | None
    marks: Commitments

    def written(self) -> bytes:
        """Return the body of the event."""
        marks = self.marks
        output = "" if self.result is None else marks.of(self.result)
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
    contract, error = ticket.call.contract, outcome.error
    facts = CallFinished(
        session.run_id,
        done.step_id,
        session.principal.agent,
        contract.name,
        done.call_id,
        contract.risk,
        done.approval_id,
        done.attempt,
        done.state,
        "success" if error is None else "error",
        "" if error is None else error.error_code,
        "" if error is None else error.effect,
        started,
        done.updated_at,
        round((done.updated_at - started) * 1000, 3),
        "",
        len(done.result),
        contract.cost_units,
        "" if taint is None else taint.trust_level,
        taint is not None and taint.may_contain_instructions,
    )
    said = _Ended(facts, done.result if has_output else None, session.memory.marks)
    return NewEvent(session.run_id, "call.finished", said)
