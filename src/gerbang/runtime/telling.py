"""Putting answers and results into a conversation, as messages of the API or as the text of a dialect."""

from collections.abc import Sequence
from typing import Final

import msgspec

from gerbang import parse
from gerbang.loop.texts import Texts
from gerbang.runtime.kept import KeptResult
from gerbang.runtime.reading import Answer, Asked
from gerbang.runtime.run_settings import RunSettings
from gerbang.values import Message, Proposal, ToolCall

_ENCODER: Final = msgspec.json.Encoder()
RESULTS: Final = "results"
"""The name of a message of the user's role that holds results: no user wrote it."""


def answer_message(answer: Answer, proposals: Sequence[Proposal], texts: Texts, *, text: bool) -> Message:
    """Return the message of an answer whose calls are `proposals`. `text`: it is the text protocol's."""
    if not answer.calls:
        return Message("assistant", answer.content)
    if text and texts.calling:
        names = ", ".join(proposal.name for proposal in proposals)
        return Message("assistant", texts.calling.format(name=names))
    if text:
        return Message("assistant", answer.raw)
    calls = [
        ToolCall(proposal.call_id, proposal.name or "unreadable", asked.text or _arguments(asked))
        for proposal, asked in zip(proposals, answer.calls, strict=True)
    ]
    return Message("assistant", answer.content, tuple(calls))


def _arguments(asked: Asked) -> str:
    """Return JSON text that any server accepts in a history: what could not be read becomes `{}`."""
    return "{}" if asked.arguments is None else _ENCODER.encode(asked.arguments).decode()


def tool_message(call_id: str, tool: str, text: str) -> Message:
    """Return the message of the API that says the result of one call."""
    return Message("tool", text, (), call_id, tool or "unreadable")


def told(results: Sequence[KeptResult], settings: RunSettings, step: int, lang: str) -> list[Message]:
    """Return the messages that say the results of one answer's calls, in their order.

    `step` counts the answers of the run. In the text protocol it is one message.
    """
    if not settings.text_protocol:
        return [tool_message(result.call_id, result.tool, result.text) for result in results]
    texts = [
        parse.render_result(
            result.tool or "call",
            result.text,
            settings.dialect,
            step=step,
            max_steps=settings.max_steps,
            lang=lang,
            call_id=result.call_id,
            max_chars=max(1, len(result.text)),  # it has been bounded already
        )
        for result in results
    ]
    return [Message("user", "\n\n".join(texts), name=RESULTS)]
