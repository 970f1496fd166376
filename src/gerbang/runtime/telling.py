"""Putting results into a conversation, as messages of the API or as the text of a dialect."""

from collections.abc import Sequence
from typing import Final

from gerbang import parse
from gerbang.runtime.kept import KeptResult
from gerbang.runtime.run_settings import RunSettings
from gerbang.values import Message

RESULTS: Final = "results"
"""The name of a message of the user's role that holds results: no user wrote it."""


def told(results: Sequence[KeptResult], settings: RunSettings, step: int, lang: str) -> list[Message]:
    """Return the messages that say the results of one answer's calls, in their order.

    `step` counts the answers of the run. In the text protocol it is one message.
    """
    if not settings.text_protocol:
        return [
            Message("tool", result.text, (), result.call_id, result.tool or "unreadable")
            for result in results
        ]
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
