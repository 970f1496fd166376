"""A call as a JSON object, read while it arrives: `{"name": …, "arguments": {…}}` and its variants."""

from collections.abc import Callable, Generator
from typing import Any, Final

from gerbang.parse.caps import MAX_KEY
from gerbang.parse.faults import Broken
from gerbang.parse.json_text import STOPS, JsonText
from gerbang.parse.json_value import load, load_object, same
from gerbang.parse.reader import Reader
from gerbang.parse.scan import blank

NAME_KEYS: Final = frozenset({"name", "tool_name", "function_name", "tool", "function", "action"})
"""Keys under which models write the tool's name."""
ARGUMENT_KEYS: Final = frozenset(
    {"arguments", "parameters", "input", "args", "params", "tool_input", "action_input"}
)
"""Keys under which models write the arguments."""
NESTED_KEYS: Final = frozenset({"function", "function_call", "tool_call"})
"""Keys that may hold the whole call (the OpenAI shape)."""
LIST_KEYS: Final = frozenset({"tool_calls", "function_calls", "calls"})
"""Keys that may hold a list of calls."""
_MAX_LEVEL: Final = 4


class Draft:
    """What is known so far of the call object that is being read."""

    __slots__ = ("early", "listed", "name", "read")

    def __init__(self) -> None:
        self.name: str | None = None
        self.early: str | None = None  # arguments that came before the name
        self.read = False
        self.listed = False


def json_value(
    reader: Reader, sink: Callable[[str], None], *, live: bool = False
) -> Generator[None, None, None]:
    """Read one JSON value and hand its text on. `live`: `sink` is the open call. Raises Broken."""
    text = JsonText(repair=reader.repair)
    out = text.out
    while True:
        try:
            reader.pos = text.run(reader.buf, reader.pos)
            if reader.ended:
                text.end()
        except Broken:
            reader.pos = text.at  # where the fault is does not depend on how the text was cut
            raise
        if out:
            sink("".join(out))
            out.clear()
        if text.done:
            reader.repaired = reader.repaired or text.repaired
            return
        if reader.ended:
            raise Broken("CALL_TRUNCATED")
        if live and text.in_text:
            reader.rest(STOPS)
        yield


def whole_value(reader: Reader) -> Generator[None, None, str]:
    """Read one JSON value and return its text. Raises Broken."""
    parts: list[str] = []
    yield from json_value(reader, parts.append)
    return "".join(parts)


def read_object(value: str, *, repair: bool) -> tuple[dict[str, Any], str, bool]:
    """Read a text that should be one JSON object, repairing it if allowed: (object, its JSON, repaired)."""
    try:
        return load_object(value), value.strip(), False
    except Broken as broken:
        if not repair or broken.code != "CALL_NOT_JSON":
            raise
    text = JsonText(repair=True)
    pos = text.run(value, 0)
    if not text.done or value[pos:].strip():
        raise Broken("CALL_NOT_JSON", "the arguments are not one object")
    joined = "".join(text.out)
    return load_object(joined), joined, True


def stream_object(reader: Reader) -> Generator[None, None, None]:
    """Read the arguments of the open call, which must be an object, as they arrive."""
    if reader.buf[reader.pos] != "{":
        raise Broken("CALL_SHAPE", "the arguments are no object")
    yield from json_value(reader, reader.write, live=True)


def call_object(reader: Reader, draft: Draft, level: int = 0) -> Generator[None, None, None]:
    """Read the object at `pos` into `draft`; the arguments stream once the name is known. Raises Broken."""
    reader.pos += 1
    comma = False
    while True:
        char = yield from _next(reader)
        if char == "}":
            if comma:
                _mend(reader, "a comma stands before a closing bracket")
            reader.pos += 1
            return
        yield from _member(reader, draft, level)
        char = yield from _next(reader)
        comma = char == ","
        if comma:
            reader.pos += 1
        elif char != "}":
            raise Broken("CALL_NOT_JSON", "a comma or a closing bracket is missing")


def keyed_object(reader: Reader) -> Generator[None, None, int]:
    """Read `{"name": {arguments}}` at `pos`; every member is a call. Returns how many there were."""
    reader.pos += 1
    comma = False
    count = 0
    while True:
        char = yield from _next(reader)
        if char == "}":
            if comma:
                _mend(reader, "a comma stands before a closing bracket")
            reader.pos += 1
            return count
        name = yield from _key(reader)
        yield from _next(reader)
        reader.open(name)
        yield from stream_object(reader)
        char = yield from _next(reader)
        comma = char == ","
        if comma:
            reader.pos += 1
        elif char != "}":
            raise Broken("CALL_NOT_JSON", "a comma or a closing bracket is missing")
        reader.close()
        count += 1


def finish_call(reader: Reader, draft: Draft) -> None:
    """Close the call of a complete object. Raises Broken when it is none."""
    if draft.listed and draft.name is None:
        return
    if draft.name is None:
        raise Broken("CALL_SHAPE", "the name of the tool is missing")
    if reader.opened is None:
        reader.open(draft.name)
        reader.write("{}" if draft.early is None else draft.early)
    reader.close()


def _mend(reader: Reader, why: str) -> None:
    if not reader.repair:
        raise Broken("CALL_NOT_JSON", why)
    reader.repaired = True


def _next(reader: Reader) -> Generator[None, None, str]:
    if not (yield from blank(reader)):
        raise Broken("CALL_TRUNCATED")
    return reader.buf[reader.pos]


def _key(reader: Reader) -> Generator[None, None, str]:
    """Read a key and its colon."""
    if reader.buf[reader.pos] not in "\"'":
        raise Broken("CALL_NOT_JSON", "a key must be in double quotes")
    key = load((yield from whole_value(reader)))
    char = yield from _next(reader)
    if char != ":":
        raise Broken("CALL_NOT_JSON", "a colon is missing after a key")
    reader.pos += 1
    return str(key)[:MAX_KEY]


def _member(reader: Reader, draft: Draft, level: int) -> Generator[None, None, None]:
    key = yield from _key(reader)
    char = yield from _next(reader)
    if key in ARGUMENT_KEYS:
        yield from _arguments(reader, draft, char)
    elif key in NESTED_KEYS and char == "{" and level < _MAX_LEVEL:
        yield from call_object(reader, draft, level + 1)
    elif key in LIST_KEYS and char == "[" and level == 0:
        draft.listed = True
        yield from _listed(reader)
    elif key in NAME_KEYS and char in "\"'":
        name = load((yield from whole_value(reader)))
        if draft.name is not None and draft.name != name:
            if key == "name":  # {"action": …, "name": …}: the plain key is the name, unless it already was
                raise Broken("CALL_AMBIGUOUS", "the call has two names")
            return
        draft.name = name
    else:
        yield from json_value(reader, _drop)


def _drop(_text: str) -> None:
    """Take no notice of a member that says nothing about the call."""


def _listed(reader: Reader) -> Generator[None, None, None]:
    """Read a list of call objects inside an object."""
    reader.pos += 1
    while True:
        char = yield from _next(reader)
        if char in ",]":
            reader.pos += 1
            if char == "]":
                return
            continue
        if char != "{":
            raise Broken("CALL_SHAPE", "the list holds something that is no call")
        draft = Draft()
        yield from call_object(reader, draft, 1)
        finish_call(reader, draft)


def _arguments(reader: Reader, draft: Draft, char: str) -> Generator[None, None, None]:
    if char == "{" and not draft.read and draft.name is not None:
        draft.read = True
        reader.open(draft.name)
        yield from json_value(reader, reader.write, live=True)
        return
    text = yield from whole_value(reader)
    if char != "{":
        value = load(text)
        if value is None:
            value = ""
        if not isinstance(value, str):
            raise Broken("CALL_SHAPE", "the arguments are no object")
        if value.strip():
            if value.strip()[0] != "{":
                raise Broken("CALL_SHAPE", "the arguments are a plain text, not an object")
            _, text, repaired = read_object(value, repair=reader.repair)
            reader.repaired = reader.repaired or repaired
        else:
            text = "{}"
    if draft.read:
        before = reader.so_far() if draft.early is None else draft.early
        if not same(load(before), load(text)):
            raise Broken("CALL_AMBIGUOUS", "the arguments are given twice")
        return
    draft.read = True
    draft.early = text
