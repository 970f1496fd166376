"""Machine of the family "the name outside, the arguments as one JSON object"."""

import re
from collections.abc import Callable, Generator
from functools import lru_cache
from typing import Final

from gerbang.parse.block import not_started, recover
from gerbang.parse.call_object import stream_object
from gerbang.parse.caps import MAX_KEY, MAX_NAME
from gerbang.parse.faults import Broken
from gerbang.parse.layout import NamedJson
from gerbang.parse.marks import Marks
from gerbang.parse.plan import Plan
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import half, skip_past, until, upcoming

_NAME: Final = re.compile(r"[\w.\-/:]+")
_INDEX: Final = re.compile(r":\d+\Z")
_CALLS, _CALLS_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_CALL, _CALL_END, _SEP = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"
_SECTION, _SECTION_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
_KIMI, _KIMI_END, _KIMI_ARGUMENTS = "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>"
_PLAMO, _PLAMO_END = "<|plamo:begin_tool_request:plamo|>", "<|plamo:end_tool_requests:plamo|>"
_PLAMO_NAME, _PLAMO_NAMED = "<|plamo:begin_tool_name:plamo|>", "<|plamo:end_tool_name:plamo|>"
_PLAMO_BEFORE: Final = (
    "<|plamo:begin_tool_arguments:plamo|>",
    "<|plamo:constrain|>json",
    "<|plamo:msg|>",
)
_PLAMO_AFTER: Final = ("<|plamo:end_tool_arguments:plamo|>", "<|plamo:end_tool_request:plamo|>")
_AFTER: Final = (_CALL_END, _KIMI_END, *_PLAMO_AFTER, "```")
_ARGS, _CALL_ID = "[ARGS]", "[CALL_ID]"

Started = Generator[None, None, bool]


def read(reader: Reader, plan: Plan, layout: NamedJson, mark: str) -> Machine:
    """Read the block behind `mark`, which was taken."""
    grammar = _GRAMMARS[layout.grammar]
    try:
        if not (yield from grammar(reader, mark)):
            not_started(reader, mark)
    except Broken as broken:
        yield from recover(reader, plan, broken)


def _arguments(reader: Reader) -> Machine:
    found, distance = yield from upcoming(reader, ("{",))
    if found != "{":
        if found:
            reader.pos = len(reader.buf)
        raise Broken("CALL_TRUNCATED" if found else "CALL_NOT_JSON", "the arguments are no object")
    reader.pos += distance
    yield from stream_object(reader)


def _mistral(reader: Reader, mark: str) -> Started:
    """`name[ARGS]{}`, `name[CALL_ID]id[ARGS]{}` and the older `name{}`; the mark may stand there twice."""
    again, distance = yield from upcoming(reader, (mark,))
    if again == mark:
        _, distance = yield from upcoming(reader, (), distance + len(mark))
    while True:
        at = reader.pos + distance
        if at >= len(reader.buf):
            reader.pos = len(reader.buf)
            raise Broken("CALL_TRUNCATED")
        match = _NAME.match(reader.buf, at)
        if match is None or match.end() - at > MAX_NAME:
            return False
        if match.end() < len(reader.buf) or reader.ended:
            break
        yield
    name, distance = match.group(), match.end() - reader.pos
    found, distance = yield from upcoming(reader, (_ARGS, _CALL_ID, "{"), distance)
    if found == "\0" or (not found and half(reader, (_ARGS, _CALL_ID), distance)):
        reader.pos = len(reader.buf)
        raise Broken("CALL_TRUNCATED")
    if not found:
        return False
    reader.pos += distance
    reader.open(name)
    if found == _CALL_ID and (yield from until(reader, _ARGS, MAX_KEY)) is None:
        raise Broken("CALL_TRUNCATED" if reader.ended else "CALL_SHAPE", "the arguments are missing")
    if found == _ARGS:
        reader.pos += len(_ARGS)
    yield from _arguments(reader)
    reader.close()
    return True


def _deepseek(reader: Reader, mark: str) -> Started:
    """A section of calls, or a call without one."""
    if mark == _CALL:
        yield from _deepseek_call(reader)
        return True
    return (yield from _section(reader, _CALL, _CALLS_END, _deepseek_call))


@lru_cache(maxsize=64)
def _calls_of(call: str, end: str) -> Marks:
    return Marks((call, end))


def _section(reader: Reader, call: str, end: str, read_call: Callable[[Reader], Machine]) -> Started:
    """Read calls up to the section's end. Text between them is not shown; what follows the last one is, when
    the section has no end.
    """
    found, _ = yield from upcoming(reader, (call, end))
    if found == "\0" or half(reader, (call, end)):
        reader.pos = len(reader.buf)
        raise Broken("CALL_TRUNCATED")
    if call in reader.barren:
        return False
    marks = _calls_of(call, end)
    count = 0
    while True:
        reader.record()
        mark = yield from skip_past(reader, marks, lambda _mark: False)
        behind = reader.recorded()
        if not mark and not any(option.startswith(behind.strip()) for option in (call, end, *_AFTER)):
            reader.unread(behind)
            if reader.ended:
                reader.barren.add(call)
            return count > 0
        if mark != call:
            return True
        count += 1
        yield from read_call(reader)


def _deepseek_call(reader: Reader) -> Machine:
    """`name<sep>{}` (V3.1) or `function<sep>name`, a line break and `{}` in a fence (V3)."""
    name = yield from _up_to(reader, _SEP)
    found, distance = yield from upcoming(reader, ("{",))
    if name.strip() == "function" and found != "{":
        name = yield from _up_to(reader, "\n")
        found, distance = yield from upcoming(reader, ("```json", "```", "{"))
        if found.startswith("```"):
            reader.pos += distance + len(found)
    reader.open(name.strip())
    yield from _arguments(reader)
    reader.close()
    found, distance = yield from upcoming(reader, ("```",))
    if found == "```":
        reader.pos += distance + 3
    yield from _take(reader, _CALL_END)


def _up_to(reader: Reader, end: str) -> Generator[None, None, str]:
    text = yield from until(reader, end, MAX_NAME)
    if text is None:
        raise Broken("CALL_TRUNCATED" if reader.ended else "CALL_SHAPE", "the name of the tool is missing")
    return text


def _take(reader: Reader, mark: str) -> Machine:
    found, distance = yield from upcoming(reader, (mark,))
    if found == mark:
        reader.pos += distance + len(mark)


def _kimi(reader: Reader, mark: str) -> Started:
    """A section of calls, or a call without one."""
    if mark == _KIMI:
        yield from _kimi_call(reader)
        return True
    return (yield from _section(reader, _KIMI, _SECTION_END, _kimi_call))


def _kimi_call(reader: Reader) -> Machine:
    """`functions.name:IDX`, the argument mark, `{}`."""
    head = yield from _up_to(reader, _KIMI_ARGUMENTS)
    reader.open(_INDEX.sub("", head.strip()).removeprefix("functions."))
    yield from _arguments(reader)
    reader.close()
    yield from _take(reader, _KIMI_END)


def _plamo(reader: Reader, mark: str) -> Started:
    """A section of calls, or a call without one."""
    if mark == _PLAMO:
        yield from _plamo_call(reader)
        return True
    return (yield from _section(reader, _PLAMO, _PLAMO_END, _plamo_call))


def _plamo_call(reader: Reader) -> Machine:
    """The name and the arguments, each between marks of their own."""
    name = yield from _up_to(reader, _PLAMO_NAMED)
    reader.open(name.strip().removeprefix(_PLAMO_NAME).strip())
    for mark in _PLAMO_BEFORE:
        yield from _take(reader, mark)
    if reader.ended and any(mark.startswith(reader.buf[reader.pos :].strip()) for mark in _PLAMO_BEFORE):
        reader.pos = len(reader.buf)
        raise Broken("CALL_TRUNCATED")
    yield from _arguments(reader)
    reader.close()
    for mark in _PLAMO_AFTER:
        yield from _take(reader, mark)


def _function_tag(reader: Reader, _mark: str) -> Started:
    """`name>{}</function>` behind `<function=`."""
    name = yield from until(reader, ">", MAX_NAME, forbidden="<\n ")
    if name is None:
        if reader.ended:
            reader.pos = len(reader.buf)
            raise Broken("CALL_TRUNCATED")
        return False
    found, _ = yield from upcoming(reader, ("{",))
    if not found:
        reader.unread(f"{name}>")
        return False
    reader.open(name.strip("\"'"))
    yield from _arguments(reader)
    reader.close()
    yield from _take(reader, "</function>")
    return True


_GRAMMARS: Final[dict[str, Callable[[Reader, str], Started]]] = {
    "mistral": _mistral,
    "deepseek": _deepseek,
    "kimi": _kimi,
    "plamo": _plamo,
    "function_tag": _function_tag,
}
