"""Machine of Functionary v3.2: `>>>name`, a line break, and arguments or (for `all`) text."""

import re
from typing import Any, Final

from gerbang.parse.call_object import stream_object
from gerbang.parse.caps import MAX_NAME
from gerbang.parse.faults import Broken
from gerbang.parse.marks import Marks
from gerbang.parse.plan import Meaning, Plan
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import skip_past, upcoming

_MARK: Final = ">>>"
_LINE: Final = re.compile(r"([A-Za-z_][\w.\-]*)[ \t]*\r?\n")
_PART: Final = re.compile(r"(?:[A-Za-z_][\w.\-]*[ \t]*\r?)?\Z")
_ALL: Final = "all"


def read(reader: Reader, plan: Plan) -> Machine:
    """Read a whole answer. The prompt may have given the first mark already."""
    yield
    noise = tuple(mark for mark, meaning in plan.meanings.items() if meaning is Meaning.NOISE)
    marks = Marks((_MARK, *noise))
    started, _ = yield from upcoming(reader, (_MARK,), gap=False)
    if started != _MARK:
        yield from _recipient(reader, marks, back=0)
    while True:
        buf, pos = reader.buf, reader.pos
        match = marks.search(buf, pos)
        end = match.start() if match else len(buf) if reader.ended else marks.held(buf, pos)
        reader.content(buf[pos:end])
        reader.pos = end
        if match is None:
            if reader.ended:
                return
            reader.rest(marks.stops)
            yield
            continue
        reader.pos = match.end()
        if match.group(1) == _MARK and not (yield from _recipient(reader, marks, back=len(_MARK))):
            reader.content(_MARK)


def _recipient(reader: Reader, marks: Marks, *, back: int) -> Any:
    """Read a recipient's line and, for a tool, its arguments. False, with nothing taken, when there is
    none.
    """
    reader.begin(back)
    while True:
        match = _LINE.match(reader.buf, reader.pos)
        if match:
            break
        size = len(reader.buf) - reader.pos
        if reader.ended or size > MAX_NAME or not _PART.match(reader.buf, reader.pos):
            return back > 0 and _cut(reader)
        yield
    name, size = match.group(1), match.end() - match.start()
    if name == _ALL:
        reader.pos += size
        return True
    found, distance = yield from upcoming(reader, ("{",), size)
    if not found or (found == "\0" and not reader.truncated and name not in reader.offered.names):
        return False
    reader.pos += distance
    try:
        if found == "\0":
            raise Broken("CALL_TRUNCATED")
        reader.open(name)
        yield from stream_object(reader)
        reader.close()
    except Broken as broken:
        yield from skip_past(reader, marks, lambda _mark: True)
        reader.fault(broken.code, broken.why)
    return True


def _cut(reader: Reader) -> bool:
    """Take the beginning of a recipient in which the answer was cut. False when it is none."""
    word = reader.buf[reader.pos :].strip()
    names = (_ALL, *reader.offered.names)
    if not (reader.ended and reader.truncated and any(name.startswith(word) for name in names)):
        return False
    reader.pos = len(reader.buf)
    reader.fault("CALL_TRUNCATED")
    return True
