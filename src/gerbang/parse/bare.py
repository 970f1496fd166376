"""Machine of the untagged formats: JSON on its own line, in a fence, a router's decision.

Untagged text is recorded until it is complete, because only then it is known whether it was a call: what is
none is shown unchanged. The arguments of what looks like a call stream before that (see `preview`).
"""

import re
from collections.abc import Callable
from typing import Any, Final

from gerbang.parse import bare_python
from gerbang.parse.block import emit, lapse
from gerbang.parse.caps import MAX_HELD
from gerbang.parse.faults import Broken
from gerbang.parse.json_text import STOPS, JsonText
from gerbang.parse.json_value import dump, load
from gerbang.parse.layout import Bare
from gerbang.parse.plan import Plan
from gerbang.parse.preview import Preview
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import half, upcoming
from gerbang.parse.shape import calls_of, router_call

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
_BLANKS: Final = re.compile(r"\s*")
_HEAD: Final = 512
_FENCES: Final = ("```json\n", "```JSON\n", "```\n", "```json\r\n", "```\r\n")
_LINE_ENDS: Final = ("\n", "\r", ";", "{", "<|", "</", "```")


def read(reader: Reader, plan: Plan) -> Machine:
    """Read what stands at a line start with `{` or `[`: a call, or text."""
    rules = plan.dialect.bare
    first = reader.blank
    if rules is not None and rules.python and reader.buf[reader.pos] == "[":
        python = yield from bare_python.starts(reader)
        if python:
            if first:
                yield from bare_python.read(reader, known=rules.known)
            else:
                _as_text(reader)
            return
    if rules is None or not rules.untagged:
        _as_text(reader)
        return
    while True:
        reader.begin(0)
        reader.record()
        opens = None if rules.close else _opens(reader, rules, first=first)
        value = yield from _value(reader, opens)
        if value is None:
            return
        ends = _closed(reader, rules.close) if rules.close else _own_line(reader, plan.dialect.noise)
        raw = reader.recorded()
        if not (yield from ends):
            lapse(reader)
            reader.content(raw)
            return
        if not _report(reader, plan, value, first=first, raw=raw):
            return
        mark, distance = yield from upcoming(reader, (";", ",", "{"))
        if mark in (";", ","):
            mark, distance = yield from upcoming(reader, ("{",), distance + 1)
            reader.pos += distance if mark == "\0" else 0  # a separator that nothing follows
        if mark != "{":
            return
        reader.pos += distance


def _opens(reader: Reader, rules: Bare, *, first: bool) -> Callable[[str], bool]:
    """Return the rule that tells whether a name makes a call: then its arguments may be passed on early."""
    names = reader.offered.names
    if rules.router:
        return lambda name: name in names and name != "none"
    if rules.known or not (first or rules.fence):
        return names.__contains__
    return lambda _name: True


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


def _own_line(reader: Reader, tokens: tuple[str, ...]) -> Any:
    """Tell whether nothing but white space, a separator or a special token follows on this line. Half a token
    at the end of the answer is taken.
    """
    distance = 0
    while True:
        match = _SPACES.match(reader.buf, reader.pos + distance)
        at = match.end() if match else reader.pos
        distance = at - reader.pos
        if at < len(reader.buf) or reader.ended:
            found, _ = yield from upcoming(reader, _LINE_ENDS, distance, gap=False)
            return found != "" or half(reader, tokens, distance)
        yield


def may_be_call(reader: Reader, skip: int = 0, *, sure: bool = False) -> Any:
    """Look ahead whether the first key of the JSON at `pos`, or `skip` characters on, is one that calls have.

    `sure`: in an answer that was cut, half a key will do.
    """
    while True:
        head = reader.buf[reader.pos + skip : reader.pos + skip + _HEAD]
        key = _FIRST_KEY.match(head)
        if key:
            return key.group(1) in _CALL_KEYS
        if _NO_KEY.match(head) or len(head) >= _HEAD:
            return False
        if reader.ended:
            cut = _CUT_KEY.fullmatch(head) if sure and reader.truncated else None
            return cut and any(word.startswith(cut.group(1) or "") for word in _CALL_KEYS)
        yield


def _value(reader: Reader, opens: Callable[[str], bool] | None) -> Any:
    """Read one JSON value, which is being recorded. Returns (text, repaired), or None when it was given back
    as text.

    `opens` tells which names make a call, so that its arguments stream; without it, what looks like a call is
    text until a mark tells otherwise.
    """
    sure = opens is not None
    if not (yield from may_be_call(reader, sure=sure)):
        reader.pos += 1
        lapse(reader)
        reader.content(reader.recorded())
        return None
    text = JsonText(repair=reader.repair)
    preview = None
    if opens is not None:
        preview = Preview(reader, text, opens, listed=reader.buf[reader.pos] == "[")
    begin = reader.mark()
    size = 0
    while True:
        start = reader.pos
        try:
            reader.pos = text.run(reader.buf, start)
            if preview is not None:
                preview.seen()
        except Broken as broken:
            reader.pos = max(start, text.at) if broken.code != "CALL_TOO_LARGE" else reader.pos
            _give_back(reader, broken if sure else None)
            return None
        text.out.clear()  # what went by while the machine slept is not in it
        size += reader.pos - start
        if text.done:
            return _settled(reader.recorded_since(begin), repaired=text.repaired)
        if reader.pos < len(reader.buf):
            continue
        if reader.ended or size > MAX_HELD:
            end = Broken("CALL_TRUNCATED" if reader.ended else "CALL_TOO_LARGE")
            _give_back(reader, end if sure else None)
            return None
        if text.in_text and (preview is None or preview.rests):
            reader.rest(STOPS, hold=preview is None or not preview.live)
        yield


def _settled(raw: str, *, repaired: bool) -> tuple[str, bool]:
    """Return the JSON text of a complete value that was recorded."""
    if not repaired:
        return raw, False
    text = JsonText(repair=True)
    text.run(raw, 0)
    return "".join(text.out), True


def _give_back(reader: Reader, broken: Broken | None) -> None:
    """Show what was recorded; when it was a call that the end of the answer cut, only report it."""
    text = reader.recorded()
    if broken is not None:
        reader.fault(broken.code, broken.why)
        if broken.code == "CALL_TRUNCATED":
            return
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
            lapse(reader)
            reader.content(raw)
            return False
        emit(reader, calls, repaired=repaired)
    except Broken as broken:
        reader.fault(broken.code, broken.why)
    return True


def _router(reader: Reader, value: Any, raw: str, *, repaired: bool) -> bool:
    call = router_call(value, reader.offered.schema)
    if call is not None and call[0] == "none":
        lapse(reader)
        answer = value["input"]
        reader.content(answer if isinstance(answer, str) else "" if answer is None else dump(answer))
        return True
    if call is None or call[0] not in reader.offered.names:
        calls = calls_of(value, repair=reader.repair) if call is None else None
        if not calls or any(name not in reader.offered.names for name, _ in calls):
            lapse(reader)
            reader.content(raw)
            return False
        emit(reader, calls, repaired=repaired)
        return True
    emit(reader, [call], repaired=repaired)
    return True


def fence_may_be_call(reader: Reader) -> Any:
    """Look ahead whether the fence at `pos` holds what may be a call."""
    opening, size = yield from upcoming(reader, _FENCES, gap=False)
    if opening not in _FENCES:
        return False
    start, size = yield from upcoming(reader, ("{", "["), size + len(opening))
    return start in ("{", "[") and (yield from may_be_call(reader, size))


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
    word = info.strip().lower()
    if end >= 0 and word in ("", "json"):
        opening += reader.buf[reader.pos : end + 1]
        reader.pos = end + 1
        reader.fence = -1
        ahead, distance = yield from upcoming(reader, ("{", "["))
    else:
        ahead, distance = "\0" if reader.ended and end < 0 and "json".startswith(word) else "", 0
    if ahead == "\0" and word and reader.truncated:
        reader.pos = len(reader.buf)
        reader.fence = 0
        reader.fault("CALL_TRUNCATED")
        return True
    if ahead not in ("{", "["):
        reader.content(opening)
        return False
    opening += reader.buf[reader.pos : reader.pos + distance]
    reader.pos += distance
    reader.unread(opening)
    reader.record()
    reader.pos += len(opening)
    return (yield from _fenced_calls(reader, plan, first=first))


def _fenced_calls(reader: Reader, plan: Plan, *, first: bool) -> Any:
    reader.fence = -1
    values: list[tuple[str, bool]] = []
    rules = plan.dialect.bare
    opens = _opens(reader, rules, first=first) if rules is not None else None
    while True:
        value = yield from _value(reader, opens if not values else _no_name)
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
        reader.pos += distance
    if not mark and half(reader, ("```",)):
        mark, distance = "\0", 0
    raw = reader.recorded()
    if mark not in ("```", "\0"):
        lapse(reader)
        reader.content(raw)
        return False
    joined, repaired = values[0]
    if len(values) > 1:
        joined = "[" + ",".join(text for text, _ in values) + "]"
        repaired = any(mended for _, mended in values)
    if not _report(reader, plan, (joined, repaired), first=first, raw=raw):
        return False
    reader.fence = 0
    reader.pos += distance
    while mark == "```" and reader.buf.startswith("`", reader.pos):
        reader.pos += 1
        if reader.pos == len(reader.buf) and not reader.ended:
            yield
    return True


def _no_name(_name: str) -> bool:
    """The calls behind the first one of a fence wait for its end."""
    return False
