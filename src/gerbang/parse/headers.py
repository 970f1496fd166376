"""Headers of messages between the calls of a format that has them (Muse): `to=NAME<|message|>`."""

import re
from typing import Final

from gerbang.parse.caps import MAX_NAME
from gerbang.parse.plan import Plan
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.thinking import think

_HEADER: Final = re.compile(r"[ \t]*+(?:to=([^\s<]*+))?[ \t]*+<\|message\|>")
_PART: Final = re.compile(r"[ \t]*+(?:t|to|to=[^\s<]*+)?[ \t]*+(?:<(?:\|(?:m[a-z]*+\|?)?)?)?\Z")
_SELF: Final = "self"


def header(reader: Reader, plan: Plan) -> Machine:
    """Take the header at `pos`, if there is one, and what the model says to itself: that is thinking."""
    while True:
        match = _HEADER.match(reader.buf, reader.pos)
        if match:
            break
        size = len(reader.buf) - reader.pos
        if reader.ended or size > MAX_NAME or not _PART.match(reader.buf, reader.pos):
            return
        yield
    reader.pos = match.end()
    close = plan.dialect.header[1] if plan.dialect.header else ""
    if match.group(1) == _SELF:
        reader.begin(0)
        yield from think(reader, plan, close)
    if reader.blank and not reader.thinking:
        reader.new_line()
