"""Machine of a list of Python calls without marks, at the start of an answer."""

import re
from typing import Any, Final

from gerbang.parse.arguments_pen import ArgumentsPen
from gerbang.parse.block import emit, lapse
from gerbang.parse.caps import MAX_HELD
from gerbang.parse.faults import Broken
from gerbang.parse.json_value import dump
from gerbang.parse.python_calls import python_calls
from gerbang.parse.python_stream import call_arguments, call_name, peek
from gerbang.parse.python_text import PythonText
from gerbang.parse.reader import Machine, Reader

_PYTHON_HEAD: Final = re.compile(r"\[\s*[A-Za-z_][\w.\-]*\s*\(")
_PYTHON_PREFIX: Final = re.compile(r"\[\s*(?:[A-Za-z_][\w.\-]*\s*)?\Z")
_HEAD: Final = 512


def starts(reader: Reader) -> Any:
    """Tell whether `[name(` stands at `pos`."""
    while True:
        if _PYTHON_HEAD.match(reader.buf, reader.pos):
            return True
        size = len(reader.buf) - reader.pos
        prefix = _PYTHON_PREFIX.match(reader.buf, reader.pos)
        if reader.ended and reader.truncated and prefix is not None:
            word = prefix.group().lstrip("[ \t\r\n").rstrip()
            return any(name.startswith(word) for name in reader.offered.names)
        if reader.ended or size > _HEAD or prefix is None:
            return False
        yield


def read(reader: Reader, *, known: bool) -> Machine:
    """Read a list of Python calls at the start of the answer.

    The list counts as a whole, so only its first call can stream; at the end all of it is read once more.
    """
    reader.begin(0)
    reader.record()
    yield from _first_call(reader, known=known)
    raw = yield from _whole_list(reader)
    if raw is None:
        return
    try:
        calls, repaired = python_calls(raw.strip()[1:-1], repair=reader.repair)
        if not calls or (known and any(name not in reader.offered.names for name, _ in calls)):
            lapse(reader)
            reader.content(raw)
            return
        _complete(reader, dump(calls[0][1]))
        emit(reader, calls, repaired=repaired)
    except Broken as broken:
        reader.fault(broken.code, broken.why)
        if broken.code == "CALL_NOT_LITERAL":
            reader.content(raw)


def _complete(reader: Reader, text: str) -> None:
    """Write the end of the arguments that were passed on, which should be `text`."""
    if reader.opened is None:
        return
    rest = text.removeprefix(reader.so_far())
    if rest not in ("}", "{}"):
        lapse(reader)
    else:
        reader.write(rest)


def _first_call(reader: Reader, *, known: bool) -> Machine:
    """Pass on the arguments of the first call, as far as they can be read."""
    reader.pos += 1
    yield from peek(reader)
    name = yield from call_name(reader)
    if name is None or (known and name not in reader.offered.names):
        return
    try:
        reader.open(name)
        yield from call_arguments(reader, ArgumentsPen(reader, name), json_words=False)
    except Broken:
        return  # the whole list will tell what is wrong


def _whole_list(reader: Reader) -> Any:
    """Go on to the end of the list. Returns its text; None when it has no end and was dealt with."""
    text = PythonText()
    seen = reader.recorded_since(0)
    used = text.run(seen, 0)
    if used < len(seen):  # the first call was read further than the list goes
        reader.unread(reader.recorded())
        reader.record()
        reader.pos += used
    size = used
    while True:
        start = reader.pos
        reader.pos = text.run(reader.buf, start)
        size += reader.pos - start
        if text.done:
            return reader.recorded()
        if text.bad or reader.ended or size > MAX_HELD:
            raw = reader.recorded()
            if text.bad or not reader.ended:
                lapse(reader)
                reader.content(raw)
            else:
                reader.fault("CALL_TRUNCATED")
            return None
        if text.stops is not None:
            reader.rest(text.stops, hold=True)
        yield
