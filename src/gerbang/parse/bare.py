"""Machine of the untagged formats: JSON on its own line, in a fence, a router's decision, Python calls.

Untagged text is held until it is complete, because only then it is known whether it was a call: what is
none is shown unchanged.
"""

import re
from typing import Any, Final

from gerbang.parse.caps import MAX_HELD
from gerbang.parse.faults import Broken
from gerbang.parse.json_text import STOPS, JsonText
from gerbang.parse.json_value import dump, load
from gerbang.parse.plan import Plan
from gerbang.parse.python_calls import python_calls
from gerbang.parse.python_text import PythonText
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import upcoming
from gerbang.parse.shape import Call, calls_of, router_call

_FIRST_KEY: Final = re.compile(r"""\s*(?:\[\s*)?\{\s*["']([^"'\\]*)["']\s*:""")
_NO_KEY: Final = re.compile(r"""\s*(?:\[\s*)?(?:[^\s\[{]|\[\s*[^\s{\]]|\{\s*[^\s"'}])""")
_CALL_KEYS: Final = frozenset(
    (
        *("name", "tool_name", "function_name", "tool", "function", "action", "id", "type", "index"),
        *("arguments", "parameters", "input", "args", "params", "tool_input", "action_input"),
        *("function_call", "tool_call", "tool_calls", "function_calls", "calls", "tool_call_id"),
    )
)
_CUT_KEY: Final = re.compile(r"""\s*(?:\[\s*)?(?:\{\s*(?:"([a-z_]*)"?\s*)?)?""")
_SPACES: Final = re.compile(r"[ \t]*")
_PYTHON_HEAD: Final = re.compile(r"\[\s*[A-Za-z_][\w.\-]*\s*\(")
_PYTHON_PREFIX: Final = re.compile(r"\[\s*(?:[A-Za-z_][\w.\-]*\s*)?\Z")
_BLANKS: Final = re.compile(r"\s*")
_HEAD: Final = 512
_LINE_ENDS: Final = ("\n", "\r", ";", "{", "<|", "</", "```")


class Held:
    """Text that may be a call: what was taken so far, and whether the answer's first text."""

    __slots__ = ("first", "parts", "size")

    def __init__(self, reader: Reader) -> None:
        self.parts = reader.held
        self.parts.clear()
        self.size = 0
        self.first = reader.blank

    def text(self) -> str:
        """Return and forget what was held."""
        text = "".join(self.parts)
        self.parts.clear()
        return text


def read(reader: Reader, plan: Plan) -> Machine:
    """Read what stands at a line start with `{` or `[`: a call, or text."""
    rules = plan.dialect.bare
    first = reader.blank
    if rules is not None and rules.python and reader.buf[reader.pos] == "[":
        python = yield from _is_python(reader)
        if python:
            if first:
                yield from _python(reader, known=rules.known)
            else:
                _as_text(reader)
            return
    if rules is None or not rules.untagged:
        _as_text(reader)
        return
    reader.begin(0)
    held = Held(reader)
    while True:
        value = yield from _value(reader, held, sure=not rules.close)
        if value is None:
            return
        ends = _closed(reader, rules.close) if rules.close else _own_line(reader)
        if not (yield from ends):
            reader.content(held.text())
            return
        raw = held.text()
        if not _report(reader, plan, value, first=first, raw=raw):
            return
        mark, distance = yield from upcoming(reader, (";", ",", "{"))
        if mark in (";", ","):
            mark, distance = yield from upcoming(reader, ("{",), distance + 1)
        if mark != "{":
            return
        reader.pos += distance
        reader.begin(0)


def _as_text(reader: Reader) -> None:
    reader.content(reader.buf[reader.pos])
    reader.pos += 1


def _closed(reader: Reader, close: str) -> Any:
    """Take the end mark whose opening one was forgotten. False when it is not there."""
    mark, distance = yield from upcoming(reader, (close,))
    if mark != close:
        return False
    reader.pos += distance + len(close)
    return True


def _own_line(reader: Reader) -> Any:
    """Tell whether nothing but white space, a separator or a special token follows on this line."""
    distance = 0
    while True:
        match = _SPACES.match(reader.buf, reader.pos + distance)
        at = match.end() if match else reader.pos
        distance = at - reader.pos
        if at < len(reader.buf) or reader.ended:
            found, _ = yield from upcoming(reader, _LINE_ENDS, distance, gap=False)
            return found != ""
        yield


def _may_be_call(reader: Reader, *, sure: bool) -> Any:
    """Look ahead whether the first key of the JSON at `pos` is one that calls have."""
    while True:
        head = reader.buf[reader.pos : reader.pos + _HEAD]
        key = _FIRST_KEY.match(head)
        if key:
            return key.group(1) in _CALL_KEYS
        if _NO_KEY.match(head) or len(head) >= _HEAD:
            return False
        if reader.ended:
            cut = _CUT_KEY.fullmatch(head) if sure and reader.truncated else None
            return cut and any(word.startswith(cut.group(1) or "") for word in _CALL_KEYS)
        yield


def _value(reader: Reader, held: Held, *, sure: bool = True) -> Any:
    """Read one JSON value into `held`. Returns (text, repaired), or None when it was given back as text.

    `sure`: what looks like a call is one; else it is text until a mark tells otherwise.
    """
    if not (yield from _may_be_call(reader, sure=sure)):
        held.parts.append(reader.buf[reader.pos])
        reader.pos += 1
        reader.content(held.text())
        return None
    text = JsonText(repair=reader.repair)
    begin = len(held.parts)
    while True:
        start = reader.pos
        try:
            reader.pos = text.run(reader.buf, start)
        except Broken as broken:
            reader.pos = text.at
            held.parts.append(reader.buf[start : reader.pos])
            _give_back(reader, held, broken if sure else None)
            return None
        text.out.clear()  # text that went by while the machine slept is not in it
        held.parts.append(reader.buf[start : reader.pos])
        held.size += reader.pos - start
        if text.done:
            return _settled("".join(held.parts[begin:]), repaired=text.repaired)
        if reader.ended or held.size > MAX_HELD:
            end = Broken("CALL_TRUNCATED" if reader.ended else "CALL_TOO_LARGE")
            _give_back(reader, held, end if sure else None)
            return None
        if text.in_text:
            reader.rest(STOPS, hold=True)
        yield


def _settled(raw: str, *, repaired: bool) -> tuple[str, bool]:
    """Return the JSON text of a complete value that was held."""
    if not repaired:
        return raw, False
    text = JsonText(repair=True)
    text.run(raw, 0)
    return "".join(text.out), True


def _give_back(reader: Reader, held: Held, broken: Broken | None) -> None:
    """Show what was held; when it was a call that the end of the answer cut, only report it."""
    if broken is None:
        reader.content(held.text())
    elif broken.code == "CALL_TRUNCATED":
        held.text()
        reader.fault(broken.code, broken.why)
    else:
        text = held.text()
        reader.fault(broken.code, broken.why)
        reader.content(text)


def _report(reader: Reader, plan: Plan, value: tuple[str, bool], *, first: bool, raw: str) -> bool:
    """Report the calls of a complete value. False when it was shown as text instead."""
    rules = plan.dialect.bare
    text, repaired = value
    if rules is None:
        return False
    try:
        parsed = load(text)
        if rules.router:
            return _router(reader, parsed, raw, repaired=repaired)
        calls = calls_of(parsed, repair=reader.repair)
        known = rules.known or not (first or rules.fence)
        if calls is None or (known and any(name not in reader.offered.names for name, _ in calls)):
            reader.content(raw)
            return False
        _emit(reader, calls, repaired=repaired)
    except Broken as broken:
        reader.fault(broken.code, broken.why)
    return True


def _emit(reader: Reader, calls: list[Call], *, repaired: bool) -> None:
    for name, arguments in calls:
        reader.call(name, arguments, dump(arguments), repaired=repaired)


def _router(reader: Reader, value: Any, raw: str, *, repaired: bool) -> bool:
    call = router_call(value, reader.offered.schema)
    if call is not None and call[0] == "none":
        answer = value["input"]
        reader.content(answer if isinstance(answer, str) else "" if answer is None else dump(answer))
        return True
    if call is None or call[0] not in reader.offered.names:
        calls = calls_of(value, repair=reader.repair) if call is None else None
        if not calls or any(name not in reader.offered.names for name, _ in calls):
            reader.content(raw)
            return False
        _emit(reader, calls, repaired=repaired)
        return True
    _emit(reader, [call], repaired=repaired)
    return True


def fenced(reader: Reader, plan: Plan, ticks: int) -> Any:
    """Read a fence (its back ticks were taken) that may hold calls. True when it did; else it goes on as
    text.
    """
    opening = "`" * ticks
    first = reader.blank
    while True:
        end = reader.buf.find("\n", reader.pos)
        info = reader.buf[reader.pos : end if end >= 0 else len(reader.buf)]
        if end >= 0 or reader.ended or len(info) > 16 or not "json".startswith(info.strip().lower()):
            break
        yield
    if end < 0 or info.strip().lower() not in ("", "json"):
        reader.content(opening)
        return False
    opening += reader.buf[reader.pos : end + 1]
    reader.pos = end + 1
    ahead, distance = yield from upcoming(reader, ("{", "["))
    if ahead not in ("{", "["):
        reader.content(opening)
        reader.fence = -1
        return False
    opening += reader.buf[reader.pos : reader.pos + distance]
    reader.pos += distance
    return (yield from _fenced_calls(reader, plan, opening, first=first))


def _fenced_calls(reader: Reader, plan: Plan, opening: str, *, first: bool) -> Any:
    held = Held(reader)
    held.parts.append(opening)
    reader.fence = -1
    values: list[tuple[str, bool]] = []
    while True:
        value = yield from _value(reader, held)
        if value is None:
            return False
        values.append(value)
        mark, distance = yield from upcoming(reader, ("```", "{", ",", ";"))
        if mark not in ("{", ",", ";"):
            break
        if mark != "{":
            mark, distance = yield from upcoming(reader, ("{",), distance + 1)
            if mark != "{":
                break
        held.parts.append(reader.buf[reader.pos : reader.pos + distance])
        reader.pos += distance
    if mark not in ("```", "\0"):
        reader.content(held.text())
        return False
    joined, repaired = values[0]
    if len(values) > 1:
        joined = "[" + ",".join(text for text, _ in values) + "]"
        repaired = any(mended for _, mended in values)
    raw = held.text()
    if not _report(reader, plan, (joined, repaired), first=first, raw=raw):
        return False
    reader.fence = 0
    reader.pos += distance + (len(mark) if mark == "```" else 0)
    return True


def _is_python(reader: Reader) -> Any:
    """Tell whether `[name(` stands at `pos`."""
    while True:
        if _PYTHON_HEAD.match(reader.buf, reader.pos):
            return True
        size = len(reader.buf) - reader.pos
        if reader.ended or size > _HEAD or not _PYTHON_PREFIX.match(reader.buf, reader.pos):
            return False
        yield


def _python(reader: Reader, *, known: bool) -> Machine:
    """Read a list of Python calls at the start of the answer."""
    reader.begin(0)
    held = Held(reader)
    text = PythonText()
    while True:
        start = reader.pos
        reader.pos = text.run(reader.buf, start)
        held.parts.append(reader.buf[start : reader.pos])
        held.size += reader.pos - start
        if text.done:
            break
        if reader.ended or held.size > MAX_HELD:
            raw = held.text()
            if text.bad or not reader.ended:
                reader.content(raw)
            else:
                reader.fault("CALL_TRUNCATED")
            return
        if text.stops is not None:
            reader.rest(text.stops, hold=True)
        yield
    raw = held.text()
    try:
        calls, repaired = python_calls(raw.strip()[1:-1], repair=reader.repair)
        if not calls or (known and any(name not in reader.offered.names for name, _ in calls)):
            reader.content(raw)
            return
        _emit(reader, calls, repaired=repaired)
    except Broken as broken:
        reader.fault(broken.code, broken.why)
        if broken.code == "CALL_NOT_LITERAL":
            reader.content(raw)
