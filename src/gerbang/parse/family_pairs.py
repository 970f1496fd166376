"""Machine of the family "name, then keys and values in tags of their own" (GLM)."""

import re
from collections.abc import Generator
from functools import cache
from typing import Any, Final

from gerbang.parse.arguments_pen import ArgumentsPen
from gerbang.parse.block import not_started, recover
from gerbang.parse.caps import MAX_KEY, MAX_NAME
from gerbang.parse.faults import Broken
from gerbang.parse.layout import PairTags
from gerbang.parse.plan import Plan
from gerbang.parse.raw_value import ValueEnds, raw_value
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import blank, until, upcoming

_OPEN: Final = "<tool_call>"
_CLOSE: Final = "</tool_call>"
_KEY: Final = "<arg_key>"
_KEY_END: Final = "</arg_key>"
_VALUE: Final = "<arg_value>"
_VALUE_END: Final = "</arg_value>"
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
    while True:
        found, distance = yield from upcoming(reader, (_OPEN, close))
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
        if not (yield from _one(reader, layout, _OPEN)):
            return


def _one(reader: Reader, layout: PairTags, mark: str) -> Any:
    """Read one call behind its opening tag. False when none can start there."""
    head = yield from _name(reader, layout)
    if head is None:
        not_started(reader, mark)
        return False
    name, taken = head
    reader.pos += taken
    reader.open(name)
    pen = ArgumentsPen(reader, name)
    yield from _pairs(reader, layout, pen)
    return True


def _name(reader: Reader, layout: PairTags) -> Generator[None, None, tuple[str, int] | None]:
    """Look for a name and what must follow it. Returns (name, characters up to what follows), or None."""
    text = yield from _peek_name(reader)
    if text is None:
        return None
    name, distance = text
    ends = (
        _KEY,
        _CLOSE,
        *((layout.sep,) if layout.sep else ()),
        *((layout.wrapper[1],) if layout.wrapper else ()),
    )
    found, distance = yield from upcoming(reader, ends, distance)
    if found == "\0":
        reader.pos = len(reader.buf)
        raise Broken("CALL_TRUNCATED")
    if not found:
        return None
    if layout.sep and found == layout.sep:
        distance += len(found)
    return name, distance


def _peek_name(reader: Reader) -> Generator[None, None, tuple[str, int] | None]:
    """Look ahead at a name without taking it."""
    _, distance = yield from upcoming(reader, ())
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
    outer = layout.wrapper[1] if layout.wrapper else _CLOSE
    while True:
        found, distance = yield from upcoming(reader, (_KEY, _CLOSE, outer, _VALUE_END))
        if found == "\0":
            reader.pos = len(reader.buf)
            raise Broken("CALL_TRUNCATED")
        if not found:
            raise Broken("CALL_SHAPE", "there is text between the arguments")
        if found == outer != _CLOSE:
            pen.close()
            return
        reader.pos += distance + len(found)
        if found == _CLOSE:
            pen.close()
            return
        if found == _KEY:
            yield from _pair(reader, layout, pen)


def _pair(reader: Reader, layout: PairTags, pen: ArgumentsPen) -> Machine:
    key = yield from until(reader, "<", MAX_KEY)
    if key is None or not key.strip():
        cut = reader.ended and key is None and len(reader.buf) - reader.pos <= MAX_KEY
        raise Broken("CALL_TRUNCATED" if cut else "CALL_SHAPE", "the name of an argument is missing")
    reader.pos -= 1
    found, distance = yield from upcoming(reader, (_KEY_END, _VALUE), gap=False)
    if found not in (_KEY_END, _VALUE):
        raise Broken("CALL_TRUNCATED" if found else "CALL_SHAPE", "the name of an argument is not closed")
    if found == _KEY_END:
        reader.pos += len(found)
        found, distance = yield from upcoming(reader, (_VALUE,))
    if found == _VALUE:
        reader.pos += distance + len(_VALUE)
    elif not (yield from blank(reader)):
        raise Broken("CALL_TRUNCATED")
    pen.begin(key.strip())
    mark = yield from raw_value(reader, _ends(layout), pen, trim=False)
    pen.end()
    if mark == _VALUE_END:
        reader.pos += len(mark)


@cache
def _ends(layout: PairTags) -> ValueEnds:
    outer = (layout.wrapper[1],) if layout.wrapper else ()
    opens = (_OPEN, *((layout.wrapper[0],) if layout.wrapper else ()))
    return ValueEnds(
        {
            _VALUE_END: (_KEY, _CLOSE, *outer),
            _CLOSE: (*opens, *outer),
            **dict.fromkeys(outer, opens),
        },
        (_KEY,),
    )
