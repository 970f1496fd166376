"""A set of marks to look for in text that arrives in pieces."""

import re
from collections.abc import Iterable


class Marks:
    """A set of marks: where the next one is, and how much of the end of a text may be the beginning of
    one.
    """

    __slots__ = ("_firsts", "_longest", "_prefixes", "search", "stops")

    def __init__(self, marks: Iterable[str], *, line: str = "") -> None:
        """`line` is a further pattern to find."""
        ordered = sorted(set(marks), key=len, reverse=True)
        options = "|".join(map(re.escape, ordered)) or r"(?!)"
        self.search = re.compile(f"({options}|{line})" if line else f"({options})").search
        self._prefixes = frozenset(mark[:size] for mark in ordered for size in range(1, len(mark)))
        self._longest = max(map(len, ordered), default=1)
        self.stops = frozenset(mark[0] for mark in ordered)
        self._firsts = (
            re.compile(f"[{re.escape(''.join(self.stops))}]") if self.stops else re.compile(r"(?!)")
        )

    def held(self, text: str, pos: int) -> int:
        """Return where a beginning of a mark starts at the end of `text`, or its length."""
        size = len(text)
        at = max(pos, size - self._longest + 1)
        while match := self._firsts.search(text, at):
            at = match.start()
            if text[at:] in self._prefixes:
                return at
            at += 1
        return size
