"""Machine of the family `call:name{key:value}` with string marks of its own (Gemma)."""

import re
from typing import Any, Final

from gerbang.parse.arguments_pen import ArgumentsPen
from gerbang.parse.block import not_started, recover, twice
from gerbang.parse.caps import MAX_NAME
from gerbang.parse.faults import Broken
from gerbang.parse.json_value import dump
from gerbang.parse.layout import Notation
from gerbang.parse.notation import NotationText
from gerbang.parse.plan import Plan
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import blank, half, take_end, upcoming

_NAME: Final = re.compile(r"([\w.\-/:]+?)\s*+\{")
_NAME_PART: Final = re.compile(r"[\w.\-/:]*+\s*+\Z")
_START: Final = "call:"


def read(reader: Reader, plan: Plan, layout: Notation, mark: str) -> Machine:
    """Read the block behind `mark`, which was taken."""
    yield from twice(reader, mark, (_START,))
    ahead, distance = yield from upcoming(reader, (_START,))
    if not ahead and half(reader, (_START,)):
        ahead = "\0"
    if not ahead:
        not_started(reader, mark)
        return
    try:
        if ahead == "\0":
            reader.pos = len(reader.buf)
            raise Broken("CALL_TRUNCATED")
        reader.pos += distance + len(_START)
        yield from _call(reader, layout)
        yield from take_end(reader, (layout.close,), ("}",))
    except Broken as broken:
        if not reader.recording or reader.truncated:
            yield from recover(reader, plan, broken)
            return
        reader.fault(broken.code, broken.why)  # a text that was never closed has swallowed the end mark
        reader.unread(reader.recorded().removeprefix(layout.close))


def _call(reader: Reader, layout: Notation) -> Machine:
    reader.open((yield from _name(reader)))
    pen = ArgumentsPen(reader, reader.opened or "")
    text = NotationText(reader, layout)
    while not (yield from text.take("}")):
        key = yield from text.key()
        yield from blank(reader)
        if (yield from text.marked()):
            yield from text.stream(pen, key)
        else:
            value = yield from text.value(2)
            pen.put(key, dump(value))
        yield from text.comma("}")
        text.settle()
    pen.close()


def _name(reader: Reader) -> Any:
    yield from blank(reader)
    while True:
        match = _NAME.match(reader.buf, reader.pos)
        if match:
            reader.pos = match.end()
            return match.group(1)
        size = len(reader.buf) - reader.pos
        if not _NAME_PART.match(reader.buf, reader.pos) or size > 2 * MAX_NAME:
            raise Broken("CALL_SHAPE", "the name of the tool is missing")
        if reader.ended:
            reader.pos = len(reader.buf)
            raise Broken("CALL_TRUNCATED")
        yield
