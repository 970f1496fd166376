"""The check of one run's record: its chain, the details of its events, and the payloads that they commit to.

There is one meaning of "whole", and it is this one: the command line, the server and the console all use it.
"""

from typing import Final

from msgspec import Struct

from gerbang.audit.chain import detail_is_true, extend, start
from gerbang.audit.commitments import SALT_BYTES, Commitments
from gerbang.audit.export import body_of
from gerbang.values.record import CallRow, EventRow, RunRow

_SENT: Final = frozenset({"call.dispatched", "call.retried"})
_COMMITTING: Final = _SENT | {"call.finished", "call.resolved"}
_DENIED: Final = "call.refused"


class Checked(Struct, frozen=True):
    """What the check of a run's chain found. `broken_at` is the first event that is not in its place.

    `what` says of it: `chain` (changed, removed, reordered or inserted), `detail` (the detail that goes with
    it was changed), `payload` (the arguments or the result in the call's row are not those that it commits
    to), `checkpoint` (it is not the one that a checkpoint names) or `missing` (it is not there). `head` is
    the digest of the last event that was looked at, in hexadecimal; empty for a run without any.
    """

    run_id: str
    events: int
    head: str
    broken_at: int | None = None
    what: str = ""

    @property
    def whole(self) -> bool:
        """True when nothing was found."""
        return self.broken_at is None


class RunCheck:
    """Takes a run's events one by one, from the first; `found` then says what is wrong, if anything is.

    `run` is the run's row as it was before the first event was read. Details and payloads are checked for as
    long as its salt is kept; what the events commit to is kept meanwhile, two short texts a call. `seen`
    counts events.
    """

    def __init__(self, run_id: str, run: RunRow | None) -> None:
        self._run_id = run_id
        self._marks = _marks(run)
        self._head = start(run_id)
        self._named = False
        self._said: dict[str, tuple[int, str, str]] = {}
        self._denied: dict[str, dict[str, int]] = {}
        self._broken: int | None = None
        self._what = ""
        self.seen = 0

    @property
    def over(self) -> bool:
        """True when something was found: what follows tells no more."""
        return self._broken is not None

    def take(self, event: EventRow) -> None:
        """Look at the next event. After something was found, none is looked at."""
        if self.over:
            return
        self.seen += 1
        self._head = extend(self._head, event.kind, event.body)
        here = event.seq == self.seen and event.run_id == self._run_id
        if not here or event.digest != self._head:
            self._broken, self._what = self.seen, "chain"
        elif not (detail_is_true(event.body, self._marks) and self._note(event)):
            self._broken, self._what = self.seen, "detail"

    def found(self, run: RunRow | None, calls: list[CallRow]) -> Checked:
        """Return what was found. The rows are those after the last event was read: a run that goes on while
        it is checked, or is erased meanwhile, is not taken for one that was changed.
        """
        broken, what, after = self._broken, self._what, _marks(run)
        if broken is None and self._marks is not None and after is not None:
            broken = self._wrong(calls) if after.name == self._marks.name else None
            what = "" if broken is None else "payload"
        return Checked(self._run_id, self.seen, self._head.hex() if self.seen else "", broken, what)

    def _note(self, event: EventRow) -> bool:
        """Keep what an event commits to. False: it was made under a salt that is not the run's."""
        marks = self._marks
        if marks is None:
            return True
        body = body_of(event)
        name = body.get("salt_id")
        if name and not self._named and name != marks.name:  # the first to begin a run gives it its salt
            return False
        self._named = self._named or bool(name)
        if event.kind in _COMMITTING and name == marks.name:
            call = str(body.get("call_id"))
            _, given, gave = self._said.get(call, (0, "", ""))
            sent = event.kind in _SENT
            given = body.get("input_hash", "") if sent else given
            self._said[call] = (event.seq, given, "" if sent else body.get("output_hash", gave))
        elif event.kind == _DENIED and name == marks.name:
            asked = self._denied.setdefault(str(body.get("call_id")), {})
            asked[str(body.get("input_hash"))] = event.seq
        return True

    def _wrong(self, calls: list[CallRow]) -> int | None:
        """Return the number of the event that a call's row does not agree with, None when all do."""
        rows = {row.call_id: row for row in calls if not row.is_denial}
        for name, (seq, given, gave) in self._said.items():
            row = rows.get(name)
            if row is not None and not (self._is(row.arguments, given) and self._is(row.result, gave)):
                return seq
        for row in calls:
            asked = self._denied.get(row.call_id) if row.is_denial else None
            if asked and not any(self._is(row.arguments, given) for given in asked):
                return max(asked.values())
        return None

    def _is(self, payload: object, commitment: str) -> bool:
        # somebody who writes into a database may leave another type there
        marks = self._marks
        if not commitment or marks is None:
            return True
        return type(payload) is bytes and marks.of(payload) == commitment


def _marks(run: RunRow | None) -> Commitments | None:
    return Commitments(run.salt) if run is not None and len(run.salt) == SALT_BYTES else None
