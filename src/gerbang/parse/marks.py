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
        options = _pattern(ordered) if ordered else r"(?!)"
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


def _pattern(marks: list[str]) -> str:
    """Return a pattern for any of the marks, the longest first, that looks at common beginnings only once."""
    groups: dict[str, list[str]] = {}
    for mark in marks:
        groups.setdefault(mark[:1], []).append(mark[1:])
    rest = groups.pop("", None)
    options = [re.escape(first) + _pattern(tails) for first, tails in groups.items()]
    if not options:
        return ""
    joined = "|".join(options)
    if rest is not None:
        return f"(?:{joined}|)"
    return joined if len(options) == 1 else f"(?:{joined})"
