"""Raw text between tags, up to the end tag that is one.

An end tag inside a value is data unless the next structural tag, or the end of the output, follows it. An
opening tag inside a value counts only at the start of a line. Where the token limit has cut the output, its
end tells nothing: there an outer end tag is data too, so that half a value is never taken for a whole one.
"""

from collections.abc import Generator

from gerbang.parse.arguments_pen import ArgumentsPen
from gerbang.parse.faults import Broken
from gerbang.parse.json_text import STOPS
from gerbang.parse.marks import Marks
from gerbang.parse.reader import Reader
from gerbang.parse.scan import upcoming


class ValueEnds:
    """The tags that may end a value, and for each the tags that must follow it (none: it counts by
    itself). The first is the value's own.
    """

    __slots__ = ("follow", "marks", "own", "stops")

    def __init__(self, follow: dict[str, tuple[str, ...]], line_starts: tuple[str, ...]) -> None:
        self.own = next(iter(follow))
        self.follow: dict[str, tuple[str, ...]] = {}
        for mark, after in follow.items():
            self.follow[mark] = after
            self.follow["\n" + mark] = after
            self.follow["\r\n" + mark] = after
        for mark in line_starts:
            self.follow["\n" + mark] = ()
            self.follow["\r\n" + mark] = ()
        self.marks = Marks(self.follow)
        self.stops = self.marks.stops | STOPS


def raw_value(
    reader: Reader, ends: ValueEnds, pen: ArgumentsPen, *, trim: bool
) -> Generator[None, None, str]:
    """Hand the value at `pos` to the pen and return the tag that ends it, which stays. Raises Broken.

    `trim`: one line break at each side is markup.
    """
    start = trim
    windows = False  # line breaks are CR LF
    while True:
        buf, pos = reader.buf, reader.pos
        match = ends.marks.search(buf, pos)
        end = match.start() if match else len(buf) if reader.ended else ends.marks.held(buf, pos)
        if end > pos:
            skip = _line_break(buf, pos) if start else 0
            windows = windows or skip == 2
            start = False
            if end > pos + skip:
                pen.add(buf[pos + skip : end])
            reader.pos = end
        if match is None:
            if reader.ended:
                raise Broken("CALL_TRUNCATED")
            if pen.streams and not start:
                reader.rest(ends.stops)
            yield
            continue
        found = match.group(1)
        mark = found.lstrip("\r\n")
        if not (yield from _counts(reader, ends.follow[found], len(found), own=mark == ends.own)):
            skip = _line_break(found, 0) if start else 0
            windows = windows or skip == 2
            start = False
            pen.add(found[skip:])
            reader.pos += len(found)
            continue
        before = found[: len(found) - len(mark)]
        if before:
            kept = before if not trim and ends.follow[found] != () else ""
            if trim and len(before) == 2 and not windows and not start:
                kept = "\r"
            if kept:
                pen.add(kept)
            reader.pos += len(before)
        return mark


def _line_break(text: str, pos: int) -> int:
    """Return the length of the line break at `pos`, 0 when there is none."""
    if text.startswith("\n", pos):
        return 1
    return 2 if text.startswith("\r\n", pos) else 0


def _counts(reader: Reader, after: tuple[str, ...], size: int, *, own: bool) -> Generator[None, None, bool]:
    """Tell whether the tag at `pos` ends the value."""
    if not after:
        return True
    mark, _ = yield from upcoming(reader, after, size)
    return mark != "" and (own or mark != "\0" or not reader.truncated)
