"""What a run keeps of its conversation, so that it can be gone on with: the opening, and every answer.

An answer is kept with the results that came before it; the results of its own calls are in their rows.
"""

from typing import Any, Final

import msgspec
from msgspec import Struct

from gerbang.contract.client_tools import ClientTool
from gerbang.values import CallError
from gerbang.values.event import Said
from gerbang.values.message import Message, ToolCall

OPENING: Final = 0
"""The step under which the opening is kept."""
_ENCODER: Final = msgspec.json.Encoder()


class KeptCall(Struct, frozen=True, gc=False, omit_defaults=True):
    """A call as it was read out of an answer, where its message does not say it all."""

    id: str
    name: str
    arguments: dict[str, Any] | None = None
    fault: CallError | None = None
    repaired: bool = False


class Opening(Said, frozen=True, gc=False, omit_defaults=True):
    """What a run began with."""

    messages: list[Message]
    purpose: str | None = None
    intent: str | None = None
    client_tools: tuple[ClientTool, ...] = ()

    def written(self) -> bytes:
        """Return the JSON that is kept."""
        return encoded(self)


class KeptResult(Struct, frozen=True, gc=False, omit_defaults=True):
    """What the model is told of one call of the last answer. What was handed over, the client answers."""

    call_id: str
    tool: str
    text: str = ""
    handed: bool = False


class KeptEnd(Struct, frozen=True, gc=False):
    """The results of the last answer's calls, in their order, where some of them are the client's to run."""

    results: tuple[KeptResult, ...]


class KeptAnswer(Said, frozen=True, gc=False, omit_defaults=True):
    """One answer: the fields of its message, what was said since the former one, and its calls.

    `calls` is None when the calls are those of the message.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    before: tuple[Message, ...] = ()
    calls: tuple[KeptCall, ...] | None = None
    final: str | None = None

    @property
    def message(self) -> Message:
        """The assistant's message."""
        return Message("assistant", self.content, self.tool_calls)

    def written(self) -> bytes:
        """Return the JSON that is kept."""
        return encoded(self)


def encoded(what: Opening | KeptAnswer | KeptEnd) -> bytes:
    """Return the JSON that is kept."""
    return _ENCODER.encode(what)


def read_opening(data: bytes) -> Opening | None:
    """Return an opening; None for what is none."""
    try:
        return msgspec.json.decode(data, type=Opening)
    except msgspec.MsgspecError:
        return None


def read_answer(data: bytes) -> KeptAnswer | None:
    """Return a kept answer; None for what is none."""
    try:
        return msgspec.json.decode(data, type=KeptAnswer)
    except msgspec.MsgspecError:
        return None


def read_end(data: bytes) -> KeptEnd | None:
    """Return how a run ended; None for what is something else."""
    try:
        return msgspec.json.decode(data, type=KeptEnd)
    except msgspec.MsgspecError:
        return None
