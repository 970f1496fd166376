"""Deltas that pass by a sleeping machine: what event each of them is."""

from functools import lru_cache
from typing import Final

from gerbang.parse.events import ArgumentsDelta, Content, Event, Reasoning

CONTENT, REASONING, HELD = -1, -2, -3
"""Where plain text goes, when it is not an argument of the call with that index."""
_SHORT: Final = 64
_KEPT: Final = 1_024
_FEW: Final = 8


@lru_cache(maxsize=256)
def _printable(stops: frozenset[str]) -> tuple[str, ...]:
    """Return the stops that stand in a printable text; worked out once, not once an answer."""
    return tuple(stop for stop in stops if stop.isprintable())


class Plain:
    """The event of each short delta without any of `stops`; None for any other delta.

    Models write the same pieces again and again: what was looked through once is kept, up to a bound.
    """

    __slots__ = ("_printable", "known", "stops", "where")

    def __init__(self, stops: frozenset[str], where: int) -> None:
        self.stops = stops
        self.where = where
        self.known: dict[str, Event] = {}
        self._printable = _printable(stops)

    def look(self, delta: str) -> Event | None:
        """Look through a delta that is not among the `known` ones."""
        size = len(delta)
        if size <= _FEW:
            if not size or not self.stops.isdisjoint(delta):
                return None
        elif size >= _SHORT or not self._clear(delta):
            return None
        where = self.where
        event: Event
        if where >= 0:
            event = ArgumentsDelta(where, delta)
        else:
            event = Reasoning(delta) if where == REASONING else Content(delta)
        if len(self.known) < _KEPT:
            self.known[delta] = event
        return event

    def _clear(self, delta: str) -> bool:
        """Tell whether there is no stop in a delta that is not very short."""
        if not delta.isprintable():
            return self.stops.isdisjoint(delta)
        for stop in self._printable:  # noqa: SIM110 -- a generator would cost more than the search
            if stop in delta:
                return False
        return True
