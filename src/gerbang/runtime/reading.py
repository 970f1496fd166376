"""From a model's events to one answer: structured calls first, calls written as text second.

Text goes through the parser's reader, which holds back only what may still turn out to be markup.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from gerbang import parse
from gerbang.errors import ModelProtocol
from gerbang.limits import MAX_ANSWER_CHARS, MAX_CALLS_PER_ANSWER
from gerbang.runtime import refusals
from gerbang.runtime.events import AnswerDelta, ReasoningSeen, ToolOpened
from gerbang.values import CallError
from gerbang.values.model import (
    CallDelta,
    FinishReason,
    ModelCall,
    ModelDone,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from gerbang.values.text import clean_text

_CUT = ("length", "disconnected")
_ENOUGH = 4 * MAX_CALLS_PER_ANSWER  # of calls of either kind: what comes after them is not read any more
_PIECE = 4_096  # characters read between two looks at the count
_UNKNOWN = Usage()
_LEFT_VISIBLE = "CALL_NOT_STARTED"  # a mark in prose: the text stays in sight, and is no call to answer
_BLOCKS = "tool_use"  # the dialect in which a whole block is meant as a call, whatever stands in it


class Asked(Struct, frozen=True, gc=False):
    """One call that the model asked for. Exactly one of `arguments` and `fault` is set.

    `text` is the JSON text of the arguments as it came, when it was whole.
    """

    id: str | None
    name: str
    arguments: dict[str, Any] | None
    fault: CallError | None = None
    repaired: bool = False
    text: str = ""


class Answer(Struct, frozen=True, gc=False):
    """One model answer, taken apart. `raw` is the text as the model wrote it, markup included.

    `asked` counts the requests that it took.
    """

    content: str
    raw: str
    calls: tuple[Asked, ...]
    finish_reason: FinishReason
    usage: Usage
    structured: bool
    asked: int = 1


class AnswerReader:
    """Collects one answer. `emit` receives the text for the user as it becomes certain."""

    __slots__ = (
        "_content",
        "_dialect",
        "_emit",
        "_loose",
        "_overflow",
        "_raw",
        "_reader",
        "_reason",
        "_router",
        "_size",
        "_structured",
        "_text_calls",
        "_tools",
        "_usage",
    )

    def __init__(self, dialect: str, tools: parse.Offered, emit: Callable[[Any], None]) -> None:
        self._dialect = dialect
        self._tools = tools
        self._emit = emit
        self._reader: Any = None
        self._raw: list[str] = []
        self._size = 0
        self._content: list[str] = []
        self._text_calls: list[Asked] = []
        self._structured: list[ModelCall] = []
        self._reason: FinishReason = "disconnected"
        self._usage = _UNKNOWN
        self._overflow = False
        self._loose: dict[str, parse.ParseFault] = {}  # by the mark
        # a router's answer is one decision: what its text is can be told at the end only
        self._router = dialect == "router"

    def feed(self, event: Any) -> None:
        """Take one event of the model."""
        kind = type(event)
        if kind is TextDelta:
            self._text(event.text)
        elif kind is ModelCall:
            if len(self._structured) < _ENOUGH:
                self._structured.append(event)
            else:
                self._overflow = True
        elif kind is ModelDone:
            self._reason = event.finish_reason
            self._usage = event.usage
        elif kind is ReasoningDelta:
            self._emit(ReasoningSeen(event.text))
        elif kind is CallDelta:
            if event.name is not None:
                self._emit(ToolOpened(clean_text(event.name)))
        else:
            raise ModelProtocol("The model adapter gave an event of an unknown kind.")

    def _text(self, text: str) -> None:
        if self._overflow or not text:
            return
        self._size += len(text)
        if self._size > MAX_ANSWER_CHARS:
            self._overflow = True
            return
        if self._reader is None:
            self._reader = parse.reader(self._dialect, tools=self._tools)
        for start in range(0, len(text), _PIECE):  # any cut of the text reads the same
            piece = text[start : start + _PIECE]
            self._raw.append(piece)
            self._take(self._reader.feed(piece))
            if len(self._text_calls) >= _ENOUGH:
                self._overflow = True
                return

    def _take(self, events: Any) -> None:
        for event in events:
            kind = type(event)
            if kind is parse.Content:
                self._content.append(event.text)
                if not self._router:
                    self._emit(AnswerDelta(event.text))
            elif kind is parse.CallClosed:
                self._text_calls.append(
                    Asked(None, clean_text(event.name), event.arguments, repaired=event.repaired)
                )
            elif kind is parse.ParseFault:
                if event.code == _LEFT_VISIBLE:
                    self._loose.setdefault(event.raw, event)
                else:
                    self._text_calls.append(_unreadable(event))
            elif kind is parse.CallOpened:
                self._emit(ToolOpened(clean_text(event.name)))
            elif kind is parse.Reasoning:
                self._emit(ReasoningSeen(event.text))

    def finish(self) -> Answer:
        """Return the answer; what was cut off is a fault, never a call."""
        cut = self._overflow or self._reason in _CUT
        if self._reader is None and not (cut or self._router):  # most answers that call say nothing else
            asked = _bounded([self._read(call) for call in self._structured])
            return Answer("", "", tuple(asked), self._reason, self._usage, bool(asked))
        if self._reader is not None:
            self._take(self._reader.finish(truncated=cut))
        if self._router:
            self._route(cut)
        if self._dialect == _BLOCKS and not self._text_calls:
            self._text_calls.extend(_unreadable(fault) for fault in self._whole_blocks())
        structured = [self._read(call) for call in self._structured]
        if cut and structured and not self._text_calls:
            last = structured[-1]
            structured[-1] = Asked(last.id, last.name, None, _truncated())
        calls = structured or self._text_calls
        if structured and self._text_calls:
            calls = structured + [asked for asked in self._text_calls if not _said(asked, structured)]
        calls = _bounded(calls)
        return Answer(
            content=clean_text("".join(self._content).strip()),
            raw=clean_text("".join(self._raw)),
            calls=tuple(calls),
            finish_reason="length" if self._overflow else self._reason,
            usage=self._usage,
            structured=bool(structured),
        )

    def _whole_blocks(self) -> list[parse.ParseFault]:
        """Return the fault of a block with both of its marks that holds no call, for the model to be told."""
        content = "".join(self._content)
        for mark, fault in self._loose.items():
            begin = content.find(mark)
            if mark.startswith("<") and content.find(f"</{mark[1:]}", begin) > begin >= 0:
                return [fault]
        return []

    def _route(self, cut: bool) -> None:
        """Take a whole decision for a tool that nobody offered as a call, so that it can be answered."""
        content = "".join(self._content)
        asked = None if cut or self._text_calls else _decision(content)
        if asked is None:
            self._emit(AnswerDelta(content))
        else:
            self._content.clear()
            self._text_calls.append(asked)

    def _read(self, call: ModelCall) -> Asked:
        arguments, fault = parse.arguments_from_json(call.arguments)
        if fault is not None:
            return Asked(_id(call.id), clean_text(call.name), None, refusals.unreadable(*fault))
        return Asked(_id(call.id), clean_text(call.name), arguments, text=call.arguments)


def insists(answer: Answer, before: str) -> bool:
    """Tell whether a model only says once more what it was told to be no call: then it means it as text."""
    if not answer.raw or answer.raw != before:
        return False
    faults = [asked.fault for asked in answer.calls]
    return all(fault and fault.error_code == _LEFT_VISIBLE for fault in faults)


def _unreadable(fault: parse.ParseFault) -> Asked:
    return Asked(None, "", None, refusals.unreadable(fault.code, fault.message))


def _id(text: str | None) -> str | None:
    """Return a server's call id if it is fit to be one."""
    return clean_text(text[:128]) if text else None


def _bounded(calls: list[Asked]) -> list[Asked]:
    """Refuse the calls beyond the limit one by one, and drop what nobody would read any more."""
    if len(calls) <= MAX_CALLS_PER_ANSWER:
        return calls
    fault = refusals.unreadable(
        "TOO_MANY_CALLS", f"One answer may hold {MAX_CALLS_PER_ANSWER} calls; this one was not run."
    )
    rest = calls[MAX_CALLS_PER_ANSWER : 2 * MAX_CALLS_PER_ANSWER]
    return [*calls[:MAX_CALLS_PER_ANSWER], *(Asked(call.id, call.name, None, fault) for call in rest)]


def _decision(text: str) -> Asked | None:
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):  # models that mean JSON like to fence it
        text = text[3:-3].removeprefix("json").strip()
    if not text.startswith("{"):
        return None
    value, _ = parse.arguments_from_json(text)
    if value is None or value.keys() != {"tool", "input"} or not isinstance(value["tool"], str):
        return None
    given = value["input"]
    return Asked(None, clean_text(value["tool"]), given if isinstance(given, dict) else {"input": given})


def _said(asked: Asked, structured: list[Asked]) -> bool:
    """Tell whether a call in the text repeats a structured one."""
    return any(asked.name == other.name and asked.arguments == other.arguments for other in structured)


def _truncated() -> CallError:
    return refusals.unreadable(
        "CALL_TRUNCATED", "The answer was cut off inside this call; nothing of it was run."
    )
