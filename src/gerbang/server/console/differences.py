"""What an edit changed, line by line."""

from difflib import SequenceMatcher
from typing import Any, Final, Literal

from msgspec import Struct

from gerbang.server.console.pages import editable

_MAX_LINES: Final = 400
"""Beyond this the two are shown whole: comparing takes the square of the lines."""


class Line(Struct, frozen=True):
    """One line: `same`, `out` (was there) or `in` (is there now)."""

    kind: Literal["same", "out", "in"]
    text: str


def difference(before: dict[str, Any], after: dict[str, Any]) -> list[Line]:
    """Return the lines of both, in an order in which they can be read."""
    old, new = editable(before).split("\n"), editable(after).split("\n")
    if max(len(old), len(new)) > _MAX_LINES:
        return [*(Line("out", line) for line in old), *(Line("in", line) for line in new)]
    lines: list[Line] = []
    for kind, start, end, other, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += [Line("same", line) for line in old[start:end]]
            continue
        lines += [Line("out", line) for line in old[start:end]]
        lines += [Line("in", line) for line in new[other:last]]
    return lines
