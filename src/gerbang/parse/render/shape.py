"""The shape of a call in one dialect: templates filled with a name, a key or a value."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from gerbang.parse.render.literals import hide, json_text, python_text
from gerbang.parse.render.wirecall import WireCall

_SLOT: Final = re.compile(r"%([nNiIA])")


class Shape(Protocol):
    """How one dialect writes calls."""

    @property
    def marks(self) -> Sequence[str]:
        """Markup that means something to a reader of this dialect when it stands in a value."""

    @property
    def how(self) -> str:
        """Key of the sentence that explains the argument encoding to a model."""

    @property
    def many(self) -> str:
        """Key of the sentence on several calls; empty when an answer can hold only one."""

    def write(self, calls: Sequence[WireCall]) -> str:
        """Return the assistant text with these calls (at least one)."""


@dataclass(frozen=True, slots=True)
class Template:
    """Calls whose arguments are one JSON object.

    In `call`, `%n` is the raw name, `%N` the name as a JSON string, `%A` the arguments as JSON, `%i` and
    `%I` the position counted from 0 and from 1. `joint` stands between calls, `head` and `tail` around all.
    """

    call: str
    head: str = ""
    tail: str = ""
    joint: str = "\n"
    list_when_many: bool = False
    marks: tuple[str, ...] = ()
    how: str = "json"
    many: str = "repeat"

    def write(self, calls: Sequence[WireCall]) -> str:
        """Return the assistant text with these calls."""
        pieces = _SLOT.split(self.call)
        written = [self._one(pieces, call, index) for index, call in enumerate(calls)]
        if self.list_when_many and len(calls) > 1:
            return f"{self.head}[{', '.join(written)}]{self.tail}"
        return self.head + self.joint.join(written) + self.tail

    def _one(self, pieces: Sequence[str], call: WireCall, index: int) -> str:
        slots = {
            "n": call.name,
            "N": json_text(call.name, self.marks),
            "A": json_text(call.arguments, self.marks),
            "i": str(index),
            "I": str(index + 1),
        }
        return "".join(slots[piece] if odd % 2 else piece for odd, piece in enumerate(pieces))


@dataclass(frozen=True, slots=True)
class PythonCalls:
    """Calls as Python expressions with keyword arguments; `json_words` writes true, false and null."""

    head: str
    tail: str
    joint: str = ", "
    json_words: bool = False
    marks: tuple[str, ...] = ()
    how: str = "python"
    many: str = "list"

    def write(self, calls: Sequence[WireCall]) -> str:
        """Return the assistant text with these calls."""
        return self.head + self.joint.join(self._one(call) for call in calls) + self.tail

    def _one(self, call: WireCall) -> str:
        text = json_text if self.json_words else python_text
        pairs = [f"{key}={hide(text(value), self.marks)}" for key, value in call.arguments.items()]
        return f"{call.name}({', '.join(pairs)})"
