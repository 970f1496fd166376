"""Machine of the thinking block: what is in it is not for the user, and calls in it are drafts until it is
left open.
"""

import re
from collections.abc import Generator
from typing import Final

from gerbang.parse import bare
from gerbang.parse.caps import MAX_HELD
from gerbang.parse.marks import Marks
from gerbang.parse.plan import FENCE, TILDES, Plan
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import indent

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
    stops = marks.stops | ({"\n"} if plan.line else frozenset())
    example = ""  # the fence that is open
    while True:
        buf, pos = reader.buf, reader.pos
        line = plan.line.match(buf, pos - 1) if plan.line and buf[pos - 1] == "\n" else None
        match = line or marks.search(buf, pos)
        end = match.start() if match else len(buf) if reader.ended else marks.held(buf, pos)
        end = end if match or reader.ended or not plan.line else indent(buf, pos, end)
        if match and (line or match.group(1)[0] == "\n"):  # JSON on a line of its own
            mark, end = "", match.end() - 1
        elif match:
            mark = match.group(1)
        reader.content(buf[pos:end])
        reader.pos = end
        if match is None:
            if reader.ended:
                reader.thinking = False
                return
            if not plan.line or buf[end - 1] != "\n":
                reader.rest(stops)
            yield
            continue
        if mark == close:
            reader.pos = match.end()
            reader.thinking = False
            return
        if mark and mark in plan.dialect.answers and not example:
            reader.thinking = False
            return
        if not example and buf[end - 1] != "`" and (yield from _drafts(reader, plan, mark)):
            yield from _draft(reader, plan, close)
            return
        if mark in (FENCE, TILDES) and example in ("", mark) and (mark == FENCE or buf[end - 1] == "\n"):
            example = "" if example else mark
        size = len(mark) or 1
        reader.content(reader.buf[reader.pos : reader.pos + size])
        reader.pos += size


def _drafts(reader: Reader, plan: Plan, mark: str) -> Generator[None, None, bool]:
    """Tell whether a call may begin at the mark at `pos` ("": JSON on a line of its own)."""
    if mark == FENCE:
        fence = plan.dialect.bare is not None and plan.dialect.bare.fence
        return fence and bool((yield from bare.fence_may_be_call(reader)))
    if mark == TILDES:
        return False
    return mark != "" or bool((yield from bare.may_be_call(reader)))


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
    before = "\n" if reader.buf[reader.pos - 1] == "\n" else "x"
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
    reader.buf, reader.pos = before + text, 1


def _show(reader: Reader) -> None:
    reader.content("".join(reader.held))
    reader.held.clear()
