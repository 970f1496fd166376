"""Secrets in base64 or hexadecimal that is broken into lines, as mail (76 columns) and PEM (64) write it."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

_CODE: Final = "[A-Za-z0-9+/_-]"
_LINE: Final = 16
"""A break counts behind so many characters of code: fewer stand at the end of most lines of prose."""
_BREAK: Final = r"(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)[ \t]{0,8}"
# Each begins with a literal, so that a text is searched from one break to the next.
_REAL: Final = re.compile(
    rf"\n(?:(?<={_CODE}{{{_LINE}}}\n)|(?<={_CODE}{{{_LINE}}}\r\n))(?=[ \t]{{0,8}}{_CODE})"
)
_WRITTEN: Final = re.compile(rf"\\(?<={_CODE}{{{_LINE}}}\\)\\{{0,3}}(?:r\\{{1,4}})?n[ \t]{{0,8}}{_CODE}")
_REGION: Final = re.compile(rf"(?<!{_CODE}){_CODE}{{{_LINE},}}+(?:{_BREAK}{_CODE}++)+")
_WRITTEN_BREAKS: Final = re.compile(r"\\\\{0,3}(?:r\\{1,4})?n")
_BREAKS: Final = re.compile(_BREAK)


def masked(text: str, pattern: "re.Pattern[str]", mask: str) -> str:
    """Return the text with what the pattern finds across line breaks masked. Linear in the text, and next
    to nothing for one without lines of code.
    """
    real = "\n" in text and _REAL.search(text) is not None
    if not real and ("\\" not in text or _WRITTEN.search(text) is None):
        return text
    out: list[str] = []
    done = 0
    for start, end in _spans(text, pattern):
        out += (text[done:start], mask)
        done = end
    return text if not out else "".join([*out, text[done:]])


def _spans(text: str, pattern: "re.Pattern[str]") -> Iterator[tuple[int, int]]:
    """Yield where a writing of a secret stands that goes over a line's end."""
    for region in _REGION.finditer(text):
        written = region[0] if "\\" not in region[0] else _WRITTEN_BREAKS.sub("", region[0])
        joined = "".join(written.split())  # nothing else than code, breaks and blanks is in a region
        if pattern.search(joined) is not None:
            yield from _places(region, joined, pattern)


def _places(region: "re.Match[str]", joined: str, pattern: "re.Pattern[str]") -> Iterator[tuple[int, int]]:
    """Yield where what the pattern finds in the joined lines of a region stands in the text."""
    within, without = [0], [region.start()]  # where each line begins, joined and in the text
    length = at = 0
    for cut in _BREAKS.finditer(region[0]):
        length += cut.start() - at
        at = cut.end()
        within.append(length)
        without.append(region.start() + at)
    for found in pattern.finditer(joined):
        first = bisect_right(within, found.start()) - 1
        last = bisect_right(within, found.end() - 1) - 1
        yield without[first] + found.start() - within[first], without[last] + found.end() - within[last]
