"""Reads one JSON value from text that arrives in pieces and passes it on, repaired where one reading exists.

What is passed on is the model's own text, character by character, as long as that is valid JSON. Repairs
(marked in `repaired`): a comma before a closing bracket is left out, raw line breaks and tabs in a text
become escapes, single quotes become double ones, Python's words become JSON's, and the backslash of an escape
that JSON does not know is kept as a character (nothing is lost by that). No quote or bracket is ever added.
"""

import re
from json.encoder import encode_basestring
from typing import Final

from gerbang.parse.caps import MAX_DEPTH, MAX_HELD
from gerbang.parse.faults import Broken

VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, NEXT, COMMA, TEXT, QUOTED, ESCAPE, WORD, DONE = range(12)

_BLANK: Final = re.compile(r"[ \t\r\n]*+")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_SINGLE: Final = re.compile(r"[^'\"\\\x00-\x1f]*+")
_WORD: Final = re.compile(r"[A-Za-z0-9+\-._]*+")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final = frozenset({"true", "false", "null"})
_PYTHON_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_MAX_WORD: Final = 4_300
_SIMPLE: Final = frozenset('"\\/bfnrt')
_HEX: Final = frozenset("0123456789abcdefABCDEF")
STOPS: Final = frozenset({'"', "\\", *map(chr, range(32))})
"""Characters that end a run of plain text inside a JSON string."""


class JsonText:
    """One value on its way. `run` takes text; `out` gets the JSON text; `done` tells that the value is
    complete.
    """

    __slots__ = (
        "_back",
        "_comma",
        "_end",
        "_word",
        "at",
        "done",
        "out",
        "repair",
        "repaired",
        "stack",
        "state",
        "step",
    )

    def __init__(self, *, repair: bool) -> None:
        self.repair = repair
        self.repaired = False
        self.out: list[str] = []
        self.stack: list[str] = []
        self.state = VALUE
        self.done = False
        self.step = 0  # up to this depth `run` returns after every token
        self.at = 0  # the place of the fault, once Broken was raised
        self._word = ""
        self._comma = ""
        self._end = NEXT
        self._back = TEXT

    @property
    def in_text(self) -> bool:
        """Whether it stands in the middle of a double-quoted text."""
        return self.state == TEXT

    def run(self, text: str, pos: int) -> int:
        """Take `text` from `pos` and return the place up to which it was used: its end, that of the value or,
        up to the depth `step`, that of a token. Raises Broken at the first fault.
        """
        size = len(text)
        while pos < size and not self.done:
            state = self.state
            self.at = pos
            if state == TEXT:
                pos = self._text(text, pos)
            elif state == ESCAPE:
                pos = self._escape(text, pos)
            elif state == QUOTED:
                pos = self._single(text, pos)
            elif state == WORD:
                pos = self._in_word(text, pos)
            else:
                end = _BLANK.match(text, pos).end()  # type: ignore[union-attr]  # it matches always
                if end > pos:
                    self._blank(text[pos:end])
                    pos = end
                self.at = pos
                if pos < size:
                    pos = self._token(text[pos], pos)
            if self.step and len(self.stack) <= self.step:
                return pos
        return pos

    def end(self) -> None:
        """No more text will come: a number may be complete."""
        if self.state == WORD and not self.stack:
            self._finish_word()

    def _blank(self, blank: str) -> None:
        if self._comma:
            self._comma += blank
            if len(self._comma) > MAX_HELD:
                raise Broken("CALL_TOO_LARGE", "too much white space")
        else:
            self.out.append(blank)

    def _token(self, char: str, pos: int) -> int:
        state = self.state
        if state in (NEXT, COLON):
            return self._punctuation(char, pos)
        if char in "}]":
            self._close(char, state)
            return pos + 1
        if self._comma:
            self.out.append(self._comma)
            self._comma = ""
        key = state in (KEY, KEY_OR_END)
        if char == '"' or (char == "'" and self._mend()):
            self._end = COLON if key else NEXT
            self.state = TEXT if char == '"' else QUOTED
            self.out.append('"')
            return pos + 1
        if key:
            raise Broken("CALL_NOT_JSON", "a key must be in double quotes")
        if char in "{[":
            self.stack.append(char)
            if len(self.stack) > MAX_DEPTH:
                raise Broken("CALL_TOO_DEEP", f"more than {MAX_DEPTH} levels")
            self.state = KEY_OR_END if char == "{" else VALUE_OR_END
            self.out.append(char)
            return pos + 1
        if char.isascii() and (char.isalnum() or char == "-"):
            self.state = WORD
            return pos
        raise Broken("CALL_NOT_JSON", "a value is missing or not JSON")

    def _punctuation(self, char: str, pos: int) -> int:
        if self.state == COLON:
            if char != ":":
                raise Broken("CALL_NOT_JSON", "a colon is missing after a key")
            self.out.append(":")
            self.state = VALUE
            return pos + 1
        if char == "," and self.stack:
            self._comma = ","
            self.state = KEY if self.stack[-1] == "{" else COMMA
        elif char in "}]":
            self._close(char, NEXT)
        else:
            raise Broken("CALL_NOT_JSON", "a comma or a closing bracket is missing")
        return pos + 1

    def _close(self, char: str, state: int) -> None:
        if state == VALUE or not self.stack or ("{" if char == "}" else "[") != self.stack[-1]:
            raise Broken("CALL_NOT_JSON", "a bracket does not fit")
        if self._comma:
            if not self._mend():
                raise Broken("CALL_NOT_JSON", "a comma stands before a closing bracket")
            self.out.append(self._comma[1:])
            self._comma = ""
        self.stack.pop()
        self.out.append(char)
        self._value_done()

    def _value_done(self) -> None:
        self.state = NEXT if self.stack else DONE
        self.done = not self.stack

    def _mend(self) -> bool:
        self.repaired = self.repaired or self.repair
        return self.repair

    def _text_done(self) -> None:
        self.out.append('"')
        if self._end == COLON:
            self.state = COLON
        else:
            self._value_done()

    def _text(self, text: str, pos: int) -> int:
        end = _PLAIN.match(text, pos).end()  # type: ignore[union-attr]  # it matches always
        if end > pos:
            self.out.append(text[pos:end])
        if end == len(text):
            return end
        char = text[end]
        self.at = end
        if char == '"':
            self._text_done()
        elif char == "\\":
            self.state, self._back = ESCAPE, TEXT
        else:
            self._control(char)
        return end + 1

    def _control(self, char: str) -> None:
        if not self._mend():
            raise Broken("CALL_NOT_JSON", "a raw line break or control character in a text")
        self.out.append(encode_basestring(char)[1:-1])

    def _single(self, text: str, pos: int) -> int:
        end = _SINGLE.match(text, pos).end()  # type: ignore[union-attr]  # it matches always
        if end > pos:
            self.out.append(text[pos:end])
        if end == len(text):
            return end
        char = text[end]
        self.at = end
        if char == "'":
            self._text_done()
        elif char == '"':
            self.out.append('\\"')
        elif char == "\\":
            self.state, self._back = ESCAPE, QUOTED
        else:
            self._control(char)
        return end + 1

    def _escape(self, text: str, pos: int) -> int:
        """Read what follows a backslash; a cut `\\u` is kept in `_word` until its four digits are there."""
        char = text[pos]
        word = self._word
        if word:
            if char not in _HEX:
                if not self._mend():
                    raise Broken("CALL_NOT_JSON", "an escape is not complete")
                self._escaped("\\\\" + word)
                return pos
            self._word = word = word + char
            if len(word) == 5:
                self._escaped("\\" + word)
        elif char == "u":
            self._word = "u"
        elif char in _SIMPLE:
            self._escaped("\\" + char)
        elif char == "'" and self._mend():
            self._escaped("'")
        elif char.isprintable() and self._mend():  # `\d`: the backslash is the model's own
            self._escaped("\\\\" + char)
        else:
            raise Broken("CALL_NOT_JSON", "a backslash stands before a character that needs none")
        return pos + 1

    def _escaped(self, text: str) -> None:
        self.out.append(text)
        self._word = ""
        self.state = self._back

    def _in_word(self, text: str, pos: int) -> int:
        end = _WORD.match(text, pos).end()  # type: ignore[union-attr]  # it matches always
        self._word += text[pos:end]
        self.at = end
        if len(self._word) > _MAX_WORD:
            raise Broken("CALL_NOT_JSON", "a number is too long")
        if end < len(text):
            self._finish_word()
        return end

    def _finish_word(self) -> None:
        word, self._word = self._word, ""
        if word not in _WORDS and not _NUMBER.fullmatch(word):
            if word not in _PYTHON_WORDS or not self._mend():
                raise Broken("CALL_NOT_JSON", "a value is neither text, number, true, false nor null")
            word = _PYTHON_WORDS[word]
        self.out.append(word)
        self._value_done()
