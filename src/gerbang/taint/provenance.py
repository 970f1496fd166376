"""Where the values of a call's arguments came from: the user, trusted data, or a text from outside.

A comparison of values, not a proof of flow: a model may always rephrase. What cannot be explained is said
to be so, and policy decides what that means. Linear in the sizes; texts and results are bounded.

Whoever writes a text from outside may guess what a user says, or what is on record: small numbers, dates,
single words. What can be guessed is the user's, or trusted, only as long as no text from outside says it too,
and it binds nothing.

A tool of the inside is no laundry: what a call was given is not explained by its own result, nor by what
reads it back later in the run, and what is computed is as good as what it was computed from.
"""

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from gerbang.values.taint import TrustLevel

KEPT: Final = 50
"""How many results are remembered, the newest; and how many texts that went into calls."""
_TEXT_CHARS: Final = 64_000
_HEARD_CHARS: Final = 20_000  # no model is shown more of a result
_LEAVES: Final = 5_000
_ASKED: Final = 200  # parts of an argument; of one with more of them nobody can say
_SHORT: Final = 3  # a shorter value is found everywhere by chance: only a whole word counts
_PIECE: Final = 12  # so many letters and digits in a row are no coincidence
_ALIKE: Final = 8  # letters and digits that make two writings of one value
_PIECES: Final = 32  # so many of them are looked for
_CORES: Final = 20
_BINDING: Final = 200  # objects in a result; one with more may just try all numbers
_DIGITS: Final = 4  # in a name that binds, such as an order's
_NUMBER: Final = 6  # digits of a number that nobody guesses, zeros at its ends apart
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?([t ].*)?|[0-9]{1,4}[./][0-9]{1,2}[./][0-9]{1,4}")
_PLACES: Final = 100  # of one value in one text: more are not looked at
_NOT_WORD: Final = re.compile(r"[\W_]+")
_APART: Final = frozenset(" \t\r\n\v\f\u00a0\"'`()[]{}<>|\u201c\u201d\u2018\u2019\u00ab\u00bb")
_LISTED: Final = frozenset(",;")
_STOPS: Final = frozenset(".:!?")
_PATH: Final = frozenset("/\\")
ORDER: Final = ("user", "trusted", "bound", "equal", "contained", "derived", "unexplained")
"""From the best to the worst: an argument of several values is as good as its worst."""
_GOOD: Final = frozenset({"user", "trusted"})


class Source(Struct, frozen=True, gc=False):
    """Where a value came from, and of which tools' results, as far as they were looked at."""

    provenance: str
    tools: tuple[str, ...] = ()
    trust: TrustLevel | None = None


_UNEXPLAINED: Final = Source(ORDER[-1])


class _Heard(Struct, frozen=True):
    """A result that the model has seen. `objects` are the leaves of each JSON object in it."""

    tool: str
    trust: TrustLevel
    text: str
    plain: str
    leaves: frozenset[str]
    objects: tuple[frozenset[str], ...]
    at: int


class _Sent(Struct, frozen=True):
    """What the model gave to a call, but for the user's words. `at`: what is heard then may repeat it.

    `cores` are the letters and digits of its values, as far as they are long enough to be told again.
    """

    text: str
    plain: str
    cores: tuple[str, ...]
    at: int


class Provenance:
    """What one run knows of the origin of values. Belongs to the run."""

    def __init__(self) -> None:
        self._said = ""
        self._heard: deque[_Heard] = deque(maxlen=KEPT)
        self._sent: deque[_Sent] = deque(maxlen=KEPT)
        self._count = 0

    def say(self, text: str) -> None:
        """Remember what the user wrote."""
        self._said = f"{self._said}\n{text.lower()}"[-_TEXT_CHARS:]

    def hear(
        self,
        tool: str,
        trust: TrustLevel,
        value: Any,
        given: Mapping[str, Any] | None = None,
        fields: frozenset[str] = frozenset(),
    ) -> None:
        """Remember a result. `given` are the arguments of its call, `fields` the names in their schema."""
        self._count += 1
        if trust == "trusted" and given:  # it can say no more than it was told
            worst = self.of(given, fields)
            if worst.provenance == ORDER[-1]:
                return
            if worst.provenance not in _GOOD:
                trust = worst.trust or "external"
        self._sends(given, fields)
        objects: list[frozenset[str]] = []
        leaves = [leaf.casefold() for leaf in _leaves(value, frozenset(), objects, _LEAVES)[0]]
        text = (value if isinstance(value, str) else "\n".join(leaves))[:_HEARD_CHARS].casefold()
        self._heard.append(
            _Heard(tool, trust, text, _plain(text), frozenset(leaves), tuple(objects), self._count)
        )

    def _sends(self, given: Mapping[str, Any] | None, fields: frozenset[str]) -> None:
        """Remember what went into a call and is not the user's."""
        leaves = [leaf for leaf in _leaves(given or {}, fields, [], _LEAVES)[0] if not self._named(leaf)]
        if leaves:
            text = "\n".join(leaves)[:_TEXT_CHARS].casefold()
            cores = [_plain(leaf[:_HEARD_CHARS].casefold()) for leaf in leaves[:_CORES]]
            long = tuple(core for core in cores if len(core) >= _ALIKE)
            self._sent.append(_Sent(text, _plain(text), long, self._count))

    def of(self, value: Any, fields: frozenset[str] = frozenset()) -> Source:
        """Return where an argument's value came from: the worst of its parts.

        Names of members count as parts, except `fields`: those that stand in the schema. Of a value with
        more parts, or longer ones, than are looked at, nobody can say.
        """
        leaves, whole = _leaves(value, fields, [], _ASKED)
        if not whole:
            return _UNEXPLAINED
        worst: Source | None = None
        for leaf in leaves:
            found = self._leaf(leaf)
            if worst is None or ORDER.index(found.provenance) > ORDER.index(worst.provenance):
                worst = found
            if worst.provenance == ORDER[-1]:
                break
        return worst or Source("trusted")  # true, false, null and nothing at all: there is no text in them

    def _named(self, leaf: str) -> bool:
        """Tell whether the user has named the value: as it is, not as a part of something longer."""
        return _stands_in(leaf.lower(), self._said)

    def _leaf(self, leaf: str) -> Source:
        folded = leaf.casefold()
        named, plain = self._named(leaf), _plain(folded)
        if can_be_guessed(folded):
            told = self._best(self._told, folded, plain)
            if told is not None:
                return told
        if named:
            return Source("user")
        return self._best(self._within, folded, plain) or _UNEXPLAINED

    def _best(self, look: Callable[["_Heard", str, str], str | None], leaf: str, plain: str) -> Source | None:
        """Return the best that results say of a value, by that way of looking at them."""
        best: Source | None = None
        for heard in self._heard:
            how = look(heard, leaf, plain)
            if how is not None and (best is None or ORDER.index(how) < ORDER.index(best.provenance)):
                best = Source(how, (heard.tool,), heard.trust)
        return best

    def _told(self, heard: _Heard, leaf: str, plain: str) -> str | None:
        """Tell how a text from outside says a value as a whole."""
        if heard.trust != "external":
            return None
        if leaf in heard.leaves:
            return self._within(heard, leaf, plain)
        return "contained" if _stands_in(leaf, heard.text) else None

    def _within(self, heard: _Heard, leaf: str, plain: str) -> str | None:
        if heard.trust != "external":
            return self._inside(heard, leaf, plain)
        if leaf in heard.leaves:
            return "bound" if self._bound(heard, leaf) else "equal"
        if len(leaf) <= _SHORT:
            return None
        if leaf in heard.text:
            return "contained"
        return _resembles(heard, plain)

    def _inside(self, heard: _Heard, leaf: str, plain: str) -> str | None:
        if leaf in heard.leaves or (len(leaf) > _SHORT and _stands_in(leaf, heard.text)):
            return None if self._went_in(leaf, plain, heard.at) else "trusted"
        return _resembles(heard, plain) if len(leaf) > _SHORT else None

    def _went_in(self, leaf: str, plain: str, at: int) -> bool:
        """Tell whether the model itself had given the value, or the most of it, to a call before `at`."""
        return any(
            (len(leaf) > _SHORT and _stands_in(leaf, sent.text))
            or (len(leaf) <= _SHORT and leaf in sent.text.split("\n"))
            or (len(plain) >= _ALIKE and plain in sent.plain)
            or any(core in plain for core in sent.cores)
            for sent in self._sent
            if sent.at <= at
        )

    def _bound(self, heard: _Heard, leaf: str) -> bool:
        """Tell whether the value stands in one object with something that the user has named.

        That is an address, or a name or number that nobody guesses: words that the user has used stand in
        any letter, or are put there, and so do small numbers and dates.
        """
        return len(heard.objects) <= _BINDING and any(
            leaf in leaves and any(other != leaf and _tells_apart(other, self._said) for other in leaves)
            for leaves in heard.objects
        )


def of_arguments(
    known: Provenance, arguments: Mapping[str, Any], fields: frozenset[str] = frozenset()
) -> dict[str, Source]:
    """Return where the values of the arguments came from. `fields` are the names in their schema."""
    return {name: known.of(value, fields) for name, value in arguments.items()}


def field_names(schema: Any) -> frozenset[str]:
    """Return the names of the members that a JSON Schema speaks of, at any depth."""
    names: set[str] = set()
    stack, seen = [schema], 0
    while stack and seen < _LEAVES:
        item = stack.pop()
        seen += 1
        if isinstance(item, Mapping):
            properties = item.get("properties")
            if isinstance(properties, Mapping):
                names.update(properties)
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
    return frozenset(names)


def _leaves(
    value: Any, fields: frozenset[str], objects: list[frozenset[str]], most: int
) -> tuple[list[str], bool]:
    """Return texts and numbers of a JSON value in their order, and whether all of it was looked at.

    Names of members are among them, but for `fields`. Notes the folded leaves of each object.
    """
    found: list[str] = []
    stack, count, whole = [value], 0, True
    while stack and count < most:
        item = stack.pop()
        count += 1
        if isinstance(item, str):
            whole = whole and len(item) <= _TEXT_CHARS
            text = item[:_TEXT_CHARS].strip()
            if text:
                found.append(text)
        elif isinstance(item, bool) or item is None:
            continue
        elif isinstance(item, int | float):
            found.append(_number(item))
        elif isinstance(item, Mapping):
            own = [one for one in item.values() if isinstance(one, str | int | float)]
            folded = [
                (one[:_TEXT_CHARS].strip().casefold() if isinstance(one, str) else _number(one))
                for one in own
                if not isinstance(one, bool)
            ]
            objects.append(frozenset(folded))
            for name, below in reversed(tuple(item.items())):
                stack.append(below)
                if name not in fields:
                    stack.append(name)
        elif isinstance(item, list | tuple):
            stack.extend(reversed(item))
    return found, whole and not stack


def _stands_in(leaf: str, text: str) -> bool:
    """Tell whether the value stands in the text as a whole: nothing that belongs to it goes on at its ends.

    `evil.example` is not named by `ana@evil.example.com`, nor `/srv` by `/srv/tmp`.
    """
    path = not _PATH.isdisjoint(leaf)
    at, end = text.find(leaf), len(text)
    for _ in range(_PLACES):
        if at < 0:
            return False
        after = at + len(leaf)
        before = text[at - 1] if at else " "
        if _parts(before, text[at], path, stop=True) and (
            after == end
            or _parts(text[after], text[after - 1], path, stop=False, beyond=text[after + 1 : after + 2])
        ):
            return True
        at = text.find(leaf, at + 1)
    return False


def _parts(mark: str, edge: str, path: bool, *, stop: bool, beyond: str = "") -> bool:
    """Tell whether a mark beside a value parts it from the rest. `edge` is the value's own last letter there.

    `stop`: the mark stands before the value. A full stop behind it must end a sentence (`beyond`).
    """
    if mark in _APART or mark.isspace():
        return True
    if mark in _LISTED:
        return not edge.isdigit() or (not stop and not beyond.isdigit())
    if mark in _PATH:
        return not path
    if stop:
        return mark == ":"
    return mark in _STOPS and (not beyond or beyond in _APART or beyond.isspace())


def _tells_apart(leaf: str, said: str) -> bool:
    """Tell whether the user has named just this, and nobody could have put it there by trying."""
    if can_be_guessed(leaf):
        return False
    digits = sum(letter.isdigit() for letter in leaf)
    return ("@" in leaf or digits >= _DIGITS) and _stands_in(leaf, said)


def can_be_guessed(leaf: str) -> bool:
    """Tell whether a value is so short or so common that it stands in two texts by chance, or by trying: a
    word, a number of few digits, a date.
    """
    plain = _plain(leaf)
    if len(plain) <= _SHORT or leaf.isalpha() or _DATE.fullmatch(leaf):
        return True
    return plain.isdigit() and len(plain.strip("0")) < _NUMBER


def _number(value: float) -> str:
    """Return a number as it is written; JSON knows no difference between 5 and 5.0."""
    if type(value) is float and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _plain(text: str) -> str:
    return _NOT_WORD.sub("", text)


def _resembles(heard: _Heard, plain: str) -> str | None:
    if len(plain) > _SHORT and plain in heard.plain:
        return "derived"
    return "derived" if _shares_a_piece(plain, heard.plain) else None


def _shares_a_piece(plain: str, other: str) -> bool:
    """Tell whether a long run of letters and digits stands in both. Looks at overlapping pieces only."""
    if len(plain) < _PIECE:
        return False
    size = min(len(plain), 2_000) - _PIECE + 1
    ends = range(0, size, max(_PIECE // 2, -(-size // _PIECES)))
    return any(plain[start : start + _PIECE] in other for start in ends)
