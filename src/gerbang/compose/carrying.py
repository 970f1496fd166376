"""That a run has read something from outside, carried into the runs that go on with its answer."""

from collections.abc import Iterable
from typing import Final

from gerbang.contract.catalogue import Catalogue
from gerbang.loop.budget import Budget
from gerbang.ports import Store
from gerbang.runtime.kept import read_opening
from gerbang.runtime.resuming import remember_calls
from gerbang.runtime.session import RunMemory
from gerbang.values import Message

OUTSIDE: Final = "outside"
"""The name of an assistant's message whose run had read something from outside. No model is told of it."""


def brings_outside(messages: Iterable[Message]) -> bool:
    """Tell whether a conversation that a run begins with holds anything from outside: calls, results, or an
    answer that was written after reading such. A message of the user's role that has a name is no user's.
    """
    return any(
        message.role == "tool"
        or message.tool_calls
        or (message.role == "user" and message.name)
        or (message.role == "assistant" and message.name == OUTSIDE)
        for message in messages
    )


async def answer_of(store: Store, run_id: str, catalogue: Catalogue, text: str) -> Message:
    """Return the answer of a run as a message for the next one. Raises StoreError.

    A run of which there is no record counts as one that has read from outside.
    """
    answers = await store.answers(run_id)
    opening = read_opening(answers[0].message) if answers else None
    memory = RunMemory(Budget())
    await remember_calls(store, run_id, catalogue, memory)
    outside = opening is None or brings_outside(opening.messages) or memory.tainted
    return Message("assistant", text, name=OUTSIDE if outside else None)
