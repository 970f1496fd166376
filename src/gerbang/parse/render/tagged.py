"""Calls written as tags round raw values: what is written around them, and how a value is put in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from gerbang.parse.render.literals import json_text, kind_of
from gerbang.parse.render.wirecall import WireCall

Encoded: TypeAlias = tuple[str, str]
"""The value as it is written, and what replaces `%t` (the type mark in the tag, or nothing)."""


def raw(value: Any, marks: Sequence[str]) -> Encoded:
    """Strings as they are, everything else as JSON. Readers tell them apart by the schema."""
    return (value if isinstance(value, str) else json_text(value, marks)), ""


def cdata(value: Any, marks: Sequence[str]) -> Encoded:
    """Like `raw`, but strings that hold markup go into a CDATA section, which ends only at its own mark."""
    if isinstance(value, str) and "<" in value and "]]>" not in value:
        return f"<![CDATA[{value}]]>", ""
    return raw(value, marks)


def string_mark(value: Any, marks: Sequence[str]) -> Encoded:
    """`true` marks a raw string, `false` JSON. A string that holds this format's markup is sent as JSON."""
    if isinstance(value, str) and not any(mark in value for mark in marks):
        return value, "true"
    return json_text(value, marks), "false"


def type_mark(value: Any, marks: Sequence[str]) -> Encoded:
    """The JSON type in the tag, strings raw."""
    return raw(value, marks)[0], kind_of(value)


def plain_key(key: str) -> str:
    """Keys that the format cannot escape."""
    return key


def escaped_key(key: str) -> str:
    """Keys in an attribute where & and the double quote are written as entities."""
    return key.replace("&", "&amp;").replace('"', "&quot;")


@dataclass(frozen=True, slots=True)
class Tagged:
    """Calls as tags: `%n` name, `%I` position from 1, `%k` key, `%v` value, `%t` its type mark."""

    open: str
    argument: str
    close: str
    head: str = ""
    tail: str = ""
    joint: str = "\n"
    encode: Callable[[Any, Sequence[str]], Encoded] = raw
    key: Callable[[str], str] = plain_key
    marks: tuple[str, ...] = ()
    how: str = "raw"
    many: str = "repeat"

    def write(self, calls: Sequence[WireCall]) -> str:
        """Return the assistant text with these calls."""
        written = [self._one(call, position) for position, call in enumerate(calls, 1)]
        return self.head + self.joint.join(written) + self.tail

    def _one(self, call: WireCall, position: int) -> str:
        first, second = self.open.split("%n")
        out = [first, self.key(call.name), second.replace("%I", str(position))]
        before, rest = self.argument.split("%k")
        between, after = rest.split("%v")
        for key, value in call.arguments.items():
            text, mark = self.encode(value, self.marks)
            out += (before, self.key(key), between.replace("%t", mark), text, after)
        out.append(self.close)
        return "".join(out)


@dataclass(frozen=True, slots=True)
class Elements:
    """One element for each argument, nested ones for objects and `item` elements for lists.

    Every tag stands behind `prefix`.
    """

    prefix: str
    how: str = "elements"
    many: str = "inside"

    @property
    def marks(self) -> tuple[str, ...]:
        """No tag can be written without the prefix."""
        return (self.prefix,)

    def write(self, calls: Sequence[WireCall]) -> str:
        """Return the assistant text with these calls."""
        out = [f"{self.prefix}<tool_call>\n"]
        for call in calls:
            out.append(f'{self.prefix}<invoke name="{call.name}">')
            for key, value in call.arguments.items():
                self._element(key, value, out)
            out.append(f"{self.prefix}</invoke>\n")
        out.append(f"{self.prefix}</tool_call>")
        return "".join(out)

    def _element(self, key: str, value: Any, out: list[str]) -> None:
        out.append(f"{self.prefix}<{key}>")
        if isinstance(value, dict) and value:
            for name, item in value.items():
                self._element(name, item, out)
        elif isinstance(value, list) and value:
            for item in value:
                self._element("item", item, out)
        else:
            out.append(raw(value, self.marks)[0])
        out.append(f"{self.prefix}</{key}>")


@dataclass(frozen=True, slots=True)
class Notation:
    """`call:name{key:value}` with `quote` on both sides of a string, which nothing can escape."""

    open: str
    close: str
    quote: str
    joint: str = ""
    how: str = "notation"
    many: str = "repeat"

    @property
    def marks(self) -> tuple[str, ...]:
        """Only the string mark ends a string."""
        return (self.quote,)

    def write(self, calls: Sequence[WireCall]) -> str:
        """Return the assistant text with these calls."""
        return self.joint.join(
            f"{self.open}call:{c.name}{self._value(c.arguments)}{self.close}" for c in calls
        )

    def _value(self, value: Any) -> str:
        if isinstance(value, str):
            return self.quote + value + self.quote
        if isinstance(value, dict):
            return "{" + ",".join(f"{key}:{self._value(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(self._value(item) for item in value) + "]"
        return json_text(value)
