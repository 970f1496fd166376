"""Structured calls out of OpenAI's deltas: which call a piece belongs to, as servers really number them.

Seen in the wild: no ids, a new id in every chunk, every index 0, an index that starts at 1 or jumps, the
name repeated in every chunk, arguments whole, in pieces or as an object, the whole call sent once more at
the end. Whether a call's arguments are complete (brackets balance) tells the ambiguous cases apart; the
balance is kept as pieces arrive, so each character is looked at once.
"""

import json
from typing import Any, Final

from gerbang.limits import MAX_CALLS_PER_ANSWER
from gerbang.values.model import CallDelta, ModelCall

_MAX_CALLS: Final = 4 * MAX_CALLS_PER_ANSWER


class _Balance:
    """Follows JSON text in pieces and knows whether one object has opened and closed."""

    def __init__(self) -> None:
        self.depth = 0
        self.complete = False
        self._string = False
        self._escape = False

    def feed(self, text: str) -> None:
        for letter in text:
            if self._string:
                if self._escape:
                    self._escape = False
                elif letter == "\\":
                    self._escape = True
                elif letter == '"':
                    self._string = False
            elif letter == '"':
                self._string = True
            elif letter in "{[":
                self.depth += 1
            elif letter in "}]":
                self.depth -= 1
                self.complete = self.complete or self.depth <= 0


class _Open:
    """One call that has opened."""

    def __init__(self, place: int, index: int | None, call_id: str | None, name: str | None) -> None:
        self.place = place
        self.index = index
        self.id = call_id
        self.name = name
        self.pieces: list[str] = []
        self.size = 0
        self.balance = _Balance()

    def is_repeat(self, fragment: str) -> bool:
        """Tell whether a piece after the end is the whole call sent once more."""
        if not self.balance.complete or len(fragment) < self.size:
            return False  # told by the length: joining the pieces for every fragment would be quadratic
        return fragment.strip() == "".join(self.pieces).strip()


class CallReader:
    """Feed the entries of `tool_calls`, get CallDelta events; `finish` gives the complete calls."""

    def __init__(self) -> None:
        self._calls: list[_Open] = []
        self._by_id: dict[str, _Open] = {}
        self._by_index: dict[int, _Open] = {}

    @property
    def full(self) -> bool:
        """True when the answer holds more calls than anybody will run: the rest is not read."""
        return len(self._calls) >= _MAX_CALLS

    def __bool__(self) -> bool:
        return bool(self._calls)

    def feed(self, entry: Any) -> list[CallDelta]:
        """Read one entry of a delta's or message's `tool_calls`. Anything unreadable in it is passed over."""
        if not isinstance(entry, dict) or self.full:
            return []
        function = entry.get("function")
        if not isinstance(function, dict):
            function = entry
        name = _text(function.get("name"))
        call_id = _text(entry.get("id"))
        index = entry.get("index")
        index = index if isinstance(index, int) and not isinstance(index, bool) else None
        fragment = _fragment(function.get("arguments"))
        call = self._target(index, call_id, name, fragment)
        if call is None:
            if not (name or fragment.strip() or call_id):
                return []
            call = _Open(len(self._calls), index, call_id, name)
            self._calls.append(call)
            if index is not None:
                self._by_index[index] = call
            if call_id is not None:
                self._by_id.setdefault(call_id, call)
            return self._add(call, name, fragment)
        if call.id is None and call_id is not None:
            call.id = call_id
            self._by_id.setdefault(call_id, call)
        named = name if call.name is None else None
        call.name = call.name or name
        return self._add(call, named, "" if call.is_repeat(fragment) else fragment)

    def finish(self, *, cut_off: bool) -> list[ModelCall]:
        """Return the calls in the order in which they opened.

        After a cut, a call whose arguments never began is left out: an empty text would pass for "no
        arguments". One that was cut in the middle is given as it stands; no reader takes it for complete.
        """
        return [
            ModelCall(call.place, call.id, call.name or "", "".join(call.pieces))
            for call in self._calls
            if not cut_off or "".join(call.pieces).strip()
        ]

    def _add(self, call: _Open, name: str | None, fragment: str) -> list[CallDelta]:
        if fragment:
            call.pieces.append(fragment)
            call.size += len(fragment)
            call.balance.feed(fragment)
        return [CallDelta(call.place, name, fragment)] if name or fragment else []

    def _target(
        self, index: int | None, call_id: str | None, name: str | None, fragment: str
    ) -> _Open | None:
        """Return the open call that an entry continues, or None when it opens a new one."""
        if not self._calls:
            return None
        if call_id is not None and call_id in self._by_id:
            return self._of_id(self._by_id[call_id], index, name, fragment)
        same = None if index is None else self._by_index.get(index)
        last = self._calls[-1]
        if name is None:
            return same or last
        candidate = same if index is not None else last
        if candidate is None or (candidate.name is not None and candidate.name != name):
            return None
        if call_id is not None and candidate.id is not None and (candidate.balance.complete or not fragment):
            return None  # a new id and a name: another call, unless the first one is still being written
        if candidate.balance.complete and not (index is not None and candidate.is_repeat(fragment)):
            return None
        return candidate

    def _of_id(self, known: _Open, index: int | None, name: str | None, fragment: str) -> _Open | None:
        """Return the call that an entry with a known id continues. Some servers give all calls one id."""
        if index is None or index == known.index or known.index is None:
            over = name is not None and known.balance.complete and bool(fragment.strip())
            return None if over and not known.is_repeat(fragment) else known
        other = self._by_index.get(index)
        if other is not None and other.id == known.id:
            return other
        return None if name is not None and not known.is_repeat(fragment) else known


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _fragment(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
