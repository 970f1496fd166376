"""Machine of the family "JSON between marks": one object, several, or a list of them."""

from gerbang.parse.block import not_started, recover, twice
from gerbang.parse.call_object import Draft, call_object, finish_call, keyed_object
from gerbang.parse.faults import Broken
from gerbang.parse.layout import JsonTags
from gerbang.parse.plan import Plan
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import take_end, upcoming

_STARTS = ("{", "[", "```json", "```")
_JUNK = ("}", "]", "```", ",", ";")


def read(reader: Reader, plan: Plan, layout: JsonTags, mark: str) -> Machine:
    """Read the block behind `mark`, which was taken."""
    reader.pos -= layout.keep
    doubled = not layout.keep and (yield from twice(reader, mark, ("{", "[")))
    start, distance = yield from upcoming(reader, _STARTS)
    if start == "[":
        inner, _ = yield from upcoming(reader, ("{", "[", "]"), distance + 1)
        if not inner or (layout.word and inner == "]"):
            start = ""
    elif start.startswith("```"):
        inner, _ = yield from upcoming(reader, ("{", "["), distance + len(start))
        start = start if inner else ""
    if not start:
        reader.pos += layout.keep
        not_started(reader, mark, quiet=layout.quiet)
        return
    try:
        if start == "\0":
            reader.pos = len(reader.buf)
            raise Broken("CALL_TRUNCATED")
        reader.pos += distance + (len(start) if start[0] == "`" else 0)
        yield from _calls(reader, layout)
        if layout.closes:
            yield from take_end(reader, layout.closes, _JUNK)
        reader.unclosed = reader.unclosed or doubled
    except Broken as broken:
        yield from recover(reader, plan, broken)


def _calls(reader: Reader, layout: JsonTags) -> Machine:
    """Read objects and lists until something else stands there."""
    listed = False
    while True:
        char, distance = yield from upcoming(reader, ("{", "[", "]", ",", ";"))
        if char == "\0":
            reader.pos = len(reader.buf)
            if listed:
                raise Broken("CALL_TRUNCATED")
            return
        if listed and (not char or char in "[;"):
            raise Broken("CALL_SHAPE", "the list holds something that is no call")
        if char == "," and not listed:
            after, _ = yield from upcoming(reader, ("{",), distance + 1)
            char = char if after == "{" else ""
        if not char or (not listed and char == "]"):
            return
        reader.pos += distance
        if char == "{":
            yield from _one(reader, layout)
            continue
        reader.pos += 1
        if char in "[]":
            listed = char == "["
            if not listed and not layout.closes:
                return


def _one(reader: Reader, layout: JsonTags) -> Machine:
    if layout.keyed:
        yield from keyed_object(reader)
        return
    draft = Draft()
    yield from call_object(reader, draft)
    finish_call(reader, draft)
