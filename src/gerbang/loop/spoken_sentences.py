"""Sentences of a text that is still being written, for speech: each as soon as it is complete, none twice.

The text is what a person sees of an answer. Marks of Markdown end no sentence and are not said; blocks of
code are left out. The cost is linear in the text, however it is cut into pieces.
"""

import re
from typing import Final

from gerbang.loop.spoken_blocks import SpokenBlocks
from gerbang.loop.spoken_text import spoken_text

_MARKS: Final = re.compile(r"[.!?…。！？｡\n`\[\]()<>]")
_WIDE: Final = "。！？｡"
_CLOSING: Final = frozenset("\"'”’»)]}」』）】*_~`")
_ENDS: Final = _CLOSING | frozenset(".!?…" + _WIDE)
_OPENING: Final = frozenset(" \t\"'“‘«([{¿¡*_~`「『（【")
_BLOCK: Final = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[-*+•][ \t]|\d{1,3}[.)][ \t]|\||>)")
_NEW_BLOCK: Final = "\n#-*+>|•=~`"
_NUMBERED: Final = re.compile(r"(?:\A|\n)[ \t>]*\d{1,3}\Z")
_LAST_WORD: Final = re.compile(r"[^\W_]+(?:\.[^\W_]+)*\Z")
_CLOSES: Final = {"`": "`", "[": "]", "(": ")", "<": ">"}
_SPAN: Final = 24
"""How far is looked back for a short form."""
_RUN: Final = 100
"""How far is looked ahead over marks and spaces."""
_LONGEST: Final = 600
"""A sentence that is longer is cut at a pause: it shall be heard before its end is written."""
_LONGEST_HELD: Final = 2_000
"""A bracket or a tag that is open for longer was none."""
_NAMES: Final = (
    "mr mrs ms dr prof st gen col sgt lt capt rev hon gov sen rep mt vs e.g i.e cf eq approx est drs dra ir "
    "jl tn ny nn sdr sdri bpk yth hlm a.n d.a u.p u.b s.d kec kab kel prov pt cv hj ust mis"
)
_NUMBERS: Final = (
    "no nr nos p pp ch sec vol fig art tel rp rt rw tgl ayat bab jan feb mar apr jun jul aug agt sep sept "
    "oct okt nov dec des"
)
_BEFORE_NAMES: Final = frozenset(_NAMES.split())
"""Short forms that something follows: a full stop behind one ends no sentence."""
_BEFORE_NUMBERS: Final = frozenset(_NUMBERS.split())
"""Short forms that end no sentence when a number follows."""
_MORE: Final = -1
"""More text has to come before it can be told."""
_ON: Final = 0
"""No end here: go on behind it."""


class SpokenSentences:
    """Takes text piece by piece. One object for one answer."""

    def __init__(self) -> None:
        self._blocks = SpokenBlocks()
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._start = 0
        """Where the piece that is being gathered begins."""
        self._at = 0
        """Where the next mark is looked for."""
        self._line = 0
        """Where the line begins; -1 when that was said already, `_in_block` tells what it was."""
        self._in_block = False
        self._held = ""
        """The mark of code, a link or a tag that is open, in which no sentence ends."""
        self._held_at = 0
        self._ended = False

    def feed(self, delta: str) -> list[str]:
        """Return the sentences that are complete now, as they are said."""
        return self._take(self._blocks.feed(delta))

    def finish(self) -> list[str]:
        """Return what is left: the text has ended, or something else comes before it goes on."""
        self._ended = True
        found = self._take(self._blocks.finish())
        self._begin()
        return found

    def _take(self, text: str) -> list[str]:
        self._text += text
        found: list[str] = []
        while (cut := self._cut()) != _MORE:
            if said := spoken_text(self._text[self._start : cut]):
                found.append(said)
            if self._line < cut and self._line >= 0:
                self._in_block = _BLOCK.match(self._text, self._line) is not None
                self._line = -1
            self._start, self._at, self._held = cut, max(self._at, cut), ""
        self._text = self._text[self._start :]
        self._at -= self._start
        self._held_at -= self._start
        self._line = self._line if self._line < 0 else self._line - self._start
        self._start = 0
        return found

    def _cut(self) -> int:
        """Return where the next piece ends, _MORE when more text has to come first."""
        while True:
            mark = _MARKS.search(self._text, self._at)
            end = len(self._text) if mark is None else mark.start()
            if self._held and end - self._held_at > _LONGEST_HELD:
                self._held = ""
            if end - self._start > _LONGEST and not self._held:
                return self._pause(end)
            if mark is None:
                self._at = end
                cut = _MORE
            else:
                cut = self._judge(end)
            if cut == _MORE and self._ended:
                return len(self._text) if self._start < len(self._text) else _MORE
            if cut != _ON:
                return cut

    def _pause(self, limit: int) -> int:
        """Return where a piece that is too long is cut: behind a comma, else a word, else anywhere."""
        low, high = self._start + _LONGEST // 4, min(limit, self._start + _LONGEST)
        for marks in (",;:，；：、", " \t\n"):
            place = max(self._text.rfind(mark, low, high) for mark in marks)
            if place >= 0:
                return place + 1
        return high

    def _judge(self, place: int) -> int:
        """Look at one mark: returns a cut, _ON, or _MORE."""
        text, mark = self._text, self._text[place]
        if mark == "\n":
            return self._line_end(place)
        if mark in "`[]()<>":
            return self._bracket(place)
        if self._held:
            return self._on(place + 1)
        end = self._over(place + 1, _ENDS)
        if end == len(text):
            return self._wait(place)
        if mark in _WIDE:
            return end
        if not text[end].isspace():
            return self._on(end)
        after = self._over(end, _OPENING)
        if after == len(text):
            return self._wait(place)
        if text[after] == "\n":
            return self._on(after)
        return self._on(end) if self._goes_on(place, text[after]) else end

    def _over(self, place: int, characters: frozenset[str]) -> int:
        """Return the place behind a run of characters. A very long run is not looked at to its end."""
        text = self._text
        limit = min(len(text), place + _RUN)
        while place < limit and text[place] in characters:
            place += 1
        return place

    def _on(self, place: int) -> int:
        self._at = place
        return _ON

    def _wait(self, place: int) -> int:
        self._at = place  # it is looked at again when more has come
        return _MORE

    def _goes_on(self, place: int, following: str) -> bool:
        """Tell whether a sentence goes on behind the mark, with what follows it."""
        if following.islower():
            return True
        if self._text[place] != ".":
            return False
        before = self._text[max(self._start, place - _SPAN) : place]
        found = _LAST_WORD.search(before)
        if found is None:
            return False
        word = found[0].lower()
        if word.isdigit():
            return _NUMBERED.search(before) is not None
        if word in _BEFORE_NUMBERS:
            return following.isdigit()
        if word in _BEFORE_NAMES or ("." in word and all(len(part) == 1 for part in word.split("."))):
            return True
        return len(word) == 1 and found[0].isupper() and word != "i"  # an initial

    def _line_end(self, place: int) -> int:
        """Judge the end of a line: a sentence goes on over it, unless another block begins."""
        text = self._text
        after = self._over(place + 1, frozenset(" \t"))
        if after == len(text):
            return self._wait(place)
        in_block = self._in_block if self._line < 0 else _BLOCK.match(text, self._line) is not None
        last = text[max(self._start, place - 8) : place].rstrip("".join(_CLOSING) + " ")[-1:]
        self._held, self._at, self._line = "", place + 1, place + 1
        if (
            in_block
            or last in (".", "!", "?", "…", ":")
            or text[after] in _NEW_BLOCK
            or text[after].isdigit()
        ):
            return place + 1
        return _ON

    def _bracket(self, place: int) -> int:
        """Keep account of code, links and tags, in which nothing ends a sentence."""
        mark, following = self._text[place], self._text[place + 1 : place + 2]
        if self._held:
            if _CLOSES[self._held] == mark:
                self._held = ""
        elif mark == "<":
            if not following:
                return self._wait(place)
            if following.isalpha() or following in "/!?|":
                self._held, self._held_at = mark, place
        elif mark in "`[" or (mark == "(" and self._text[place - 1 : place] == "]"):
            self._held, self._held_at = mark, place
        return self._on(place + 1)
