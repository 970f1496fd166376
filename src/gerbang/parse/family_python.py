"""Machine of the family "Python calls between marks"."""

import re
from typing import Any, Final

from gerbang.parse.arguments_pen import ArgumentsPen
from gerbang.parse.block import not_started, recover, twice
from gerbang.parse.caps import MAX_NAME
from gerbang.parse.faults import Broken
from gerbang.parse.layout import Python
from gerbang.parse.plan import Plan
from gerbang.parse.python_stream import call_arguments, call_name, peek
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import upcoming

_HEAD: Final = re.compile(r"(?:\[\s*+)?[A-Za-z_][\w.\-]*(?:[/:][\w.\-]+)*+\s*+\(|\[\s*+\]")
_HEAD_PART: Final = re.compile(r"(?:\[\s*+)?(?:[A-Za-z_][\w.\-]*(?:[/:][\w.\-]*)*+\s*+)?\Z")
_LONGEST: Final = 3 * MAX_NAME


def read(reader: Reader, plan: Plan, layout: Python, mark: str) -> Machine:
    """Read the calls behind `mark`, which was taken."""
    yield from twice(reader, mark, ("[",))
    ahead, distance = yield from upcoming(reader, layout.closes)
    if ahead == "\0":
        reader.pos = len(reader.buf)
        reader.fault("CALL_TRUNCATED")
        return
    if ahead:
        reader.pos += distance + len(ahead)
        return
    if not (yield from _started(reader, distance)):
        not_started(reader, mark)
        return
    reader.pos += distance
    try:
        yield from _calls(reader, layout)
    except Broken as broken:
        yield from recover(reader, plan, broken)


def _started(reader: Reader, distance: int) -> Any:
    """Look ahead whether calls begin. An answer that ends here is a call that was cut."""
    while True:
        at = reader.pos + distance
        if _HEAD.match(reader.buf, at):
            return True
        if len(reader.buf) - at > _LONGEST or not _HEAD_PART.match(reader.buf, at):
            return False
        if reader.ended:
            return True
        yield


def _calls(reader: Reader, layout: Python) -> Machine:
    """Read calls up to the end mark. What is complete counts, whatever follows."""
    char = yield from peek(reader)
    listed = char == "["
    reader.pos += listed
    count = 0
    while True:
        char = yield from peek(reader)
        if not char:
            if listed or not count:
                raise Broken("CALL_TRUNCATED")
            return
        mark, _ = yield from upcoming(reader, layout.closes, gap=False)
        if mark in layout.closes:
            if listed:
                raise Broken("CALL_NOT_LITERAL", "the closing bracket of the list is missing")
            reader.pos += len(mark)
            return
        if char in ",;" and count:
            reader.pos += 1
            continue
        if char == "]" and listed:
            reader.pos += 1
            yield from _end(reader, layout)
            return
        name = yield from call_name(reader)
        if name is None:
            cut = reader.ended and _HEAD_PART.match(reader.buf, reader.pos)
            raise Broken("CALL_TRUNCATED" if cut else "CALL_NOT_LITERAL", "no call like name(key=value)")
        reader.open(name)
        pen = ArgumentsPen(reader, name)
        yield from call_arguments(reader, pen, json_words=layout.lines)
        pen.close()
        count += 1


def _end(reader: Reader, layout: Python) -> Machine:
    """Take the end mark behind a list, if it is there."""
    mark, distance = yield from upcoming(reader, layout.closes)
    if mark in layout.closes:
        reader.pos += distance + len(mark)
    elif mark == "\0":
        reader.pos = len(reader.buf)
    else:
        reader.unclosed = True
