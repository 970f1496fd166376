"""Replay: what a policy would have decided on calls that were made before. Nothing is run.

A run's calls come in the order in which they were decided. The history is built again from them, so that
sequence rules see what they would have seen.
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from gerbang.errors import PolicyError
from gerbang.policy.document import read_document
from gerbang.policy.history import CallStatus, History
from gerbang.policy.input import PolicyInput
from gerbang.policy.tool_facts import ToolFacts
from gerbang.values import Decision


class Recorded(Struct, frozen=True):
    """One call as it was recorded. `record` is `PolicyInput.record()` of then; None when it was not kept.

    `decision` and `reasons` are what was decided then. `status` is how the call stood after its decision,
    None when it did not begin. `since` tells how earlier calls of the run, by their place among those that
    are gone through, stood in the meantime: in the order of the record. `step_id` is the name of its step in
    the history. `arguments` None: they were not kept. `whole` False: parts of the record had to be guessed,
    such as the tool's group.
    """

    run_id: str
    call_id: str
    tool: str
    decision: str
    reasons: tuple[str, ...]
    record: dict[str, Any] | None
    arguments: dict[str, Any] | None
    status: CallStatus | None = None
    whole: bool = True
    since: tuple[tuple[int, CallStatus], ...] = ()
    step_id: str = ""


class Replayed(Struct, frozen=True):
    """A call, and what would be decided now. `now` is None when it cannot be said, and `why` says why not."""

    call: Recorded
    now: Decision | None
    why: str = ""

    @property
    def changed(self) -> bool:
        """True when another decision would be made."""
        return self.now is not None and self.now.decision != self.call.decision

    def as_dict(self) -> dict[str, Any]:
        """Return the form that `--json` prints."""
        return {
            "run_id": self.call.run_id,
            "call_id": self.call.call_id,
            "tool": self.call.tool,
            "then": {"decision": self.call.decision, "reasons": list(self.call.reasons)},
            "now": None if self.now is None else self.now.as_dict(),
            "changed": self.changed,
            "whole": self.call.whole,
            "why": self.why,
        }


def replay_run(calls: Iterable[Recorded], decide: Callable[[PolicyInput], Decision]) -> list[Replayed]:
    """Return for each call of one run, in order, what would be decided now."""
    past = _Past()
    found = []
    for place, call in enumerate(calls):
        for other, status in call.since:
            past.note(other, status)
        document, why = _document(call, past.history)
        if document is None:
            found.append(Replayed(call, None, why))
            continue
        found.append(Replayed(call, decide(document)))
        past.seen[place] = document.tool_facts, call.step_id or str(document.step)
        if call.status is not None:
            past.note(place, call.status)
    return found


class _Past:
    """The history of a run as it grows again. `seen` are the calls that were gone through: tool and step."""

    def __init__(self) -> None:
        self.history = History()
        self.seen: dict[int, tuple[ToolFacts, str]] = {}
        self._begun: dict[int, int] = {}

    def note(self, place: int, status: CallStatus) -> None:
        """Take in how a call stands now."""
        if place not in self.seen:
            return
        facts, step = self.seen[place]
        if place not in self._begun:
            self._begun[place] = self.history.note_started(facts, step)
        if status != "running":
            self.history.note_finished(self._begun[place], facts, status)
            del self.seen[place]


def _document(call: Recorded, history: History) -> tuple[PolicyInput | None, str]:
    if call.record is None:
        return None, "what policy saw was not recorded"
    if call.arguments is None:
        return None, "its arguments were not kept"
    try:
        return read_document({**call.record, "arguments": call.arguments}, "record", history), ""
    except PolicyError as error:
        return None, str(error)
