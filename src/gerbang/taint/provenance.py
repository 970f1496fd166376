"""Where the values of a call's arguments came from: the user, trusted data, or a text from outside.

A comparison of values, not a proof of flow: a model may always rephrase. What cannot be explained is said
to be so, and policy decides what that means. Linear in the sizes; texts and results are bounded.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from gerbang.values.taint import TrustLevel

KEPT: Final = 50
"""How many results are remembered, the newest."""
_TEXT_CHARS: Final = 64_000
_LEAVES: Final = 5_000
_SHORT: Final = 3  # a shorter value is found everywhere by chance: only a whole word counts
_PIECE: Final = 12  # so many letters and digits in a row are no coincidence
_NOT_WORD: Final = re.compile(r"[\W_]+")
_BETWEEN: Final = re.compile(r"[\s,;:!?\"'()\[\]{}<>]+")
ORDER: Final = ("user", "trusted", "bound", "equal", "contained", "derived", "unexplained")
"""From the best to the worst: an argument of several values is as good as its worst."""


class Source(Struct, frozen=True, gc=False):
    """Where a value came from, and of which tools' results, as far as they were looked at."""

    provenance: str
    tools: tuple[str, ...] = ()
    trust: TrustLevel | None = None


class _Heard(Struct, frozen=True):
    """A result that the model has seen. `objects` are the leaves of each JSON object in it."""

    tool: str
    trust: TrustLevel
    text: str
    plain: str
    leaves: frozenset[str]
    objects: tuple[frozenset[str], ...]


class Provenance:
    """What one run knows of the origin of values. Belongs to the run."""

    def __init__(self) -> None:
        self._said = ""
        self._words: frozenset[str] = frozenset()
        self._heard: deque[_Heard] = deque(maxlen=KEPT)

    def say(self, text: str) -> None:
        """Remember what the user wrote."""
        self._said = f"{self._said}\n{text.casefold()}"[-_TEXT_CHARS:]
        words = [word for word in _BETWEEN.split(self._said) if word]
        self._words = frozenset(words + [word.rstrip(".") for word in words])

    def hear(self, tool: str, trust: TrustLevel, value: Any) -> None:
        """Remember a result."""
        objects: list[frozenset[str]] = []
        leaves = frozenset(_leaves(value, objects))
        text = (value if isinstance(value, str) else "\n".join(leaves))[:_TEXT_CHARS].casefold()
        self._heard.append(_Heard(tool, trust, text, _plain(text), leaves, tuple(objects)))

    def of(self, value: Any) -> Source:
        """Return where an argument's value came from: the worst of its parts."""
        worst = Source("trusted")  # true, false, null and nothing at all: there is no text in them
        first = True
        for leaf in _leaves(value, []):
            found = self._leaf(leaf)
            if first or ORDER.index(found.provenance) > ORDER.index(worst.provenance):
                worst, first = found, False
            if worst.provenance == ORDER[-1]:
                break
        return worst

    def _named(self, leaf: str) -> bool:
        """Tell whether the user has named the value: as a whole word, or, if it is longer, anywhere."""
        return leaf in self._words or (len(leaf) > _SHORT and leaf in self._said)

    def _leaf(self, leaf: str) -> Source:
        if self._named(leaf):
            return Source("user")
        best: Source | None = None
        for heard in self._heard:
            how = self._within(heard, leaf)
            if how is not None and (best is None or ORDER.index(how) < ORDER.index(best.provenance)):
                best = Source(how, (heard.tool,), heard.trust)
        return best or Source("unexplained")

    def _within(self, heard: _Heard, leaf: str) -> str | None:
        inside = heard.trust != "external"
        if leaf in heard.leaves:
            if inside:
                return "trusted"
            return "bound" if self._bound(heard, leaf) else "equal"
        if len(leaf) <= _SHORT:
            return None
        if leaf in heard.text:
            return "trusted" if inside else "contained"
        plain = _plain(leaf)
        if len(plain) > _SHORT and plain in heard.plain:
            return "derived"
        return "derived" if _shares_a_piece(plain, heard.plain) else None

    def _bound(self, heard: _Heard, leaf: str) -> bool:
        """Tell whether the value stands in one object with something that the user has named."""
        return any(
            leaf in leaves
            and any(other != leaf and len(other) >= _SHORT and self._named(other) for other in leaves)
            for leaves in heard.objects
        )


def of_arguments(known: Provenance, arguments: Mapping[str, Any], names: Iterable[str]) -> dict[str, Source]:
    """Return where the values of the named arguments came from."""
    return {name: known.of(arguments[name]) for name in names if name in arguments}


def _leaves(value: Any, objects: list[frozenset[str]]) -> Iterator[str]:
    """Yield texts and numbers of a JSON value, folded; note the leaves of each of its objects."""
    stack, count = [value], 0
    while stack and count < _LEAVES:
        item = stack.pop()
        count += 1
        if isinstance(item, str):
            if item.strip():
                yield item[:_TEXT_CHARS].strip().casefold()
        elif isinstance(item, bool) or item is None:
            continue
        elif isinstance(item, int | float):
            yield str(item)
        elif isinstance(item, Mapping):
            own = [one for one in item.values() if isinstance(one, str | int | float)]
            folded = [str(one)[:_TEXT_CHARS].strip().casefold() for one in own if not isinstance(one, bool)]
            objects.append(frozenset(folded))
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)


def _plain(text: str) -> str:
    return _NOT_WORD.sub("", text)


def _shares_a_piece(plain: str, other: str) -> bool:
    """Tell whether a long run of letters and digits stands in both. Looks at overlapping pieces only."""
    if len(plain) < _PIECE:
        return False
    ends = range(0, min(len(plain), 2_000) - _PIECE + 1, _PIECE // 2)
    return any(plain[start : start + _PIECE] in other for start in ends)
