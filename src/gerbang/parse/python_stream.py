"""Reads a Python call while it arrives: a text is passed on at once, any other value when it is complete."""

import re
from collections.abc import Generator
from typing import Final

from gerbang.parse.arguments_pen import STRING, ArgumentsPen
from gerbang.parse.caps import MAX_KEY, MAX_NAME
from gerbang.parse.faults import Broken
from gerbang.parse.json_text import STOPS
from gerbang.parse.json_value import dump
from gerbang.parse.python_calls import unescape, value_of
from gerbang.parse.python_text import PythonText
from gerbang.parse.reader import Machine, Reader

_BLANK: Final = re.compile(r"\s*+")
_NAME: Final = re.compile(r"([A-Za-z_][\w.\-]*(?:[/:][\w.\-]+)*+)\s*+\(")
_NAME_PART: Final = re.compile(r"[A-Za-z_][\w.\-]*(?:[/:][\w.\-]*)*+\s*+\Z")
_KEY: Final = re.compile(r"(?:([^\W\d][\w\-]*)|\"([^\"\\\n]+)\"|'([^'\\\n]+)')\s*+[=:](?!=)")
_KEY_PART: Final = re.compile(
    r"(?:[^\W\d][\w\-]*\s*+[=:]?|\"[^\"\\\n]*+(?:\"\s*+[=:]?)?|'[^'\\\n]*+(?:'\s*+[=:]?)?)\Z"
)
_OPEN: Final = re.compile(r"([rRuU]?)(\"\"\"|'''|\"|')")
_RUNS: Final = {quote: re.compile(rf"[^{quote}\\]*+") for quote in "'\""}
_SIZES: Final = {"x": 4, "u": 6, "U": 10, **dict.fromkeys("01234567", 4)}
_HIGH: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")
_PAIR: Final = 12
_STOPS: Final = STOPS | {"'"}


def peek(reader: Reader) -> Generator[None, None, str]:
    """Skip white space and comments. Returns the character that follows, or "" at the end of the answer."""
    comment = False
    while True:
        buf, pos = reader.buf, reader.pos
        while pos < len(buf):
            if comment:
                end = buf.find("\n", pos)
                comment, pos = end < 0, len(buf) if end < 0 else end
                continue
            pos = _BLANK.match(buf, pos).end()  # type: ignore[union-attr]  # it matches always
            if buf[pos : pos + 1] != "#":
                break
            comment = True
        reader.pos = pos
        if pos < len(buf):
            return buf[pos]
        if reader.ended:
            return ""
        yield


def call_name(reader: Reader) -> Generator[None, None, str | None]:
    """Take a name with its opening bracket. None, with nothing taken, when there is none."""
    while True:
        match = _NAME.match(reader.buf, reader.pos)
        if match:
            if len(match.group(1)) > MAX_NAME:
                return None
            reader.pos = match.end()
            return match.group(1)
        size = len(reader.buf) - reader.pos
        if reader.ended or size > 2 * MAX_NAME or not _NAME_PART.match(reader.buf, reader.pos):
            return None
        yield


def call_arguments(reader: Reader, pen: ArgumentsPen, *, json_words: bool) -> Machine:
    """Read the arguments from behind the opening bracket, with the closing one. Raises Broken."""
    while True:
        char = yield from _next(reader)
        if char == ")":
            reader.pos += 1
            return
        key = yield from _key(reader)
        yield from _next(reader)
        yield from _argument(reader, pen, key, json_words=json_words)
        char = yield from _next(reader)
        if char == ",":
            reader.pos += 1
        elif char != ")":
            raise Broken("CALL_NOT_LITERAL", "a comma or a closing bracket is missing")


def _next(reader: Reader) -> Generator[None, None, str]:
    char = yield from peek(reader)
    if not char:
        raise Broken("CALL_TRUNCATED")
    return char


def _ahead(reader: Reader, size: int) -> Generator[None, None, None]:
    """Wait until `size` characters are there, or the answer has ended."""
    while len(reader.buf) - reader.pos < size and not reader.ended:
        yield


def _key(reader: Reader) -> Generator[None, None, str]:
    while True:
        buf, pos = reader.buf, reader.pos
        match = _KEY.match(buf, pos)
        if match and (match.end() < len(buf) or reader.ended):
            reader.pos = match.end()
            return match.group(1) or match.group(2) or match.group(3)
        part = len(buf) - pos <= 2 * MAX_KEY and _KEY_PART.match(buf, pos)
        if not part:
            raise Broken("CALL_NOT_LITERAL", "every argument needs its name, as in key=value")
        if reader.ended:
            reader.pos = len(buf)
            raise Broken("CALL_TRUNCATED")
        yield


def _argument(reader: Reader, pen: ArgumentsPen, key: str, *, json_words: bool) -> Machine:
    match = yield from _opening(reader)
    if match is None:
        yield from _other(reader, pen, key, json_words=json_words)
        return
    pen.begin(key, STRING)
    while match is not None:
        reader.pos = match.end()
        yield from _text(reader, pen, match.group(2), raw=match.group(1) in ("r", "R"))
        yield from _next(reader)  # texts side by side are one
        match = yield from _opening(reader)
    pen.end()


def _opening(reader: Reader) -> Generator[None, None, re.Match[str] | None]:
    """Look ahead for the opening quotes of a text."""
    if reader.buf[reader.pos] not in "'\"rRuU":
        return None
    yield from _ahead(reader, 4)
    return _OPEN.match(reader.buf, reader.pos)


def _other(reader: Reader, pen: ArgumentsPen, key: str, *, json_words: bool) -> Machine:
    """Read a value that is no text."""
    text = PythonText(value=True)
    parts: list[str] = []
    while True:
        start = reader.pos
        reader.pos = text.run(reader.buf, start)
        parts.append(reader.buf[start : reader.pos])
        reader.grow(reader.pos - start)
        if text.done:
            break
        if text.bad:
            raise Broken("CALL_NOT_LITERAL", "a value is no literal")
        if reader.ended:
            raise Broken("CALL_TRUNCATED")
        yield
    value, repaired = value_of("".join(parts), repair=reader.repair, json_words=json_words)
    reader.repaired = reader.repaired or repaired
    pen.put(key, dump(value))


def _text(reader: Reader, pen: ArgumentsPen, quote: str, *, raw: bool) -> Machine:
    """Read a text up to its closing quotes, which are taken."""
    run = _RUNS[quote[0]]
    while True:
        buf, pos = reader.buf, reader.pos
        end = run.match(buf, pos).end()  # type: ignore[union-attr]  # it matches always
        if end > pos:
            if len(quote) == 1:
                _one_line(reader, buf, end)
            pen.add(buf[pos:end])
            reader.pos = end
        if end == len(buf):
            if reader.ended:
                raise Broken("CALL_TRUNCATED")
            if pen.streams:
                reader.rest(_STOPS)
            yield
        elif buf[end] == "\\":
            yield from _escape(reader, pen, raw=raw)
        else:
            yield from _ahead(reader, len(quote))
            if reader.buf.startswith(quote, reader.pos):
                reader.pos += len(quote)
                return
            pen.add(quote[0])
            reader.pos += 1


def _one_line(reader: Reader, buf: str, end: int) -> None:
    """A text in single quotes should have no line break up to `end`."""
    at = buf.find("\n", reader.pos, end)
    if at < 0:
        return
    if not reader.repair:
        reader.pos = at  # where the fault is does not depend on how the text was cut
        raise Broken("CALL_NOT_LITERAL", "a raw line break in a text")
    reader.repaired = True


def _escape(reader: Reader, pen: ArgumentsPen, *, raw: bool) -> Machine:
    """Take one escape: the backslash stands at `pos`."""
    yield from _ahead(reader, 2)
    char = reader.buf[reader.pos + 1 : reader.pos + 2]
    if not char:
        raise Broken("CALL_TRUNCATED")
    size = 2 if raw else _SIZES.get(char, 2)
    yield from _ahead(reader, size)
    if not raw and _HIGH.match(reader.buf, reader.pos):
        size = _PAIR
        yield from _ahead(reader, size)
    pos = reader.pos
    text = reader.buf[pos : pos + size]
    if not raw and size > 2:
        text = _exact(text)
    reader.pos += len(text)
    pen.add(text if raw else unescape(text))


def _exact(text: str) -> str:
    """Return as much of `text` as its first escape has."""
    match = _SIZED.match(text)
    return match.group() if match else text[:2]


_SIZED: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3})"
)
