"""Python calls with literal arguments: parsed, never evaluated."""

import re
from typing import Any, Final

from gerbang.parse.caps import MAX_DEPTH, MAX_NAME
from gerbang.parse.faults import Broken
from gerbang.parse.json_value import same

_BLANK: Final = re.compile(r"(?:\s+|\#[^\n]*)*+")
_NAME: Final = re.compile(r"[A-Za-z_][\w.\-]*(?:[/:][\w.\-]+)*\s*(?=\()")
_KEY: Final = re.compile(r"(?:([^\W\d][\w\-]*)|\"([^\"\\\n]+)\"|'([^'\\\n]+)')\s*[=:](?!=)")
_NUMBER: Final = re.compile(
    r"[+\-]?\s*(?:(0[xX][0-9a-fA-F_]+)|(\d[\d_]*)(?![\d.eE_])|(\d[\d_]*\.?\d*(?:[eE][+\-]?\d+)?|\.\d+(?:[eE][+\-]?\d+)?))"
)
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_OPEN: Final = re.compile(r"([rRuU]?)(\"\"\"|'''|\"|')")
_BODY: Final = {
    '"': re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL),
    "'": re.compile(r"[^'\\]*+(?:\\.[^'\\]*+)*+", re.DOTALL),
    '"""': re.compile(r'[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+', re.DOTALL),
    "'''": re.compile(r"[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+", re.DOTALL),
}
_ESCAPE: Final = re.compile(
    r"\\(?:(\n)|([\\'\"abfnrtv])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))",
    re.DOTALL,
)
_SIMPLE: Final = dict(zip("\\'\"abfnrtv", "\\'\"\a\b\f\n\r\t\v", strict=True))
_WORDS: Final = {"True": True, "False": False, "None": None}
_JSON_WORDS: Final = {"true": True, "false": False, "null": None}
_MAX_DIGITS: Final = 4_300

Call = tuple[str, dict[str, Any]]
"""A name and its arguments."""


def python_calls(text: str, *, repair: bool, json_words: bool = False) -> tuple[list[Call], bool]:
    """Read calls parted by commas, semicolons or line breaks. Returns them, and whether a repair was made.

    `json_words`: the format has true, false and null as well. Raises Broken for anything but literal
    arguments.
    """
    parser = _Parser(text, repair=repair, json_words=json_words)
    return parser.calls(), parser.repaired


class _Parser:
    __slots__ = ("_json_words", "_pos", "_repair", "_text", "repaired")

    def __init__(self, text: str, *, repair: bool, json_words: bool) -> None:
        self._text = text
        self._pos = 0
        self._repair = repair
        self._json_words = json_words
        self.repaired = False

    def calls(self) -> list[Call]:
        """Read all calls."""
        found: list[Call] = []
        while self._peek():
            if found and self._peek() in ",;":
                self._pos += 1
                continue
            found.append(self._call())
        return found

    def _peek(self) -> str:
        match = _BLANK.match(self._text, self._pos)
        self._pos = match.end() if match else self._pos
        return self._text[self._pos : self._pos + 1]

    def _take(self, char: str) -> bool:
        if self._peek() != char:
            return False
        self._pos += 1
        return True

    def _call(self) -> Call:
        match = _NAME.match(self._text, self._pos)
        if match is None or match.end() - match.start() > MAX_NAME:
            raise Broken("CALL_NOT_LITERAL", "no call like name(key=value)")
        self._pos = match.end() + 1
        arguments: dict[str, Any] = {}
        while not self._take(")"):
            self._peek()
            key = _KEY.match(self._text, self._pos)
            if key is None:
                raise Broken("CALL_NOT_LITERAL", "every argument needs its name, as in key=value")
            self._pos = key.end()
            word = key.group(1) or key.group(2) or key.group(3)
            self._put(arguments, word, self._value(1))
            if not self._take(",") and self._peek() != ")":
                raise Broken("CALL_NOT_LITERAL", "a comma or a closing bracket is missing")
        return match.group().rstrip(), arguments

    def _put(self, into: dict[str, Any], key: str, value: Any) -> None:
        if key in into and not same(into[key], value):
            raise Broken("CALL_AMBIGUOUS", "a key is given twice with two different values")
        into[key] = value

    def _value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise Broken("CALL_TOO_DEEP", f"more than {MAX_DEPTH} levels")
        char = self._peek()
        if char == "{":
            return self._dict(depth)
        if char and char in "[(":
            return self._list(char, depth)
        if _OPEN.match(self._text, self._pos):
            return self._strings()
        match = _NUMBER.match(self._text, self._pos)
        if match:
            self._pos = match.end()
            return self._number(match)
        return self._word()

    def _word(self) -> Any:
        match = _WORD.match(self._text, self._pos)
        word = match.group() if match else ""
        if word in _JSON_WORDS and (self._json_words or self._repair):
            self.repaired = self.repaired or not self._json_words
            value = _JSON_WORDS[word]
        elif word in _WORDS:
            value = _WORDS[word]
        else:
            raise Broken("CALL_NOT_LITERAL", "a value is no literal")
        self._pos += len(word)
        return value

    def _number(self, match: re.Match[str]) -> Any:
        sign = -1 if match.group().startswith("-") else 1
        digits = match.group(1) or match.group(2) or match.group(3)
        after = self._text[self._pos : self._pos + 1]
        if len(digits) > _MAX_DIGITS or after.isalnum() or (after and after in "_."):
            raise Broken("CALL_NOT_LITERAL", "a number cannot be read")
        try:
            if match.group(1):
                return sign * int(digits, 16)
            if match.group(2):
                return sign * int(digits)
            value = sign * float(digits)
        except ValueError:
            raise Broken("CALL_NOT_LITERAL", "a number cannot be read") from None
        if value in (float("inf"), float("-inf")):
            raise Broken("CALL_NOT_LITERAL", "a number is too large")
        return value

    def _strings(self) -> str:
        """Read a text; texts side by side are one."""
        parts = []
        while match := _OPEN.match(self._text, self._pos):
            quote = match.group(2)
            body = _BODY[quote].match(self._text, match.end())
            end = body.end() if body else match.end()
            if not self._text.startswith(quote, end):
                raise Broken("CALL_NOT_LITERAL", "a text is not closed")
            raw = self._text[match.end() : end]
            if len(quote) == 1 and "\n" in raw.replace("\\\n", ""):
                if not self._repair:
                    raise Broken("CALL_NOT_LITERAL", "a raw line break in a text")
                self.repaired = True
            parts.append(raw if match.group(1) in "rR" and match.group(1) else unescape(raw))
            self._pos = end + len(quote)
            self._peek()
        return "".join(parts)

    def _list(self, char: str, depth: int) -> Any:
        close = "]" if char == "[" else ")"
        self._pos += 1
        found: list[Any] = []
        comma = False
        while not self._take(close):
            found.append(self._value(depth + 1))
            comma = self._take(",")
            if not comma and self._peek() != close:
                raise Broken("CALL_NOT_LITERAL", "a comma or a closing bracket is missing")
        return found[0] if char == "(" and len(found) == 1 and not comma else found

    def _dict(self, depth: int) -> dict[str, Any]:
        self._pos += 1
        found: dict[str, Any] = {}
        while not self._take("}"):
            key = self._value(depth + 1)
            if not isinstance(key, str) or not self._take(":"):
                raise Broken("CALL_NOT_LITERAL", "an object needs texts as keys")
            self._put(found, key, self._value(depth + 1))
            if not self._take(",") and self._peek() != "}":
                raise Broken("CALL_NOT_LITERAL", "a comma or a closing bracket is missing")
        return found


def literal(text: str) -> Any:
    """Read one Python literal. Raises Broken."""
    return value_of(text, repair=True, json_words=True)[0]


def value_of(text: str, *, repair: bool, json_words: bool) -> tuple[Any, bool]:
    """Read one Python literal: the value, and whether a repair was made. Raises Broken."""
    parser = _Parser(text, repair=repair, json_words=json_words)
    value = parser._value(1)
    if parser._peek():
        raise Broken("CALL_NOT_LITERAL", "something follows the value")
    return value, parser.repaired


def unescape(raw: str) -> str:
    """Resolve the escapes of a Python text; unknown ones stay. Raises Broken for half a character."""
    if "\\" not in raw:
        return raw
    text = _ESCAPE.sub(_escape, raw)
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise Broken("CALL_NOT_LITERAL", "a text holds half a character") from None
    return text


def _escape(match: re.Match[str]) -> str:
    newline, simple, two, four, eight, octal, other = match.groups()
    if newline:
        return ""
    if simple:
        return _SIMPLE[simple]
    if octal:
        return chr(int(octal, 8))
    if other is not None:
        return "\\" + other
    code = int(two or four or eight, 16)
    if code > 0x10FFFF:
        raise Broken("CALL_NOT_LITERAL", "an escape names no character")
    return chr(code)
