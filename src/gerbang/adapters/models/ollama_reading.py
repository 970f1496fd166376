"""An answer of Ollama's /api/chat: one JSON object a line, or one for all.

Fields as in Ollama's API document: `message.content`, `message.thinking`, `message.tool_calls`, `done`,
`done_reason`, `prompt_eval_count`, `eval_count`, and `error` in place of any of them. Every call arrives
whole, its arguments an object or JSON text.
"""

import json
from typing import Any

from gerbang.adapters.models.foreign import said_by, tidy
from gerbang.adapters.models.http import Answer, Wire
from gerbang.adapters.models.lines import Lines, LineTooLong
from gerbang.adapters.models.openai_stream import count
from gerbang.adapters.models.reading import Reading
from gerbang.adapters.models.surrogates import SurrogateJoiner
from gerbang.errors import ModelFault
from gerbang.limits import MAX_ANSWER_CHARS
from gerbang.values.model import (
    CallDelta,
    FinishReason,
    ModelCall,
    ModelDone,
    ModelEvent,
    ReasoningDelta,
    TextDelta,
    Usage,
)


class OllamaReading(Reading):
    """Call `more` until `over`."""

    what = "an Ollama chat answer"

    def __init__(self, answer: Answer, wire: Wire, *, stream: bool) -> None:
        super().__init__(answer, wire)
        self._stream = stream
        self._lines: Lines | None = None
        self._calls: list[ModelCall] = []
        self._text = SurrogateJoiner()
        self._reasoning = SurrogateJoiner()
        self._done: dict[str, Any] | None = None
        self._size = 0
        self._begun = False

    async def more(self) -> list[ModelEvent]:
        """Wait for bytes and return the events they complete. Raises as `OllamaModel.answer`."""
        if self._lines is None:
            head = await self.head()
            self._lines = Lines()
            if self._stream:
                return self._streamed(self._lines, head)
            return self._all(self._lines, await self.whole(head))
        return self._streamed(self._lines, await self._answer.chunk())

    def _all(self, lines: Lines, text: str) -> list[ModelEvent]:
        """Read a whole body: one object over any number of lines, or a stream after all."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            events = self._streamed(lines, text.encode("utf-8", "replace"))
            return events if self.over else events + self._streamed(lines, b"")
        events = self._object(value)
        if "done" not in value:
            self._done = {}  # a server that does not stream may leave it out
        return events + self._finish()

    def _streamed(self, lines: Lines, chunk: bytes) -> list[ModelEvent]:
        try:
            complete = lines.feed(chunk) if chunk else lines.finish()
        except LineTooLong:
            raise self.protocol("a line without end") from None
        events: list[ModelEvent] = []
        for number, line in enumerate(complete):
            text = line.removeprefix("data:").strip()
            if not text:
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                if self._begun and not chunk and number == len(complete) - 1:
                    break  # cut off within its last line
                raise self.protocol("text that is not JSON") from None
            events += self._object(value)
            if self._done is not None or self._size > MAX_ANSWER_CHARS:
                return events + self._finish()
        return events + self._finish() if not chunk else events

    def _object(self, value: Any) -> list[ModelEvent]:
        if not isinstance(value, dict):
            raise self.protocol("JSON that is no object")
        if value.get("error"):
            said = tidy(said_by(value), self._wire.key)
            raise ModelFault(f"The model server at {self._origin} reported an error: {said}")
        message = value.get("message")
        if not isinstance(message, dict) and "done" not in value:
            raise self.protocol("JSON without `message`")
        self._begun = True
        if value.get("done") is True:
            self._done = value
        return self._message(message) if isinstance(message, dict) else []

    def _message(self, message: dict[str, Any]) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        thinking, text = message.get("thinking"), message.get("content")
        if isinstance(thinking, str) and (piece := self._reasoning.feed(self._count(thinking))):
            events.append(ReasoningDelta(piece))
        if isinstance(text, str) and (piece := self._text.feed(self._count(text))):
            events.append(TextDelta(piece))
        calls = message.get("tool_calls")
        for entry in calls if isinstance(calls, list) else ():
            call = _call(len(self._calls), entry)
            if call is not None and not self._is_repeat(call):
                self._count(call.arguments)
                self._calls.append(call)
                events.append(CallDelta(call.index, call.name, call.arguments))
        return events

    def _is_repeat(self, call: ModelCall) -> bool:
        """Tell whether a call with an id has come before; one without an id may well be meant twice."""
        return call.id is not None and any(
            (call.id, call.name, call.arguments) == (one.id, one.name, one.arguments) for one in self._calls
        )

    def _finish(self) -> list[ModelEvent]:
        self.over = True
        events: list[ModelEvent] = []
        if rest := self._reasoning.finish():
            events.append(ReasoningDelta(rest))
        if rest := self._text.finish():
            events.append(TextDelta(rest))
        done = self._done or {}
        reason: FinishReason = "tool_calls" if self._calls else "stop"
        if done.get("done_reason") == "length" or self._size > MAX_ANSWER_CHARS:
            reason = "length"
        elif self._done is None:
            reason = "disconnected"
        usage = Usage(count(done.get("prompt_eval_count")), count(done.get("eval_count")))
        return [*events, *self._calls, ModelDone(reason, usage)]

    def _count(self, text: str) -> str:
        """Count towards the cap of an answer; past it the text is cut."""
        left = max(0, MAX_ANSWER_CHARS - self._size)
        self._size += len(text)
        return text[:left]


def _call(index: int, entry: Any) -> ModelCall | None:
    function = entry.get("function") if isinstance(entry, dict) else None
    if not isinstance(function, dict):
        return None
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    name, call_id = function.get("name"), entry.get("id")
    return ModelCall(
        index,
        call_id if isinstance(call_id, str) and call_id else None,
        name if isinstance(name, str) else "",
        arguments,
    )
