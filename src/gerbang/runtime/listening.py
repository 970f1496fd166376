"""What a run learns of the origin of values: from what the user wrote, and from what came back."""

from collections.abc import Iterable
from typing import Final

from gerbang.runtime.session import RunMemory, RunSession
from gerbang.runtime.ticket import Ticket
from gerbang.taint.label import trust_of
from gerbang.values import CallError, Contract, Message, Outcome
from gerbang.values.failure import OWN_WORDS

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


def speaks_of_outside(contract: Contract, error: CallError) -> bool:
    """Tell whether an error may hold a text from outside: the body of an answer, for one."""
    return error.said == OWN_WORDS and trust_of(contract.risk) == "external"
