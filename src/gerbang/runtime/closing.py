"""The text that ends a run, in the words of its profile."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from gerbang.loop.texts import Texts
from gerbang.runtime.denying import killed
from gerbang.values import Result
from gerbang.values.record import RunState

_ENCODER = msgspec.json.Encoder()
CUT_OFF: Final = {
    "disconnected": "The connection to the model broke inside its answer; what had arrived is kept.",
    "length": "The answer was cut off at the number of tokens that the model may write.",
}
"""What is said of an answer by how it ended, where that was not its own end."""


def closing_text(
    state: RunState,
    texts: Texts,
    *,
    content: str,
    last: Sequence[Result],
    results: Sequence[Result],
    writes_prose: bool,
    brought: Sequence[str] = (),
    broken_off: str = "",
    no_room: bool = False,
    closes: bool = False,
) -> str:
    """Return what the user gets at the end. `content` is the text of the last answer, `last` the results of
    the last calls, `results` those of all, `brought` what a client's own tools gave, `broken_off` what had
    arrived of an answer that broke off. `no_room`: the conversation does not fit into the context.
    `closes`: the last answer was asked for without tools, to end the run.
    """
    if state == RunState.CLIENT_CALLS:
        return content
    if state == RunState.COMPLETED:
        return content or ("" if writes_prose else _composed(results) or "\n".join(brought)) or texts.empty
    if state == RunState.MAX_STEPS:
        if closes and content.strip():
            return content
        names = ", ".join(dict.fromkeys(result.tool for result in last)) or "nothing"
        return texts.limit.format(names=names)
    if state == RunState.DENIED and killed(last):
        return texts.killed
    if state == RunState.DENIED:
        return ("" if writes_prose else _composed(results)) or texts.denied
    closing = {
        RunState.BUDGET: texts.no_room if no_room else texts.over_budget,
        RunState.PENDING_APPROVAL: texts.pending,
        RunState.CANCELLED: texts.cancelled,
        RunState.MODEL_ERROR: broken_off or texts.model_error,
    }
    return closing[state]


def _composed(results: Sequence[Result]) -> str:
    """Return an answer made of the results, for a model that picks tools but writes no prose."""
    texts = [_plain(result) for result in results]
    if len(texts) < 2:
        return "".join(texts)
    names = [result.tool for result in results]
    return "\n".join(f"{name}: {text}" for name, text in zip(names, texts, strict=True))


def _plain(result: Result) -> str:
    if result.error is not None:
        return result.error.message
    value: Any = result.value
    return value if isinstance(value, str) else _ENCODER.encode(value).decode()
