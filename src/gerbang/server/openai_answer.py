"""A run as a chat completion: its events to pieces, the pieces to one object or to a stream of chunks.

Objects as in OpenAI's API reference: `chat.completion`, and `chat.completion.chunk` with the role first,
then content, calls, the reason of the end, the usage where it was asked for, and `[DONE]`.
`reasoning_content` is the field in which other servers give reasoning; `gerbang` tells the run.
"""

import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from gerbang.compose.events import AnswerDelta, Finished, ReasoningSeen, RunResult, ToolCalled
from gerbang.server.openai_errors import error_body
from gerbang.server.problems import Problem
from gerbang.values import ToolCall

_ENCODER: Final = msgspec.json.Encoder()
_BETWEEN: Final = "\n\n"
_CUT: Final = {"length": "length", "disconnected": "length", "content_filter": "content_filter"}
DONE: Final = b"data: [DONE]\n\n"
BEAT: Final = b": still here\n\n"

Piece = tuple[str, str]
"""`content` or `reasoning_content`, and more of it."""


class Said:
    """Collects what a run says to the user. Texts of different answers are kept apart by an empty line.

    `last_only` leaves out what was said before the last answer, and gives that whole at the end.
    """

    def __init__(self, *, last_only: bool) -> None:
        self._last_only = last_only
        self._apart = False
        self._answered = False
        self.result: RunResult | None = None

    def take(self, event: Any) -> Iterator[Piece]:
        """Yield the pieces that an event brings."""
        kind = type(event)
        if kind is AnswerDelta and not self._last_only:
            yield from self._text(event.text)
        elif kind is ReasoningSeen:
            yield "reasoning_content", event.text
        elif kind is ToolCalled:
            self._apart, self._answered = self._apart or self._answered, False
        elif kind is Finished:
            result: RunResult = event.result
            self.result = result
            # a text that the runtime wrote itself, or one that was kept for the end
            if not self._answered and result.answer.strip() and result.status != "client_calls":
                yield from self._text(result.answer)

    def _text(self, text: str) -> Iterator[Piece]:
        if not self._answered and not text.strip():
            return
        self._answered = True
        if self._apart:
            self._apart = False
            text = _BETWEEN + text.lstrip()
        yield "content", text


class Completion:
    """The objects of one answer. `created` is in seconds since the epoch."""

    def __init__(self, run_id: str, model: str, *, usage: bool = False) -> None:
        self._head = {"id": f"chatcmpl-{run_id}", "created": int(time.time()), "model": model}
        self._usage = usage
        about = _ENCODER.encode({**self._head, "object": "chat.completion.chunk"})[:-1]
        self._before = b"data: " + about + b',"choices":[{"index":0,"delta":'
        self._after = b',"finish_reason":null}]' + (b',"usage":null}' if usage else b"}") + b"\n\n"

    def whole(self, pieces: list[Piece], result: RunResult) -> dict[str, Any]:
        """Return the whole answer."""
        content = "".join(text for kind, text in pieces if kind == "content").strip()
        reasoning = "".join(text for kind, text in pieces if kind == "reasoning_content")
        message: dict[str, Any] = {"role": "assistant", "content": content or None, "refusal": None}
        if reasoning:
            message["reasoning_content"] = reasoning
        if result.client_calls:
            message["tool_calls"] = [_call(call) for call in result.client_calls]
        elif not content:
            message["content"] = ""
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(result)}
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": _usage(result),
            "gerbang": run_facts(result),
        }

    def opening(self) -> bytes:
        """Return the first chunk."""
        return self._delta({"role": "assistant", "content": ""})

    def piece(self, piece: Piece) -> bytes:
        """Return the chunk of a piece."""
        kind, text = piece
        return self._before + b'{"' + kind.encode() + b'":' + _ENCODER.encode(text) + b"}" + self._after

    def end(self, result: RunResult) -> bytes:
        """Return the last chunks."""
        parts = []
        for index, call in enumerate(result.client_calls):
            head = {**_call(call), "index": index}
            parts.append(self._delta({"tool_calls": [head]}))
        choice = {"index": 0, "delta": {}, "finish_reason": _reason(result)}
        about = {**self._head, "object": "chat.completion.chunk"}
        last: dict[str, Any] = {**about, "choices": [choice], "gerbang": run_facts(result)}
        if self._usage:
            last["usage"] = None
        parts.append(_event(last))
        if self._usage:
            parts.append(_event({**about, "choices": [], "usage": _usage(result)}))
        parts.append(DONE)
        return b"".join(parts)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return self._before + _ENCODER.encode(delta) + self._after


def failure(problem: Problem) -> bytes:
    """Return what ends a stream that fails after it began."""
    return _event({"error": error_body(problem)}) + DONE


def run_facts(result: RunResult) -> dict[str, Any]:
    """Return the run, how it stands, and the approvals that it waits for."""
    approvals = [call.approval_id for call in result.calls if call.approval_id and call.status == "pending"]
    return {"run_id": result.run_id, "status": result.status, "approvals": approvals}


def _event(value: Any) -> bytes:
    return b"data: " + _ENCODER.encode(value) + b"\n\n"


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _reason(result: RunResult) -> str:
    if result.status == "client_calls":
        return "tool_calls"
    return _CUT.get(result.finish_reason, "stop") if result.status == "completed" else "stop"


def _usage(result: RunResult) -> dict[str, int]:
    read, written = result.input_tokens, result.output_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
