"""Server-sent events to JSON values. The WHATWG rules, and what servers do instead.

An event is its `data:` lines, joined, up to a blank line; comments and other fields are passed over. Many
servers leave out the blank line or the space after the colon, so a line that is JSON on its own is an event
at once. Every byte is looked at a bounded number of times.
"""

import json
from typing import Any, Final

from gerbang.adapters.models.lines import MAX_LINE_BYTES, Lines, LineTooLong

DONE: Final = object()
"""The `[DONE]` that ends OpenAI's streams."""
_FIELDS: Final = ("event:", "id:", "retry:", ":", "event", "id", "retry", "data")


class BadEvent(Exception):
    """A line or event that is not of this protocol."""


class SseReader:
    """Feed bytes, get the events' JSON values and DONE."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._first = True
        self._pending: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Any]:
        """Return the values that `chunk` completes. Raises BadEvent and LineTooLong."""
        return self._read(self._lines.feed(chunk))

    def finish(self) -> list[Any]:
        """Return what the end of the stream completes. A half event at the end is dropped."""
        values: list[Any] = []
        try:
            values = self._read(self._lines.finish())
            values += self._flush()
        except BadEvent:  # cut off in the middle; the caller sees that the end mark is missing
            pass
        return values

    def _read(self, lines: list[str]) -> list[Any]:
        values: list[Any] = []
        for line in lines:
            if self._first:
                self._first = False
                line = line.removeprefix("\ufeff")  # a byte order mark is no part of the line
            if not line:
                values += self._flush()
            elif line.startswith("data:"):
                values += self._data(line[5:].removeprefix(" "))
                if values and values[-1] is DONE:
                    break  # whatever comes after it is no part of the answer
            elif not line.startswith(_FIELDS):
                raise BadEvent(line)
        return values

    def _data(self, data: str) -> list[Any]:
        if self._pending:
            self._size += len(data)
            if self._size > MAX_LINE_BYTES:
                raise LineTooLong
            self._pending.append(data)
            return []
        if data.strip() == "[DONE]":
            return [DONE]
        if not data.strip():
            return []
        try:
            return [json.loads(data)]
        except (ValueError, RecursionError):
            self._pending, self._size = [data], len(data)
            return []

    def _flush(self) -> list[Any]:
        if not self._pending:
            return []
        text, self._pending = "\n".join(self._pending), []
        try:
            return [json.loads(text)]
        except (ValueError, RecursionError):
            raise BadEvent(text) from None
