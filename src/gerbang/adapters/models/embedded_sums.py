"""Arithmetic carried past the embedded model unread.

The model picks the right tool but copies expressions badly: from `(3 + 4) * 2` it keeps `3 + 4`. So each
expression in a request is swapped for a short sum that it copies well, such as `47+16`, and swapped back in
the calls. Nothing is computed here. It is done only when a tool takes an expression.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from gerbang.values.model import ToolSpec

_PARAMETERS: Final = frozenset({"expression", "ekspresi", "formula", "expr", "calculation", "equation"})
_TOOLS: Final = re.compile(r"calc|hitung|arith|math")
_STANDINS: Final = ("47+16", "53+29", "61+38", "72+14", "83+27", "94+35", "58+41", "67+12")

_NUMBER: Final = r"\d+(?:\.\d+)?"
_SHARE: Final = re.compile(rf"({_NUMBER}) ?(?:%|percent|persen) (?:of|dari) (?=[\d(])", re.IGNORECASE)
_WORDS: Final = tuple(
    (re.compile(rf"(?<=[\d)]) (?:{words}) (?=[\d(])", re.IGNORECASE), f" {sign} ")
    for words, sign in (
        ("times|multiplied by|x|kali|dikali|dikalikan", "*"),
        ("plus|tambah|ditambah", "+"),
        ("minus|kurang|dikurangi", "-"),
        ("divided by|over|bagi|dibagi", "/"),
        ("to the power of|pangkat", "**"),
    )
)
_SPAN: Final = re.compile(r"(?<![\w.,/\-])-?[(\d](?:[\d\s.+\-*/×÷^%()]|,(?=\d{3}(?!\d)))*[\d)](?![\w/])")
_OPERATION: Final = re.compile(r"[\d)]\s*(?:[+*/×÷^%]|\s-)[\s\-(*/]*\d")
_NO_SUM: Final = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?/\d\d?(?:/\d+)?|[\d\s\-]*\d-\d[\d\s\-]*")
_HOW_MUCH: Final = re.compile(
    r"^berapa(?:kah)?(?: (?:hasil|jumlah|nilai)(?:nya)?)?(?: dari)? (?=[(\d])", re.IGNORECASE
)
"""How Indonesian asks for a sum. The model reads that as the name of a file, and `Hitung` well."""
_GAP: Final = re.compile(r"(?<=[\d)])\s+(?=[\d(])")


class Sums:
    """The expressions of one request. `text` is what the model reads instead."""

    def __init__(self, request: str, tools: Sequence[ToolSpec]) -> None:
        self.text = request
        self._sums: dict[str, str] = {}
        if not any(_takes_expression(tool) for tool in tools):
            return
        plain = _SHARE.sub(r"\1 / 100 * ", request)
        for words, sign in _WORDS:
            plain = words.sub(sign, plain)
        numbers = set(re.findall(r"\d+", plain))
        self._free = [s for s in _STANDINS if numbers.isdisjoint(s.split("+"))]
        self.text = _SPAN.sub(self._swap, plain)
        if self._sums:
            self.text = _HOW_MUCH.sub("Hitung ", self.text)

    def restore(self, arguments: Any) -> Any:
        """Return a call's arguments with the expressions back in place, or None when one was mangled."""
        if not self._sums:
            return arguments
        try:
            return self._back(arguments)
        except _Mangled:
            return None

    def _swap(self, match: re.Match[str]) -> str:
        return "".join(
            self._standin(part) if number % 2 == 0 else part
            for number, part in enumerate(re.split(f"({_GAP.pattern})", match.group()))
        )

    def _standin(self, span: str) -> str:
        if not _OPERATION.search(span) or _NO_SUM.fullmatch(span) or not _balanced(span) or not self._free:
            return span
        standin = self._free.pop(0)
        self._sums[standin] = re.sub(r",(?=\d{3})", "", span).replace("^", "**")
        return standin

    def _back(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._back(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._back(item) for item in value]
        if isinstance(value, str):
            return self._back_text(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and self._touched(str(value)):
            raise _Mangled
        return value

    def _back_text(self, text: str) -> str:
        for standin, span in self._sums.items():
            for written in (standin, standin.replace("+", " + ")):
                text = text.replace(written, f"\0{span}\0")
        pieces = text.split("\0")
        touched = {standin for piece in pieces[::2] for standin in self._touched(piece)}
        if not touched:
            return "".join(pieces)
        # A part of one stand-in and nothing but arithmetic: the model meant that expression.
        if len(touched) == 1 and len(pieces) == 1 and not re.search(r"[A-Za-z]", text):
            return self._sums[touched.pop()]
        raise _Mangled

    def _touched(self, text: str) -> set[str]:
        """Return the stand-ins of which a number stands in `text`."""
        found = set(re.findall(r"\d+", text))
        return {standin for standin in self._sums if not found.isdisjoint(standin.split("+"))}


class _Mangled(Exception):
    """A stand-in came back in pieces."""


def _takes_expression(tool: ToolSpec) -> bool:
    properties = tool.parameters.get("properties")
    if not isinstance(properties, dict):
        return False
    return not _PARAMETERS.isdisjoint(properties) or bool(_TOOLS.search(tool.name.lower()))


def _balanced(span: str) -> bool:
    depth = 0
    for letter in span:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0
