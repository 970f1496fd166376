"""Reads the values of the notation `{key:value}` while they arrive."""

import re
from collections.abc import Generator
from typing import Any, Final

from gerbang.parse.arguments_pen import STRING, ArgumentsPen
from gerbang.parse.caps import MAX_DEPTH, MAX_KEY
from gerbang.parse.faults import Broken
from gerbang.parse.json_text import STOPS
from gerbang.parse.json_value import load, same
from gerbang.parse.layout import Notation
from gerbang.parse.marks import Marks
from gerbang.parse.python_calls import unescape
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import blank, upcoming

_KEY: Final = re.compile(r"""([^\s:{}\[\],<"'][^:{}\[\],<"']*+):""")
_KEY_PART: Final = re.compile(r"""[^\s:{}\[\],<"'][^:{}\[\],<"']*+\Z""")
_WORD: Final = re.compile(r"[^\s,{}\[\]<:\"']*+")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final = frozenset({"true", "false", "null"})
_AFTER: Final = (",", "}", "]")
_MAX_WORD: Final = 4_300

Value = Generator[None, None, Any]


class NotationText:
    """The values of one call, read from the reader."""

    __slots__ = ("_close", "_ends", "_plains", "_quote", "_reader", "_stops")

    def __init__(self, reader: Reader, layout: Notation) -> None:
        self._reader = reader
        self._quote = layout.quote
        self._close = layout.close
        self._ends = Marks((layout.quote, layout.close))
        self._plains = {quote: Marks((quote, "\\", layout.close)) for quote in "'\""}
        self._stops = self._ends.stops | STOPS

    def take(self, char: str) -> Generator[None, None, bool]:
        """Take a character behind white space, if it stands there. Raises Broken at the end of the answer."""
        if not (yield from blank(self._reader)):
            raise Broken("CALL_TRUNCATED")
        if self._reader.buf[self._reader.pos] != char:
            return False
        self._reader.pos += 1
        return True

    def comma(self, close: str) -> Machine:
        """Take a comma, or see that `close` follows. Raises Broken."""
        if not (yield from self.take(",")) and self._reader.buf[self._reader.pos] != close:
            raise Broken("CALL_NOT_JSON", "a comma or a closing bracket is missing")

    def marked(self) -> Generator[None, None, bool]:
        """Tell whether a string mark stands at `pos`."""
        found, _ = yield from upcoming(self._reader, (self._quote,), gap=False)
        return found == self._quote

    def key(self) -> Generator[None, None, str]:
        """Take a key and its colon. Raises Broken."""
        reader = self._reader
        yield from blank(reader)
        if (yield from self.marked()):
            key = yield from self._string()
            yield from self._colon()
            return key
        quote = reader.buf[reader.pos : reader.pos + 1]
        if quote and quote in "'\"":
            self._mend("plain quotes in place of the string marks")
            found, raw = yield from self._plain(quote)
            if not found:
                raise Broken("CALL_NOT_JSON", "a key is not closed")
            yield from self._colon()
            return unescape(raw)
        while True:
            match = _KEY.match(reader.buf, reader.pos)
            if match:
                reader.pos = match.end()
                return match.group(1).strip()
            size = len(reader.buf) - reader.pos
            if not _KEY_PART.match(reader.buf, reader.pos) or size > MAX_KEY:
                raise Broken("CALL_NOT_JSON", "a key is missing")
            if reader.ended:
                raise Broken("CALL_TRUNCATED")
            yield

    def stream(self, pen: ArgumentsPen, key: str) -> Machine:
        """Pass on the text at `pos`, which is in string marks."""
        reader = self._reader
        pen.begin(key, STRING)
        reader.pos += len(self._quote)
        while True:
            buf, pos = reader.buf, reader.pos
            match = self._ends.search(buf, pos)
            end = match.start() if match else len(buf) if reader.ended else self._ends.held(buf, pos)
            if end > pos:
                pen.add(buf[pos:end])
            reader.pos = end
            if match is None:
                if reader.ended:
                    raise Broken("CALL_TRUNCATED")
                if pen.streams:
                    reader.rest(self._stops)
                yield
                continue
            if match.group(1) == self._quote:
                reader.pos = match.end()
                pen.end()
                return
            self._swallow()
            pen.add(self._close)

    def settle(self) -> None:
        """All texts so far were closed: the end marks in them are data."""
        if self._reader.recording:
            self._reader.recorded()

    def _swallow(self) -> None:
        """Take an end mark inside a text. When the text proves to have no end, this mark has ended the block:
        what follows it is recorded, to be read again.
        """
        if not self._reader.recording:
            self._reader.record()
        self._reader.pos += len(self._close)

    def value(self, depth: int) -> Value:
        """Read any value. Raises Broken."""
        if depth > MAX_DEPTH:
            raise Broken("CALL_TOO_DEEP", f"more than {MAX_DEPTH} levels")
        reader = self._reader
        if not (yield from blank(reader)):
            raise Broken("CALL_TRUNCATED")
        if (yield from self.marked()):
            return (yield from self._string())
        char = reader.buf[reader.pos]
        if char == "{":
            return (yield from self._object(depth))
        if char == "[":
            return (yield from self._list(depth))
        raw = ""
        if char in "'\"":
            found, raw = yield from self._plain(char)
            if found and (yield from self._ends_value()):
                self._mend("plain quotes in place of the string marks")
                return unescape(raw)
            raw = char + raw + (char if found else "")
        return (yield from self._word(raw))

    def _object(self, depth: int) -> Value:
        self._reader.pos += 1
        found: dict[str, Any] = {}
        while not (yield from self.take("}")):
            key = yield from self.key()
            value = yield from self.value(depth + 1)
            if key in found and not same(found[key], value):
                raise Broken("CALL_AMBIGUOUS", "a key is given twice with two different values")
            found[key] = value
            yield from self.comma("}")
        return found

    def _list(self, depth: int) -> Value:
        self._reader.pos += 1
        found: list[Any] = []
        while not (yield from self.take("]")):
            found.append((yield from self.value(depth + 1)))
            yield from self.comma("]")
        return found

    def _colon(self) -> Machine:
        if not (yield from self.take(":")):
            raise Broken("CALL_NOT_JSON", "a colon is missing after a key")

    def _ends_value(self) -> Generator[None, None, bool]:
        """Tell whether a comma or closing bracket follows."""
        found, _ = yield from upcoming(self._reader, _AFTER)
        return found in _AFTER

    def _mend(self, why: str) -> None:
        if not self._reader.repair:
            raise Broken("CALL_NOT_JSON", why)
        self._reader.repaired = True

    def _string(self) -> Generator[None, None, str]:
        self._reader.pos += len(self._quote)
        parts: list[str] = []
        while True:
            mark, text = yield from self._up_to(self._ends)
            parts.append(text)
            if not mark:
                raise Broken("CALL_TRUNCATED")
            if mark == self._quote:
                return "".join(parts)
            self._swallow()
            parts.append(mark)

    def _up_to(self, marks: Marks) -> Generator[None, None, tuple[str, str]]:
        """Take text up to the next of `marks`. Returns (mark, text); a string mark is taken too, any other
        stays; "" when the answer ends.
        """
        reader = self._reader
        parts: list[str] = []
        while True:
            buf, pos = reader.buf, reader.pos
            match = marks.search(buf, pos)
            end = match.start() if match else len(buf) if reader.ended else marks.held(buf, pos)
            parts.append(buf[pos:end])
            reader.grow(end - pos)
            reader.pos = end
            if match:
                mark = match.group(1)
                reader.pos += len(mark) if mark == self._quote else 0
                return mark, "".join(parts)
            if reader.ended:
                return "", "".join(parts)
            yield

    def _plain(self, quote: str) -> Generator[None, None, tuple[bool, str]]:
        """Take a text in plain quotes: (whether it was closed, the raw text)."""
        reader = self._reader
        reader.pos += 1
        parts: list[str] = []
        marks = self._plains[quote]
        while True:
            mark, text = yield from self._up_to(marks)
            parts.append(text)
            if mark == quote:
                reader.pos += 1
            if mark != "\\":
                return mark == quote, "".join(parts)
            while len(reader.buf) - reader.pos < 2 and not reader.ended:
                yield
            parts.append(reader.buf[reader.pos : reader.pos + 2])
            reader.pos += len(parts[-1])

    def _word(self, before: str) -> Value:
        """Read a number or a word; or a text whose opening mark is missing, as far as `before` was read."""
        reader = self._reader
        if not before:
            yield from self._whole_word()
            match = _WORD.match(reader.buf, reader.pos)
            word = match.group() if match else ""
            if word in _WORDS or (len(word) <= _MAX_WORD and _NUMBER.fullmatch(word)):
                found, _ = yield from upcoming(reader, _AFTER, len(word))
                if found in _AFTER:
                    reader.pos += len(word)
                    return load(word)
        mark, text = yield from self._up_to(self._ends)
        if mark == self._quote and (yield from self._ends_value()):
            self._mend("an opening string mark is missing")
            return before + text
        raise Broken("CALL_NOT_JSON" if mark else "CALL_TRUNCATED", "a value is not in string marks")

    def _whole_word(self) -> Machine:
        """Wait until the word at `pos` is complete."""
        reader = self._reader
        while not reader.ended:
            match = _WORD.match(reader.buf, reader.pos)
            size = match.end() - reader.pos if match else 0
            if size > _MAX_WORD or reader.pos + size < len(reader.buf):
                return
            yield
