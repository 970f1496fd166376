"""Finds the end of a Python list or of a block of Python calls in text that arrives in pieces."""

import re
from typing import Final

_CODE: Final = re.compile(r"['\"\[\](){}<,]")
_IN: Final = {"'": re.compile(r"['\\]"), '"': re.compile(r'["\\]')}
_STOPS: Final = {quote: frozenset(quote + "\\") for quote in "'\""}
_CLOSERS: Final = {"]": "[", ")": "(", "}": "{"}
_MAX_NEST: Final = 400

CODE, ONE, TWO, TEXT, LONG, LONG_ONE, LONG_TWO, ESCAPE = range(8)


class PythonText:
    """Python text on its way. `done` behind the bracket that closes the first one, or, for a `value`, at the
    comma or bracket that follows it; `bad` when the brackets do not fit, and at a mark in a value.
    """

    __slots__ = ("_back", "_quote", "_state", "_value", "bad", "done", "stack")

    def __init__(self, *, value: bool = False) -> None:
        self._value = value
        self.done = self.bad = False
        self.stack: list[str] = []
        self._state = CODE
        self._quote = ""
        self._back = TEXT

    @property
    def stops(self) -> frozenset[str] | None:
        """What ends the run of plain text, or None outside of texts."""
        return _STOPS[self._quote] if self._state in (TEXT, LONG) else None

    def run(self, text: str, pos: int) -> int:
        """Take `text` from `pos` and return the place up to which it was used."""
        size = len(text)
        while pos < size and not self.done and not self.bad:
            state = self._state
            if state == CODE:
                match = _CODE.search(text, pos)
                if match is None:
                    return size
                pos = self._code(match.group(), match.end())
            elif state in (TEXT, LONG):
                match = _IN[self._quote].search(text, pos)
                if match is None:
                    return size
                pos = match.end()
                if match.group() == "\\":
                    self._back, self._state = state, ESCAPE
                else:
                    self._state = CODE if state == TEXT else LONG_ONE
            elif state == ESCAPE:
                self._state = self._back
                pos += 1
            else:
                pos = self._quotes(text[pos], pos)
        return pos

    def _code(self, char: str, end: int) -> int:
        if char in "'\"":
            self._quote, self._state = char, ONE
        elif char in "<,":
            self.done = self._value and char == "," and not self.stack
            self.bad = self._value and char == "<"
            return end - 1 if self.done or self.bad else end
        elif char in "[({":
            self.stack.append(char)
            self.bad = len(self.stack) > _MAX_NEST
        elif not self.stack and self._value:
            self.done = True
            return end - 1
        elif not self.stack or self.stack.pop() != _CLOSERS[char]:
            self.bad = True
        elif not self.stack and not self._value:
            self.done = True
        return end

    def _quotes(self, char: str, pos: int) -> int:
        """Tell an empty text from the start of a long one, and the end of a long one from a quote in it."""
        same = char == self._quote
        if self._state == ONE:
            self._state = TWO if same else TEXT
        elif self._state == TWO:
            self._state = LONG if same else CODE
        elif self._state == LONG_ONE:
            self._state = LONG_TWO if same else LONG
        else:
            self._state = CODE if same else LONG
        return pos + 1 if same else pos
