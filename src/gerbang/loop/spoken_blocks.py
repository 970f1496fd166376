"""What of an answer is not for ears, whole blocks of it: fenced code, and blocks of calls should one come."""

import re
from typing import Final

_NAMES: Final = "tool_calls?|tool_use|tool_response|function_calls|think"
_OPENS: Final = re.compile(
    rf"\n[ \t]*(?P<fence>`{{3,}}(?=[^`\n]*\n)|~{{3,}}(?=[^\n]*\n))|<(?P<name>{_NAMES})\b[^<>]{{0,200}}>"
)
_MAY_OPEN: Final = re.compile(
    rf"(?:\n[ \t]{{0,20}}(?:`{{1,2}}|`{{3,}}[^`\n]{{0,200}}|~{{1,2}}|~{{3,}}[^\n]{{0,200}})?"
    rf"|<[a-z_]{{0,16}}|<(?:{_NAMES})\b[^<>]{{0,200}})\Z"
)
_TAIL: Final = 120
"""The end of a block is found in so many characters; what is before them can be forgotten."""


class SpokenBlocks:
    """Leaves blocks out of a text that comes in pieces. In their place comes a break."""

    def __init__(self) -> None:
        self._before = "\n"
        self._held = ""
        self._end: re.Pattern[str] | None = None

    def feed(self, delta: str) -> str:
        """Return what can be said of the text so far; what may yet open a block is held back."""
        held = self._held + delta
        out: list[str] = []
        while True:
            if self._end is not None:
                closed = self._end.search(held)
                if closed is None:
                    self._held = held[-_TAIL:]
                    break
                out.append("\n\n")
                held, self._before, self._end = held[closed.end() :], " ", None
            text = self._before + held
            opened = _OPENS.search(text)
            if opened is None:
                may_open = _MAY_OPEN.search(text, max(0, len(text) - 260))
                cut = len(text) if may_open is None else may_open.start()
                if cut:
                    out.append(text[1:cut])
                    self._before, self._held = text[cut - 1], text[cut:]
                else:
                    self._held = held
                break
            out.append(text[1 : opened.start()])
            held = text[opened.end() :]
            self._end = _end_of(opened)
        return "".join(out)

    def finish(self) -> str:
        """Return what was held back. A block that is open is left out to the end."""
        rest = "" if self._end is not None else self._held
        self._before, self._held, self._end = "\n", "", None
        return rest


def _end_of(opened: "re.Match[str]") -> "re.Pattern[str]":
    if opened["name"]:
        return re.compile(rf"</{opened['name']}\s*>")
    return re.compile(rf"\n[ \t]*{opened['fence']}{opened['fence'][0]}*[ \t]*(?=\n)")
