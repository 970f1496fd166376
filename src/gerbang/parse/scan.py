"""Looking for marks in text that arrives in pieces, without looking at anything twice."""

import re
from collections.abc import Callable, Generator
from typing import Final

from gerbang.parse.caps import MAX_BLANK, MAX_INDENT, MAX_KEY
from gerbang.parse.marks import Marks
from gerbang.parse.reader import Machine, Reader

BLANK: Final = re.compile(r"\s*+")
_LONGEST: Final = 300


def blank(reader: Reader) -> Generator[None, None, bool]:
    """Skip white space. True when a character follows, False at the end of the answer."""
    while True:
        match = BLANK.match(reader.buf, reader.pos)
        reader.pos = match.end() if match else reader.pos
        if reader.pos < len(reader.buf):
            return True
        if reader.ended:
            return False
        yield


def take_end(reader: Reader, closes: tuple[str, ...], stray: tuple[str, ...]) -> Machine:
    """Take an end mark, and stray brackets before it. Without one, what was read has ended the block."""
    while True:
        mark, distance = yield from upcoming(reader, (*closes, *stray))
        if mark == "\0":
            reader.pos = len(reader.buf)
            return
        if not mark:
            reader.unclosed = True
            return
        reader.pos += distance + len(mark)
        if mark in closes:
            return


def upcoming(
    reader: Reader, options: tuple[str, ...], skip: int = 0, *, gap: bool = True
) -> Generator[None, None, tuple[str, int]]:
    """Look ahead without taking: which option stands `skip` characters (and white space) on.

    Returns (option, distance to it); option is "" when none can stand there, and "\\0" at the end of the
    answer.
    """
    while True:
        buf, start = reader.buf, reader.pos
        at = start + skip
        if gap:
            match = BLANK.match(buf, at)
            at = match.end() if match else at
        if at - start - skip > MAX_BLANK or at - start > MAX_BLANK + MAX_KEY:
            return "", at - start
        skip = at - start
        rest = len(buf) - at
        if not reader.ended:
            tail = buf[at:] if rest < _LONGEST else ""
            if not rest or (tail and [1 for one in options if len(one) > rest and one.startswith(tail)]):
                yield
                continue
        elif not rest:
            return "\0", skip
        if not buf.startswith(options, at):
            return "", skip
        return next(option for option in options if buf.startswith(option, at)), skip


def half(reader: Reader, options: tuple[str, ...], skip: int = 0) -> bool:
    """Tell whether the answer ends in half a mark `skip` characters on; all up to its end is taken then."""
    rest = reader.buf[reader.pos + skip :].strip() if reader.ended else ""
    if not rest or not any(option.startswith(rest) for option in options):
        return False
    reader.pos = len(reader.buf)
    return True


def until(reader: Reader, end: str, limit: int, *, forbidden: str = "") -> Generator[None, None, str | None]:
    """Take text up to `end`, which is taken too. None, with nothing taken, when it is not there within
    `limit`.
    """
    seen = 0
    while True:
        buf, start = reader.buf, reader.pos
        at = buf.find(end, max(start, start + seen - len(end) + 1))
        stop = at if at >= 0 else len(buf)
        text = buf[start:stop]
        open_end = len(end) - 1 if at < 0 else 0  # so much may be the beginning of `end`
        if len(text) - open_end > limit or (forbidden and any(char in forbidden for char in text)):
            return None
        if at >= 0:
            reader.pos = at + len(end)
            return text
        if reader.ended:
            return None
        seen = len(text)
        yield


def skip_past(reader: Reader, closes: Marks, opens: Callable[[str], bool]) -> Generator[None, None, str]:
    """Drop text up to the next mark. A mark that `opens` stays, any other is taken. Returns it, "" at the
    end.
    """
    while True:
        match = closes.search(reader.buf, reader.pos)
        if match:
            mark = match.group(1)
            reader.pos = match.start(1) if opens(mark) else match.end()
            return str(mark)
        reader.pos = len(reader.buf) if reader.ended else closes.held(reader.buf, reader.pos)
        if reader.ended:
            return ""
        yield


def indent(buf: str, pos: int, end: int) -> int:
    """Return where the white space that begins the last line starts, if there is nothing else on that
    line.
    """
    if end <= pos or buf[end - 1] not in " \t":
        return end
    start = buf.rfind("\n", max(pos - 1, end - MAX_INDENT - 1), end) + 1
    return start if start >= pos and start and not buf[start:end].strip(" \t") else end
