"""An answer of an OpenAI-compatible server, streamed or whole, whichever it really is."""

import json
from typing import Any

from gerbang.adapters.models.foreign import tidy
from gerbang.adapters.models.http import Answer, Wire
from gerbang.adapters.models.lines import LineTooLong
from gerbang.adapters.models.openai_stream import CompletionReader, ServerError, WrongShape
from gerbang.adapters.models.reading import Reading
from gerbang.adapters.models.sse import DONE, BadEvent, SseReader
from gerbang.errors import ModelFault
from gerbang.values.model import ModelEvent


class OpenAIReading(Reading):
    """Call `more` until `over`. Servers stream when not asked to, and the other way round: the body tells."""

    what = "a chat completion"

    def __init__(self, answer: Answer, wire: Wire) -> None:
        super().__init__(answer, wire)
        self._reader = CompletionReader()
        self._sse: SseReader | None = None
        self._begun = False

    async def more(self) -> list[ModelEvent]:
        """Wait for bytes and return the events they complete. Raises as `OpenAIModel.answer`."""
        if self._sse is not None:
            return self._streamed(self._sse, await self._answer.chunk())
        head = await self.head()
        if head[:1] not in (b"{", b"["):
            self._sse = SseReader()
            return self._streamed(self._sse, head)
        try:
            value = json.loads(await self.whole(head))
        except (ValueError, RecursionError):
            raise self.protocol("text that is not JSON") from None
        if isinstance(value, dict) and not isinstance(value.get("choices"), list) and not value.get("error"):
            raise self.protocol("JSON without `choices`")
        if isinstance(value, dict) and value.get("choices") == []:
            raise self.protocol("an empty list of `choices`")
        self.over = True
        return self._feed(value) + self._reader.finish(disconnected=False)

    def _streamed(self, sse: SseReader, chunk: bytes) -> list[ModelEvent]:
        try:
            values = sse.feed(chunk) if chunk else sse.finish()
        except (BadEvent, LineTooLong):
            raise self.protocol("a stream that is not server-sent events with JSON") from None
        self._begun = self._begun or bool(values)
        if not (chunk or self._begun):
            raise self.protocol("no server-sent event with JSON")
        events: list[ModelEvent] = []
        done = False
        for value in values:
            if value is DONE:
                done = True
                break
            events += self._feed(value)
            if self._reader.full:
                break
        if done or self._reader.full or not chunk:
            self.over = True
            events += self._reader.finish(disconnected=not (done or self._reader.finished))
        return events

    def _feed(self, value: Any) -> list[ModelEvent]:
        try:
            return self._reader.feed(value)
        except ServerError as error:
            said = tidy(str(error), self._wire.key)
            raise ModelFault(f"The model server at {self._origin} reported an error: {said}") from None
        except WrongShape as error:
            raise self.protocol(str(error)) from None
