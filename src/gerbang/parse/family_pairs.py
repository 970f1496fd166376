"""Machine of the family "name, then keys and values in tags of their own" (GLM)."""

import re
from collections.abc import Generator
from functools import cache
from typing import Any, Final

from gerbang.parse.arguments_pen import ArgumentsPen
from gerbang.parse.block import not_started, recover, twice
from gerbang.parse.call_object import Draft, call_object, finish_call, stream_object
from gerbang.parse.caps import MAX_KEY, MAX_NAME
from gerbang.parse.faults import Broken
from gerbang.parse.kinds import ALL_KINDS
from gerbang.parse.layout import PairTags
from gerbang.parse.plan import Plan
from gerbang.parse.raw_value import ValueEnds, raw_value
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import blank, half, until, upcoming

_NAME: Final = re.compile(r"[\w.\-/:@+]+")


def read(reader: Reader, plan: Plan, layout: PairTags, mark: str) -> Machine:
    """Read the block behind `mark`, which was taken: a call, or a wrapper with calls."""
    wrapper = layout.wrapper
    try:
        if wrapper is not None and mark == wrapper[0]:
            yield from _wrapped(reader, layout, mark)
        else:
            yield from _one(reader, layout, mark)
    except Broken as broken:
        yield from recover(reader, plan, broken)


def _wrapped(reader: Reader, layout: PairTags, mark: str) -> Machine:
    close = layout.wrapper[1] if layout.wrapper else ""
    first = True
    yield from twice(reader, mark, (layout.opening(layout.call),))
    while True:
        found, distance = yield from upcoming(reader, (layout.opening(layout.call), close))
        if not found and half(reader, (layout.opening(layout.call), close)):
            found = "\0"
        if found == "\0":
            reader.pos = len(reader.buf)
            if first:
                raise Broken("CALL_TRUNCATED")
            return
        if not found:
            if first:
                not_started(reader, mark)
            else:
                reader.unclosed = True
            return
        reader.pos += distance + len(found)
        if found == close:
            return
        first = False
        if not (yield from _one(reader, layout, layout.opening(layout.call))):
            return


def _one(reader: Reader, layout: PairTags, mark: str) -> Any:
    """Read one call behind its opening tag. False when none can start there."""
    ahead, distance = yield from upcoming(reader, ("{", mark))
    if ahead == "{":
        reader.pos += distance
        yield from _json(reader, layout)
        return True
    head = yield from _name(reader, layout, distance + len(mark) if ahead == mark else 0)
    if head is None:
        not_started(reader, mark)
        return False
    name, taken = head
    reader.pos += taken
    reader.open(name)
    ahead, distance = yield from upcoming(reader, ("{",) if layout.sep else ())
    if ahead == "{":
        reader.pos += distance
        yield from stream_object(reader)
        reader.close()
        yield from _take_close(reader, layout)
        return True
    pen = ArgumentsPen(reader, name)
    yield from _pairs(reader, layout, pen)
    return True


def _json(reader: Reader, layout: PairTags) -> Machine:
    """Read a call that is written as JSON in the same tag."""
    draft = Draft()
    yield from call_object(reader, draft)
    finish_call(reader, draft)
    yield from _take_close(reader, layout)


def _take_close(reader: Reader, layout: PairTags) -> Machine:
    close = layout.closing(layout.call)
    found, distance = yield from upcoming(reader, (close,))
    if found == close:
        reader.pos += distance + len(close)


def _name(reader: Reader, layout: PairTags, skip: int) -> Generator[None, None, tuple[str, int] | None]:
    """Look for a name, `skip` characters on (a mark that was written twice), and what must follow it. Returns
    (name, characters up to what follows), or None.
    """
    text = yield from _peek_name(reader, skip)
    if text is None:
        return None
    name, distance = text
    ends = (
        layout.opening("arg_key"),
        layout.closing(layout.call),
        *((layout.sep,) if layout.sep else ()),
        *((layout.wrapper[1],) if layout.wrapper else ()),
    )
    found, distance = yield from upcoming(reader, ends, distance)
    rest = reader.buf[reader.pos + distance :]
    if found == "\0" or (not found and reader.ended and any(mark.startswith(rest) for mark in ends)):
        reader.pos = len(reader.buf)
        raise Broken("CALL_TRUNCATED")
    if not found:
        return None
    if layout.sep and found == layout.sep:
        distance += len(found)
    return name, distance


def _peek_name(reader: Reader, skip: int) -> Generator[None, None, tuple[str, int] | None]:
    """Look ahead at a name without taking it."""
    _, distance = yield from upcoming(reader, (), skip)
    while True:
        at = reader.pos + distance
        if at >= len(reader.buf):  # only white space up to the end of the answer
            reader.pos = len(reader.buf)
            raise Broken("CALL_TRUNCATED")
        match = _NAME.match(reader.buf, at)
        if match is None or match.end() - at > MAX_NAME:
            return None
        if match.end() < len(reader.buf) or reader.ended:
            return match.group(), match.end() - reader.pos
        yield


def _pairs(reader: Reader, layout: PairTags, pen: ArgumentsPen) -> Machine:
    key, close = layout.opening("arg_key"), layout.closing(layout.call)
    outer = layout.wrapper[1] if layout.wrapper else close
    while True:
        found, distance = yield from upcoming(reader, (key, close, outer, layout.closing("arg_value")))
        if found == "\0":
            reader.pos = len(reader.buf)
            raise Broken("CALL_TRUNCATED")
        if not found:
            raise Broken("CALL_SHAPE", "there is text between the arguments")
        if found == outer != close:
            pen.close()
            return
        reader.pos += distance + len(found)
        if found == close:
            pen.close()
            return
        if found == key:
            yield from _pair(reader, layout, pen)


def _pair(reader: Reader, layout: PairTags, pen: ArgumentsPen) -> Machine:
    value, key_end = layout.opening("arg_value"), layout.closing("arg_key")
    key = yield from until(reader, "<", MAX_KEY)
    if key is None or not key.strip():
        cut = reader.ended and key is None and len(reader.buf) - reader.pos <= MAX_KEY
        raise Broken("CALL_TRUNCATED" if cut else "CALL_SHAPE", "the name of an argument is missing")
    reader.pos -= 1
    found, distance = yield from upcoming(reader, (key_end, value), gap=False)
    if found not in (key_end, value):
        raise Broken("CALL_TRUNCATED" if found else "CALL_SHAPE", "the name of an argument is not closed")
    kinds: frozenset[str] | None = None
    if found == key_end:
        reader.pos += len(found)
        kinds = yield from _type(reader, layout)
        found, distance = yield from upcoming(reader, (value,))
    if found == value:
        reader.pos += distance + len(value)
    elif not (yield from blank(reader)):
        raise Broken("CALL_TRUNCATED")
    elif (yield from upcoming(reader, _structure(layout), gap=False))[0]:
        raise Broken("CALL_SHAPE", "an argument has no value")
    pen.begin(key.strip(), kinds)
    mark = yield from raw_value(reader, _ends(layout), pen, trim=False)
    pen.end()
    if mark == layout.closing("arg_value"):
        reader.pos += len(mark)


def _type(reader: Reader, layout: PairTags) -> Generator[None, None, frozenset[str] | None]:
    """Read the type that some write between key and value. None when there is none."""
    opening = layout.opening("arg_type")
    found, distance = yield from upcoming(reader, (opening,))
    if found != opening:
        return None
    reader.pos += distance + len(opening)
    kind = yield from until(reader, layout.closing("arg_type"), MAX_KEY)
    if kind is None:
        raise Broken(
            "CALL_TRUNCATED" if reader.ended else "CALL_SHAPE", "the type of an argument is not closed"
        )
    return frozenset({kind.strip()}) & ALL_KINDS or None


@cache
def _structure(layout: PairTags) -> tuple[str, ...]:
    """Return the tags that cannot stand where a value should be."""
    return (
        layout.opening("arg_key"),
        layout.closing(layout.call),
        *((layout.wrapper[1],) if layout.wrapper else ()),
    )


@cache
def _ends(layout: PairTags) -> ValueEnds:
    outer = (layout.wrapper[1],) if layout.wrapper else ()
    opening, close = layout.opening(layout.call), layout.closing(layout.call)
    opens = (opening, *((layout.wrapper[0],) if layout.wrapper else ()))
    return ValueEnds(
        {
            layout.closing("arg_value"): (layout.opening("arg_key"), close, *outer),
            close: (*opens, *outer),
            **dict.fromkeys(outer, opens),
        },
        (layout.opening("arg_key"),),
    )
