"""Passes on the arguments of an untagged JSON call while it arrives, once nothing but its end can still show
that it is none.
"""

from collections.abc import Callable
from typing import Final

from gerbang.parse.call_object import ARGUMENT_KEYS, NAME_KEYS
from gerbang.parse.caps import MAX_NAME
from gerbang.parse.faults import Broken
from gerbang.parse.json_text import COLON, KEY_OR_END, NEXT, JsonText
from gerbang.parse.json_value import load
from gerbang.parse.reader import Reader

_LONGEST: Final = 6 * MAX_NAME + 64


class Preview:
    """Looks at one value on its way: `seen` after every `run` of its JsonText.

    A call is opened when its name stands before an object of arguments and `opens` says that such a name
    counts. Only the first call of a list is looked at: a list counts as a whole.
    """

    __slots__ = ("_key", "_level", "_name", "_opens", "_piece", "_reader", "_text", "live")

    def __init__(self, reader: Reader, text: JsonText, opens: Callable[[str], bool], *, listed: bool) -> None:
        self._reader = reader
        self._text = text
        self._opens = opens
        self._level = 2 if listed else 1
        text.step = self._level + 1
        self._piece = ""
        self._key: str | None = None
        self._name = ""
        self.live = False

    @property
    def rests(self) -> bool:
        """Whether text that goes by need not be looked at."""
        return not self._text.step or self.live or (self._key is not None and self._key not in NAME_KEYS)

    def seen(self) -> None:
        """Look at what the last `run` wrote. Raises Broken when the call gets too large."""
        text = self._text
        if text.step:
            piece = "".join(text.out)
            text.out.clear()
            if self.live:
                self._live(piece)
            else:
                self._look(piece)
        text.out.clear()

    def _live(self, piece: str) -> None:
        self._reader.write(piece)
        if len(self._text.stack) <= self._level:
            self.live, self._text.step = False, 0

    def _look(self, piece: str) -> None:
        text, level = self._text, self._level
        depth = len(text.stack)
        if self._key is None or self._key in NAME_KEYS:
            self._piece += piece
        if text.done or (depth < level and text.state == NEXT) or len(self._piece) > _LONGEST:
            text.step = 0  # the first object is over, or it is none that calls have
        elif depth == level and text.state == COLON and self._key is None:
            self._key = _read(self._piece.lstrip(" \t\r\n{[,"))
            self._piece = ""
        elif depth == level and text.state == NEXT:
            if self._key in NAME_KEYS and (self._key == "name" or not self._name):
                self._name = _read(self._piece.lstrip(" \t\r\n:"))
            self._key, self._piece = None, ""
        elif depth == level + 1 and text.state == KEY_OR_END and self._key in ARGUMENT_KEYS:
            self._open()

    def _open(self) -> None:
        name = self._name
        if not name or len(name) > MAX_NAME or not name.isprintable() or not self._opens(name):
            self._text.step = 0
            return
        self._reader.open(name)
        self._reader.write("{")
        self._text.step = self._level
        self.live = True


def _read(text: str) -> str:
    try:
        value = load(text)
    except Broken:
        return ""
    return value if isinstance(value, str) else ""
