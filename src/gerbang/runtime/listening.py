"""What a run learns of the origin of values: from what the user wrote, and from what came back."""

from collections.abc import Iterable
from typing import Final, cast

from gerbang.policy.input import ArgumentTaint, Provenance
from gerbang.runtime.session import RunMemory, RunSession
from gerbang.runtime.ticket import Ticket
from gerbang.taint.label import trust_of
from gerbang.taint.provenance import of_arguments
from gerbang.values import CallError, Contract, Message, Outcome
from gerbang.values.failure import OWN_WORDS
from gerbang.values.record import CallRow

_CLIENT: Final = "client"


def listen(memory: RunMemory, messages: Iterable[Message]) -> None:
    """Learn from a conversation that was given: the user's words, and results that are in it.

    A message of the user's role that has a name is somebody else's, such as results in a text protocol.
    """
    for message in messages:
        if message.role == "user" and message.name is None:
            memory.known.say(message.content)
        elif message.role in ("user", "tool"):
            memory.known.hear(message.name or _CLIENT, "external", message.content)


def learn(session: RunSession, ticket: Ticket, outcome: Outcome) -> None:
    """Learn from the outcome of a call. What a tool says of its failure is a text like any other."""
    call, error = ticket.call, outcome.error
    told = outcome.value if error is None else error.message if error.said == OWN_WORDS else None
    session.memory.known.hear(
        call.contract.name, trust_of(call.contract.risk), told, call.arguments, ticket.plan.fields
    )


def sources(memory: RunMemory, ticket: Ticket) -> dict[str, ArgumentTaint]:
    """Return where the values of a call's arguments came from, for policy."""
    control = ticket.call.contract.control
    found = of_arguments(memory.known, ticket.call.arguments, ticket.plan.fields)
    return {
        name: ArgumentTaint(cast(Provenance, source.provenance), source.tools, source.trust, name in control)
        for name, source in found.items()
    }


def read_again(session: RunSession, ticket: Ticket, row: CallRow) -> None:
    """Remember a call that another run made and whose result this run was given: it knows what it says."""
    if row.run_id != session.run_id:
        facts, history = ticket.plan.info, session.memory.history
        history.note_finished(history.note_started(facts, row.step_id), facts, "ok")


def speaks_of_outside(contract: Contract, error: CallError) -> bool:
    """Tell whether an error may hold a text from outside: the body of an answer, for one."""
    return error.said == OWN_WORDS and trust_of(contract.risk) == "external"
