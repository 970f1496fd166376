"""Asking the model once, or twice where a server loses what it should have streamed."""

import contextlib
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from gerbang import parse
from gerbang.ports import Model
from gerbang.runtime.events import Notice
from gerbang.runtime.reading import Answer, AnswerReader
from gerbang.values.model import ModelRequest, Usage

ASKED_AGAIN: Final = "ASKED_WITHOUT_STREAMING"
"""Code of the notice, and kind of what the metrics count."""


async def ask_model(
    model: Model,
    request: ModelRequest,
    dialect: str,
    tools: parse.Offered,
    emit: Callable[[Any], None],
) -> Answer:
    """Ask and return the answer. Raises ModelFault, and closes the stream when cancelled.

    Some servers swallow a call when they stream. An answer with tools that streamed neither text nor a call
    is therefore asked for once more, whole: a call in it is taken, else its text is the answer. Normal
    answers cost nothing by that, and a model that writes no prose may say nothing.
    """
    reader = AnswerReader(dialect, tools, emit)
    stream = model.answer(request)
    try:
        async for event in stream:
            reader.feed(event)
    except BaseException:
        close = getattr(stream, "aclose", None)
        if close is not None:
            with contextlib.suppress(RuntimeError):  # it is running still: its own task closes it
                await close()
        raise
    answer = reader.finish()
    if answer.calls or answer.content or answer.finish_reason == "content_filter":
        return answer
    if not (request.stream and request.tools and model.writes_prose):
        return answer
    emit(Notice(ASKED_AGAIN, "The model streamed nothing; it was asked once more without streaming."))
    again = await ask_model(model, replace(request, stream=False), dialect, tools, emit)
    spent = Usage(
        answer.usage.input_tokens + again.usage.input_tokens,
        answer.usage.output_tokens + again.usage.output_tokens,
    )
    return replace(again, usage=spent, asked=2)
