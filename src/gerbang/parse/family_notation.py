"""Machine of the family `call:name{key:value}` with string marks of its own (Gemma)."""

import re
from typing import Any, Final

from gerbang.parse.block import not_started, recover
from gerbang.parse.caps import MAX_CALL, MAX_DEPTH
from gerbang.parse.faults import Broken
from gerbang.parse.json_value import dump, load, same
from gerbang.parse.layout import Notation
from gerbang.parse.marks import Marks
from gerbang.parse.plan import Plan
from gerbang.parse.python_calls import unescape
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import upcoming

_HEAD: Final = re.compile(r"\s*call:\s*([\w.\-/:]+)\s*(?=\{)")
_BLANK: Final = re.compile(r"\s*")
_KEY: Final = re.compile(
    r"""(?:"((?:[^"\\]|\\.)*+)"|'((?:[^'\\]|\\.)*+)'|([^\s:{}\[\],<"'][^:{}\[\],<"']*+))\s*:""", re.DOTALL
)
_PLAIN: Final = re.compile(r"""(?:"((?:[^"\\]|\\.)*+)"|'((?:[^'\\]|\\.)*+)')""", re.DOTALL)
_WORD: Final = re.compile(r"[^\s,{}\[\]<:\"']+")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_AFTER: Final = re.compile(r"\s*[,}\]]")


def read(reader: Reader, plan: Plan, layout: Notation, mark: str) -> Machine:
    """Read the block behind `mark`, which was taken. It is held up to its end mark and then read as a
    whole.
    """
    ahead, _ = yield from upcoming(reader, ("call:",))
    if not ahead:
        not_started(reader, mark)
        return
    marks = Marks((layout.close, layout.quote))
    held = reader.held
    held.clear()
    size = 0
    inside = closed = False
    while not closed:
        buf, pos = reader.buf, reader.pos
        match = marks.search(buf, pos)
        end = match.start() if match else len(buf) if reader.ended else marks.held(buf, pos)
        if match:
            end = match.end()
            found = match.group(1)
            closed = found == layout.close and not inside
            inside = inside != (found == layout.quote)
        held.append(buf[pos:end])
        size += end - pos
        reader.pos = end
        if size > MAX_CALL:
            yield from recover(reader, plan, Broken("CALL_TOO_LARGE", f"more than {MAX_CALL} characters"))
            return
        if match is None:
            if reader.ended:
                break
            reader.rest(marks.stops, hold=True)
            yield
    text = "".join(held)
    held.clear()
    _settle(reader, layout, text, closed=closed)


def _settle(reader: Reader, layout: Notation, text: str, *, closed: bool) -> None:
    """Read the held block; when its string marks do not pair up, the block up to its first end mark."""
    body = text.removesuffix(layout.close) if closed else text
    try:
        _report(reader, body, layout.quote, whole=closed)
    except Broken as broken:
        at = text.find(layout.close)
        if reader.repair and at >= 0 and at + len(layout.close) <= len(text) and at != len(body):
            rest = text[at + len(layout.close) :]
            try:
                _report(reader, text[:at], layout.quote, whole=True)
            except Broken:
                reader.fault(broken.code, broken.why)
            reader.buf, reader.pos = "x" + rest + reader.buf[reader.pos :], 1
            return
        cut = not closed and broken.code != "CALL_AMBIGUOUS"
        reader.fault("CALL_TRUNCATED" if cut else broken.code, broken.why)


def _report(reader: Reader, body: str, quote: str, *, whole: bool) -> None:
    head = _HEAD.match(body)
    if head is None:
        raise Broken("CALL_SHAPE" if whole else "CALL_TRUNCATED", "the name of the tool is missing")
    value = NotationText(body, head.end(), quote, repair=reader.repair)
    arguments = value.object(1)
    if body[value.pos :].strip():
        raise Broken("CALL_NOT_JSON", "text follows the arguments")
    reader.call(head.group(1), arguments, dump(arguments), repaired=value.repaired)


class NotationText:
    """One object in the notation."""

    __slots__ = ("_quote", "_repair", "_text", "pos", "repaired")

    def __init__(self, text: str, pos: int, quote: str, *, repair: bool) -> None:
        self._text = text
        self._quote = quote
        self._repair = repair
        self.pos = pos
        self.repaired = False

    def object(self, depth: int) -> dict[str, Any]:
        """Read `{key:value,…}`. Raises Broken."""
        self.pos += 1
        found: dict[str, Any] = {}
        while not self._take("}"):
            key = self._key()
            value = self._value(depth + 1)
            if key in found and not same(found[key], value):
                raise Broken("CALL_AMBIGUOUS", "a key is given twice with two different values")
            found[key] = value
            if not self._take(",") and self._peek() != "}":
                raise Broken("CALL_NOT_JSON", "a comma or a closing bracket is missing")
        return found

    def _peek(self) -> str:
        match = _BLANK.match(self._text, self.pos)
        self.pos = match.end() if match else self.pos
        return self._text[self.pos : self.pos + 1]

    def _take(self, char: str) -> bool:
        if self._peek() != char:
            return False
        self.pos += 1
        return True

    def _mend(self, why: str) -> None:
        if not self._repair:
            raise Broken("CALL_NOT_JSON", why)
        self.repaired = True

    def _key(self) -> str:
        if self._marked():
            key = self._string()
            if not self._take(":"):
                raise Broken("CALL_NOT_JSON", "a colon is missing after a key")
            return key
        match = _KEY.match(self._text, self.pos)
        if match is None:
            raise Broken("CALL_NOT_JSON", "a key is missing")
        self.pos = match.end()
        if match.group(3):
            return match.group(3).strip()
        self._mend("plain quotes in place of the string marks")
        return unescape(match.group(1) or match.group(2) or "")

    def _marked(self) -> bool:
        return self._text.startswith(self._quote, self.pos)

    def _string(self) -> str:
        start = self.pos + len(self._quote)
        end = self._text.find(self._quote, start)
        if end < 0:
            raise Broken("CALL_TRUNCATED")
        self.pos = end + len(self._quote)
        return self._text[start:end]

    def _value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise Broken("CALL_TOO_DEEP", f"more than {MAX_DEPTH} levels")
        char = self._peek()
        if self._marked():
            return self._string()
        if char == "{":
            return self.object(depth)
        if char == "[":
            return self._list(depth)
        plain = _PLAIN.match(self._text, self.pos)
        if plain and _AFTER.match(self._text, plain.end()):
            self._mend("plain quotes in place of the string marks")
            self.pos = plain.end()
            return unescape(plain.group(1) if plain.group(1) is not None else plain.group(2))
        return self._word()

    def _word(self) -> Any:
        match = _WORD.match(self._text, self.pos)
        if match and _AFTER.match(self._text, match.end()):
            word = match.group()
            if word in ("true", "false", "null") or _NUMBER.fullmatch(word):
                self.pos = match.end()
                return load(word)
        end = self._text.find(self._quote, self.pos)
        if end >= 0 and _AFTER.match(self._text, end + len(self._quote)):
            self._mend("an opening string mark is missing")
            start, self.pos = self.pos, end + len(self._quote)
            return self._text[start:end]
        raise Broken("CALL_NOT_JSON", "a value is not in string marks")

    def _list(self, depth: int) -> list[Any]:
        self.pos += 1
        found: list[Any] = []
        while not self._take("]"):
            found.append(self._value(depth + 1))
            if not self._take(",") and self._peek() != "]":
                raise Broken("CALL_NOT_JSON", "a comma or a closing bracket is missing")
        return found
