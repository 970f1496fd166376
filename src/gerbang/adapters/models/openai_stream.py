"""The objects of a chat completion to model events. Pure: feed chunks or one whole answer, then `finish`."""

from typing import Any, Final

from gerbang.adapters.models.foreign import said_by
from gerbang.adapters.models.openai_calls import CallReader
from gerbang.adapters.models.surrogates import SurrogateJoiner
from gerbang.limits import MAX_ANSWER_CHARS
from gerbang.values.model import (
    FinishReason,
    ModelDone,
    ModelEvent,
    ReasoningDelta,
    TextDelta,
    Usage,
)

_REASONS: Final[dict[str, FinishReason]] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}


class ServerError(Exception):
    """The server sent an error object in place of (a part of) the answer. `str()` is its own reason."""


class WrongShape(Exception):
    """JSON that is not a chat completion."""


class CompletionReader:
    """Reads the answer with index 0. `full` becomes true when the answer passed its cap and must be cut."""

    def __init__(self) -> None:
        self.full = False
        self.finished = False
        self._calls = CallReader()
        self._text = SurrogateJoiner()
        self._reasoning = SurrogateJoiner()
        self._reason: FinishReason | None = None
        self._usage = Usage()
        self._size = 0

    def feed(self, value: Any) -> list[ModelEvent]:
        """Read one chunk or one whole answer. Raises ServerError and WrongShape."""
        if not isinstance(value, dict):
            raise WrongShape("JSON that is no object")
        if value.get("error"):
            raise ServerError(said_by(value))
        self._usage = _usage(value.get("usage")) or self._usage
        choices = value.get("choices")
        if choices is None:
            if value.get("object") == "error" or not (value.keys() & {"usage", "id", "object", "model"}):
                raise (
                    ServerError(said_by(value))
                    if value.get("message")
                    else WrongShape("JSON without `choices`")
                )
            return []
        if not isinstance(choices, list):
            raise WrongShape("`choices` that are no list")
        events: list[ModelEvent] = []
        for choice in choices:
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                events += self._choice(choice)
        return events

    def finish(self, *, disconnected: bool) -> list[ModelEvent]:
        """Return the last events, ModelDone at the end. Calls that came decide, not the server's word."""
        events: list[ModelEvent] = []
        if rest := self._reasoning.finish():
            events.append(ReasoningDelta(rest))
        if rest := self._text.finish():
            events.append(TextDelta(rest))
        reason: FinishReason
        if self.full:
            reason = "length"
        elif disconnected:
            reason = "disconnected"
        elif self._reason in ("length", "content_filter"):
            reason = self._reason
        else:
            reason = "tool_calls" if self._calls else "stop"
        events += self._calls.finish(cut_off=reason in ("length", "disconnected", "content_filter"))
        events.append(ModelDone(reason, self._usage))
        return events

    def _choice(self, choice: dict[str, Any]) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        delta = choice.get("delta")
        if not isinstance(delta, dict) or not delta:
            delta = choice.get("message") if not self._size or "delta" not in choice else None
        if isinstance(delta, dict):
            events = self._delta(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finished = True
            self._reason = _REASONS.get(reason, "stop")
        return events

    def _delta(self, delta: dict[str, Any]) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        reasoning = _joined(delta.get("reasoning_content")) or _joined(delta.get("reasoning"))
        if reasoning and (piece := self._reasoning.feed(self._count(reasoning))):
            events.append(ReasoningDelta(piece))
        text = _joined(delta.get("content"))
        if text and (piece := self._text.feed(self._count(text))):
            events.append(TextDelta(piece))
        entries = delta.get("tool_calls")
        if isinstance(entries, dict):
            entries = [entries]
        if not isinstance(entries, list):
            entries = [delta["function_call"]] if delta.get("function_call") else []
        for entry in entries:
            for event in self._calls.feed(entry):
                self._count(event.fragment)
                events.append(event)
        return events

    def _count(self, text: str) -> str:
        """Count towards the cap; past it the text is cut and `full` set."""
        left = max(0, MAX_ANSWER_CHARS - self._size)
        self._size += len(text)
        if len(text) > left:
            self.full = True
            return text[:left]
        return text


def _joined(value: Any) -> str:
    """Return text that a server gives as a string or as a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(
            part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    return Usage(count(value.get("prompt_tokens")), count(value.get("completion_tokens")))


def count(value: Any) -> int:
    """Return a token count, or 0 for anything that is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
