"""What a run has done so far, as policy sees it: the last calls, and counts that never grow with time.

The runtime tells of every call that begins (`note_started`) and ends (`note_finished`). Both cost the same
after ten calls and after ten thousand; so does every question.
"""

from collections.abc import Iterable
from typing import Any, Final, Literal

from msgspec import Struct

from gerbang.policy.tool_facts import ToolFacts

KEPT: Final = 50
"""How many calls are kept one by one; older ones live on in the counts."""

CallStatus = Literal["running", "ok", "error", "uncertain"]
STATUSES: Final = ("running", "ok", "error", "uncertain")


class PastCall(Struct, frozen=True, gc=False):
    """One call of the run. `number` counts from 1 in the order in which calls began.

    `status` is `running`, `ok`, `error` (it is known that nothing came of it) or `uncertain`.
    `resources` are kinds of things that the tool works on, `keys` what the call is counted under.
    """

    number: int
    tool: str
    risk_class: str
    group: str
    status: CallStatus
    step: str = ""
    resources: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def is_under(self, keys: frozenset[str]) -> bool:
        """Tell whether the call is counted under any of the keys."""
        return not keys.isdisjoint(self.keys)

    def as_dict(self) -> dict[str, Any]:
        """Return the form that the policy document shows."""
        return {
            "number": self.number,
            "tool": self.tool,
            "risk_class": self.risk_class,
            "group": self.group,
            "status": self.status,
            "step": self.step,
            "resources": list(self.resources),
        }


class Tally:
    """Counts of one key, such as a tool. `last` and `last_ok` are call numbers, 0 when there is none."""

    __slots__ = ("last", "last_ok", "ok", "started")

    def __init__(self) -> None:
        self.started = self.last = self.ok = self.last_ok = 0

    def as_dict(self) -> dict[str, int]:
        """Return the form that the policy document shows."""
        return {"calls": self.started, "ok": self.ok, "last": self.last, "last_ok": self.last_ok}


Before = tuple[tuple[int, ...], PastCall | None]
"""The newest call under each key of a tool, and the oldest one that is kept, if a new one takes its place."""

NONE: Final = Tally()
"""The counts of what never happened. Not to be changed."""

_SHOWN: Final = {"tool:": "by_tool", "class:": "by_class", "group:": "by_group", "resource:": "by_resource"}


class History:
    """The calls of one run. Belongs to the run; one run has one, whoever drives it.

    `total` calls began, `in_flight` of them have not ended. `tallies` are the counts by key.
    """

    __slots__ = ("_ring", "in_flight", "tallies", "total")

    def __init__(self) -> None:
        self._ring: list[PastCall] = []
        self.tallies: dict[str, Tally] = {}
        self.in_flight = 0
        self.total = 0

    def note_started(self, tool: ToolFacts, step: str = "") -> int:
        """Remember a call that begins, and return its number."""
        self.total = number = self.total + 1
        self.in_flight += 1
        past = PastCall(
            number, tool.name, tool.risk_class, tool.group, "running", step, tool.resources, tool.keys
        )
        if number <= KEPT:
            self._ring.append(past)
        else:
            self._ring[(number - 1) % KEPT] = past
        for key in tool.keys:
            tally = self.tallies.get(key)
            if tally is None:
                tally = self.tallies[key] = Tally()
            tally.started += 1
            tally.last = number
        return number

    def note_finished(self, number: int, tool: ToolFacts, status: CallStatus) -> None:
        """Remember how the call of that number ended. `running` says that it never was sent: as `error`."""
        self.in_flight -= 1
        if number > self.total - KEPT:
            at = (number - 1) % KEPT
            old = self._ring[at]
            self._ring[at] = PastCall(
                number, old.tool, old.risk_class, old.group, status, old.step, old.resources, old.keys
            )
        if status == "ok":
            for key in tool.keys:
                tally = self.tallies[key]
                tally.ok += 1
                if number > tally.last_ok:
                    tally.last_ok = number

    def take_back(self, number: int, tool: ToolFacts) -> None:
        """Remember that the call of that number never was sent: it is not counted as one that began."""
        self.note_finished(number, tool, "error")
        for key in tool.keys:
            self._less(key)

    def before(self, tool: ToolFacts) -> Before:
        """Return what `withdraw` needs of a call that is about to be noted."""
        lasts = tuple([self.tally(key).last for key in tool.keys])
        return lasts, self._ring[self.total % KEPT] if self.total >= KEPT else None

    def withdraw(self, number: int, tool: ToolFacts, before: Before) -> None:
        """Forget that the call of that number began: it is to be decided on anew, and must not see itself."""
        lasts, former = before
        for key, last in zip(tool.keys, lasts, strict=True):
            tally = self._less(key)
            if tally.last == number:
                tally.last = last
        if number != self.total:  # others have begun since: its number stays taken
            self.note_finished(number, tool, "error")
            return
        self.in_flight -= 1
        self.total -= 1
        if former is None:
            self._ring.pop()
        else:
            self._ring[self.total % KEPT] = former

    def _less(self, key: str) -> Tally:
        """Count one call less under the key; what nothing is counted under was never there."""
        tally = self.tallies[key]
        tally.started -= 1
        if not tally.started:
            del self.tallies[key]
        return tally

    def tally(self, key: str) -> Tally:
        """Return the counts of a key: `tool:NAME`, `under:PREFIX`, `class:CLASS`, `group:NAME` and so on."""
        return self.tallies.get(key, NONE)

    def last(self, limit: int = KEPT) -> list[PastCall]:
        """Return the newest calls, the oldest of them first. At most KEPT are known."""
        held = len(self._ring)
        wanted = min(limit, held)
        return [self._ring[(self.total - wanted + offset) % held] for offset in range(wanted)]

    def as_dict(self) -> dict[str, Any]:
        """Return the form that the policy document shows."""
        shown: dict[str, Any] = {
            "total": self.total,
            "in_flight": self.in_flight,
            "calls": [past.as_dict() for past in self.last()],
            **{name: {} for name in _SHOWN.values()},
        }
        for key, tally in self.tallies.items():
            kind, _, name = key.partition(":")
            section = _SHOWN.get(kind + ":")
            if section is not None:
                shown[section][name] = tally.as_dict()
        return shown

    @classmethod
    def of(cls, calls: Iterable[tuple[ToolFacts, CallStatus, str]]) -> "History":
        """Return the history of calls that were made before, the oldest first: tool, status, step."""
        history = cls()
        for tool, status, step in calls:
            number = history.note_started(tool, step)
            if status != "running":
                history.note_finished(number, tool, status)
        return history


NO_HISTORY: Final = History()
"""The history of a run that has done nothing. Not to be changed."""
