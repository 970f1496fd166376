"""Writes the arguments of the open call as one JSON object while raw values arrive."""

from json.encoder import encode_basestring
from typing import Final

from gerbang.parse.coerce import coerce, coerce_json, is_text
from gerbang.parse.faults import Broken
from gerbang.parse.json_value import load, quoted, same
from gerbang.parse.kinds import ANY
from gerbang.parse.reader import Reader

_NULLABLE: Final = frozenset({"string", "null"})
_LONG_NULL: Final = 64
_MAX_TWICE: Final = 8
_WRAPPERS: Final = frozenset({"arguments", "parameters", "input"})
STRING: Final = frozenset({"string"})
"""The kinds of a value that is text for sure."""


class ArgumentsPen:
    """One call's arguments. For each: `begin` with its key, `add` raw text, `end`; then `close`."""

    __slots__ = (
        "_json",
        "_key",
        "_kinds",
        "_parts",
        "_reader",
        "_seen",
        "_streams",
        "_twice",
        "_wrapped",
        "_wrapper",
        "tool",
    )

    def __init__(self, reader: Reader, tool: str) -> None:
        self.tool = tool
        self._reader = reader
        self._seen: set[str] = set()
        self._twice = 0
        self._parts: list[str] = []
        self._key = ""
        self._kinds = ANY
        self._json = self._streams = False
        self._wrapped: str | None = None
        self._wrapper = ""

    @property
    def streams(self) -> bool:
        """Whether the value at hand is passed on while it arrives."""
        return self._streams

    @property
    def empty(self) -> bool:
        """Whether there was no argument so far."""
        return not self._seen and self._wrapped is None

    def begin(self, key: str, kinds: frozenset[str] | None = None, *, json: bool = False) -> None:
        """Start a value. `kinds`: what the format says of it, else the schema; `json`: the format says
        JSON.
        """
        self._key = key
        self._kinds = self._reader.offered.kinds(self.tool, key) if kinds is None else kinds
        self._json = json
        self._parts = []
        self._streams = not json and is_text(self._kinds) and key not in self._seen
        if self._streams:
            self._stream()

    def add(self, text: str) -> None:
        """Take a further piece of the raw value."""
        if self._streams:
            self._reader.write(encode_basestring(text)[1:-1])
            return
        self._parts.append(text)
        self._reader.grow(len(text))
        if self._kinds == _NULLABLE and not self._json and self._key not in self._seen:
            raw = "".join(self._parts)
            if len(raw) > _LONG_NULL or not "null".startswith(raw.strip()):
                self._parts = []
                self._streams = True
                self._stream()
                self._reader.write(encode_basestring(raw)[1:-1])

    def _stream(self) -> None:
        """Open a text that is passed on while it arrives."""
        self._unwrap()
        self._reader.write(self._prefix(self._key) + '"')
        self._seen.add(self._key)

    def end(self) -> None:
        """The value is complete. Raises Broken when its key came before with another value."""
        if self._streams:
            self._reader.write('"')
            self._streams = False
            return
        raw = "".join(self._parts)
        self._parts = []
        repair = self._reader.repair
        text, repaired = (coerce_json if self._json else coerce)(raw, self._kinds, repair=repair)
        self._reader.repaired = self._reader.repaired or repaired
        self.put(self._key, text)

    def put(self, key: str, text: str) -> None:
        """Write a value that is JSON text already."""
        if key in self._seen:
            self._twice += 1
            before = load(self._reader.so_far() + "}") if self._twice <= _MAX_TWICE else {}
            if key not in before or not same(before[key], load(text)):
                raise Broken("CALL_AMBIGUOUS", "an argument is given twice")
            return
        if (
            self._json
            and self.empty
            and key in _WRAPPERS
            and text.startswith("{")
            and self._reader.repair
            and self.tool in self._reader.offered.names
            and not self._reader.offered.has_argument(self.tool, key)
        ):
            self._wrapped, self._wrapper = text, key
            return
        self._unwrap()
        self._reader.write(self._prefix(key) + text)
        self._seen.add(key)

    def close(self) -> None:
        """All arguments are there: complete the object and close the call."""
        if self._wrapped is not None and not self._seen:
            self._reader.write(self._wrapped)
            self._reader.repaired = True
        else:
            self._reader.write("}" if self._seen else "{}")
        self._reader.close()

    def _unwrap(self) -> None:
        if self._wrapped is not None:
            text, self._wrapped = self._wrapped, None
            self._reader.write(self._prefix(self._wrapper) + text)
            self._seen.add(self._wrapper)

    def _prefix(self, key: str) -> str:
        return f"{', ' if self._seen else '{'}{quoted(key)}: "
