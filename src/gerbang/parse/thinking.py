"""Machine of the thinking block: what is in it is not for the user, and calls in it are drafts until it is
left open.
"""

import re
from typing import Final

from gerbang.parse.caps import MAX_HELD
from gerbang.parse.marks import Marks
from gerbang.parse.plan import FENCE, Plan
from gerbang.parse.reader import Machine, Reader

_MAX_LEADING: Final = 64
_LEADING: Final = re.compile(r"\s*")


def think(reader: Reader, plan: Plan, close: str, *, prefilled: bool = False) -> Machine:
    """Read up to `close`, which is taken. From a call mark on all text is held: only the end tells what it
    was.

    An answer that ends, uncut, with the thinking still open: the calls in it count. What was held is then
    read again as ordinary text, and stays thinking up to its first call.
    """
    reader.thinking = True
    marks = plan.thinking[close]
    if prefilled:
        yield from _skip_opening(reader, plan)
    example = False
    while True:
        buf, pos = reader.buf, reader.pos
        match = marks.search(buf, pos)
        end = match.start() if match else len(buf) if reader.ended else marks.held(buf, pos)
        reader.content(buf[pos:end])
        reader.pos = end
        if match is None:
            if reader.ended:
                reader.thinking = False
                return
            reader.rest(marks.stops)
            yield
            continue
        mark = match.group(1)
        if mark == close:
            reader.pos = match.end()
            reader.thinking = False
            return
        if mark in plan.dialect.answers and not example:
            reader.thinking = False
            return
        if mark == FENCE or example or buf[end - 1] == "`":
            example = example != (mark == FENCE)
            reader.content(mark)
            reader.pos = match.end()
            continue
        yield from _draft(reader, plan, close)
        return


def _skip_opening(reader: Reader, plan: Plan) -> Machine:
    """Skip an opening mark at the very start: some models repeat the one of the prompt."""
    opens = Marks(plan.closes)
    while True:
        match = _LEADING.match(reader.buf, reader.pos)
        at = match.end() if match else reader.pos
        found = opens.search(reader.buf, at)
        if at - reader.pos > _MAX_LEADING:
            return
        if found and found.start() == at:
            reader.pos = found.end()
            return
        if reader.ended or (at < len(reader.buf) and opens.held(reader.buf, at) != at):
            return
        yield


def _draft(reader: Reader, plan: Plan, close: str) -> Machine:
    """Hold all text from a call mark on until the thinking is closed or the answer ends."""
    only = Marks((close,))
    parts = reader.held
    parts.clear()
    size = 0
    while True:
        buf, pos = reader.buf, reader.pos
        match = only.search(buf, pos)
        end = match.start() if match else len(buf) if reader.ended else only.held(buf, pos)
        if end > pos:
            parts.append(buf[pos:end])
            size += end - pos
            reader.pos = end
        if match or size > MAX_HELD:
            _show(reader)
            if match:
                reader.pos = match.end()
                reader.thinking = False
                return
            size = 0
        elif reader.ended:
            break
        else:
            reader.rest(only.stops, hold=True)
            yield
    text = "".join(parts)
    parts.clear()
    if reader.truncated:
        reader.content(text)
        reader.thinking = False
        reader.fault("CALL_TRUNCATED")
        return
    reader.buf, reader.pos = "x" + text, 1


def _show(reader: Reader) -> None:
    reader.content("".join(reader.held))
    reader.held.clear()
