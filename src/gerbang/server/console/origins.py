"""Where the values of a call came from, for the eyes of a person: what stands in results is marked.

It compares words, so it shows what was copied, not what was reworded. Policy does not look at it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

_WORD: Final = re.compile(r"[^\s\"'<>(),;]+")
_RUN: Final = 3
"""So many words in a row that stand in a result count as copied from it."""
_MAX_CHARS: Final = 400_000
_LONE: Final = 4
_SHOWN: Final = 20_000


class Source(Struct, frozen=True):
    """What a call of the run gave. `outside` tells that it came from where anybody may write."""

    tool: str
    outside: bool
    text: str


class Piece(Struct, frozen=True):
    """A part of a value; `source` is the tool whose result holds it, empty when none does."""

    text: str
    source: str = ""


class Value(Struct, frozen=True):
    """One argument as it is shown. `origin` is `user`, `result`, `mixed`, `own` or `masked`.

    `own` is what neither the request nor any result holds: the model wrote it itself.
    """

    name: str
    pieces: tuple[Piece, ...]
    origin: str
    sources: tuple[str, ...] = ()
    control: bool = False
    cut: int = 0


class Origins:
    """What a run has seen: its request, and the results of its calls."""

    def __init__(self, request: str, sources: Iterable[Source]) -> None:
        self._asked = frozenset(_words(request[:_MAX_CHARS]))
        self._words: dict[str, str] = {}
        self._runs: dict[tuple[str, ...], str] = {}
        room = _MAX_CHARS
        self.outside: list[str] = []
        for source in sources:
            if not source.outside:
                continue
            if source.tool not in self.outside:
                self.outside.append(source.tool)
            found = _words(source.text[:room])
            room = max(0, room - len(source.text))
            for word in found:
                self._words.setdefault(word, source.tool)
            for run in zip(*(found[shift:] for shift in range(_RUN)), strict=False):
                self._runs.setdefault(run, source.tool)

    def value(self, name: str, value: Any, *, control: bool = False, mask: str | None = None) -> Value:
        """Return an argument with its parts. `mask` stands in for a value that nobody is shown."""
        if mask is not None:
            return Value(name, (Piece(mask),), "masked", control=control)
        whole = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
        written = whole[:_SHOWN]
        pieces = self._pieces(written)
        sources = tuple(dict.fromkeys(piece.source for piece in pieces if piece.source))
        marked = sum(len(piece.text.strip()) for piece in pieces if piece.source)
        total = sum(len(piece.text.strip()) for piece in pieces)
        if sources:
            origin = "result" if marked >= total else "mixed"
        else:
            words = _words(written)
            origin = "user" if words and self._asked.issuperset(words) else "own"
        return Value(name, tuple(pieces), origin, sources, control, max(0, len(whole) - _SHOWN))

    def _pieces(self, written: str) -> list[Piece]:
        spans = [(match.start(), match.end()) for match in _WORD.finditer(written)]
        words = [_bare(written[start:end]) for start, end in spans]
        marks = [self._lone(word) if len(words) < _RUN or _telling(word) else "" for word in words]
        for place in range(len(words) - _RUN + 1):
            source = self._runs.get(tuple(words[place : place + _RUN]))
            if source is not None:
                marks[place : place + _RUN] = [source] * _RUN
        pieces: list[Piece] = []
        done = 0
        place = 0
        while place < len(spans):
            source = marks[place]
            last = place
            while source and last + 1 < len(spans) and marks[last + 1] == source:
                last += 1
            if source:
                start, end = spans[place][0], spans[last][1]
                if start > done:
                    pieces.append(Piece(written[done:start]))
                pieces.append(Piece(written[start:end], source))
                done = end
            place = last + 1
        if done < len(written) or not pieces:
            pieces.append(Piece(written[done:]))
        return pieces

    def _lone(self, word: str) -> str:
        """Return the result that holds a single word, unless the user said it or it says nothing."""
        if word in self._asked or (len(word) < _LONE and not any(char.isdigit() for char in word)):
            return ""
        return self._words.get(word, "")


def source_text(result: bytes) -> str:
    """Return the texts of a stored result in one. What cannot be read is taken as it is."""
    try:
        value = msgspec.json.decode(result) if result else ""
    except msgspec.MsgspecError:
        return result.decode("utf-8", "replace")
    found: list[str] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, Mapping):
            stack.extend(reversed(list(item.values())))
        elif isinstance(item, Sequence):
            stack.extend(reversed(item))
        elif item is not None:
            found.append(str(item))
    return "\n".join(found)


def _words(written: str) -> list[str]:
    return [_bare(word) for word in _WORD.findall(written)]


def _bare(word: str) -> str:
    return word.strip(".:!?[]{}").lower()


def _telling(word: str) -> bool:
    """Tell whether a word is worth a mark by itself: an address, a path, a number of some length."""
    if any(mark in word for mark in ("@", "://", "/", "\\")) and len(word) > _LONE:
        return True
    return len(word) > _LONE and any(char.isdigit() for char in word)
