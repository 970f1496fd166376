"""What one run carries from call to call."""

import asyncio
import itertools
import os
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gerbang.audit.commitments import SALT_BYTES, Commitments
from gerbang.contract.catalogue import Catalogue
from gerbang.contract.semantic import SeenCall
from gerbang.loop.budget import Budget
from gerbang.loop.profile import Profile
from gerbang.loop.texts import Texts
from gerbang.policy.history import History
from gerbang.policy.tool_facts import ToolFacts
from gerbang.runtime.beginning import Beginning
from gerbang.runtime.bodies import step_name
from gerbang.runtime.process import process_name
from gerbang.taint.provenance import Provenance
from gerbang.values import Principal, Proposal, Result
from gerbang.values.limit import Limit
from gerbang.values.record import RUN_SWITCH, Batch, CallRow, Message, RunRow

_SEEN: Final = 200
_WRITERS: Final = itertools.count(1)


class Elsewhere(Struct, frozen=True, gc=False):
    """A call of the run that another process has begun, and not ended as far as we know."""

    number: int
    facts: ToolFacts


def _never() -> bool:
    """Stand in for the clock of a run that has no deadline."""
    return False


def _nowhere(_: Any) -> None:
    """Swallow an event that nobody asked for."""


class Actor(Struct, frozen=True, gc=False):
    """Who the calls of a session are made for, as their events say it, and what makes their commitments."""

    user: str
    team: str | None
    agent: str | None
    delegated_by: tuple[str, ...]
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    process: str
    marks: Commitments


class RunMemory:
    """What all calls of a run share: its budget, whether it has read something from outside, its past calls.

    `row` is the run's own row for as long as no commit has written it. `described` are the contracts, by
    digest, whose facts are on record with a call of the run. `history` is what policy sees of past
    calls, `seen` what validators do: the newest calls that succeeded, for each tool that one of them watches.
    `known` tells where the values of arguments came from, when the policy asks for that. `salt` is the run's
    own: a new one, or that of the run's row.

    `writer` and `name` are this process's for this run, in commits and in records. `knows` is the event of
    the run up to which it knows what others did (`gerbang.runtime.catching_up`), -1 where nobody else can do
    anything, `elsewhere` their calls that have not ended, by step and id, `turn` whose it is to look.
    `tainted_in` is the only answer whose calls have read from outside, and their places in it; None: there
    are several, or none.
    """

    __slots__ = (
        "_known",
        "_marks",
        "_salt",
        "_seen",
        "budget",
        "described",
        "elsewhere",
        "history",
        "knows",
        "name",
        "row",
        "tainted",
        "tainted_in",
        "turn",
        "writer",
    )

    def __init__(self, budget: Budget, salt: bytes = b"") -> None:
        self.budget = budget
        self._salt = b""
        self.adopt(salt)
        self._marks: Commitments | None = None
        self.tainted = False
        self.tainted_in: tuple[str, set[int]] | None = None
        self.row: RunRow | None = None
        self.history = History()
        self._known: Provenance | None = None
        self.described: set[str] = set()
        self.writer = next(_WRITERS)
        self.name = f"{process_name()}.{self.writer}"
        self.knows = -1
        self.turn: asyncio.Lock | None = None
        self.elsewhere: dict[tuple[str, str], Elsewhere] = {}
        self._seen: deque[SeenCall] | None = None

    def taint(self, step: str, ordinal: int) -> None:
        """Note that the call at that place of an answer has told the run something from outside."""
        if not self.tainted:
            self.tainted, self.tainted_in = True, (step, {ordinal})
        elif self.tainted_in is not None:
            if self.tainted_in[0] == step:
                self.tainted_in[1].add(ordinal)
            else:
                self.tainted_in = None

    def tainted_since(self, then: bool | None, proposal: Proposal) -> bool:
        """Tell whether the run has read something from outside.

        `then` is what was said of it when the call was asked about. What other calls of its answer have read
        since does not count: the model had written the call before.
        """
        there = self.tainted_in
        if then is None or there is None or there[0] != step_name(proposal.step_id):
            return self.tainted
        return self.tainted if proposal.ordinal in there[1] else then

    @property
    def known(self) -> Provenance:
        """Where values came from. Made when it is first asked for: most policies never do."""
        if self._known is None:
            self._known = Provenance()
        return self._known

    @property
    def seen(self) -> deque[SeenCall]:
        """The newest calls that succeeded. Made when it is first asked for: most tools have no validators."""
        if self._seen is None:
            self._seen = deque(maxlen=_SEEN)
        return self._seen

    def adopt(self, salt: bytes) -> None:
        """Go on with the salt of the run's row, before any commitment is made."""
        self._salt = salt if len(salt) == SALT_BYTES else b""  # not that of an erased run

    @property
    def salt(self) -> bytes:
        """The run's salt; made when it is first asked for, which a dry run never does."""
        if not self._salt:
            self._salt = os.urandom(SALT_BYTES)
        return self._salt

    @property
    def marks(self) -> Commitments:
        """What makes the commitments of the run's records."""
        if self._marks is None:
            self._marks = Commitments(self.salt)
        return self._marks


class RunSession:
    """Identity, exposure and budget of a run, and the rows that wait for the next commit.

    `memory` is shared by the sessions of one run. `carry` holds rows that must be
    durable before the next effect; they travel in the same commit. `closing` is the row of a run that
    consists of one call and ends with it, `closed_row` the same row once it has; `nameless` tells that its
    caller named none, and `inherited` is then the run under which the same call waited for a person: it ends
    with the call as well. `ended` are the
    results of the answer's calls, by call id, as soon as they are recorded. `emit` receives agent events.
    `beginning` is that of a run under a key, until its start is on record.
    `actor` is what events say of the actor, once a call was made; `roles` and `scopes` are the actor's,
    sorted for the record; `stop` is the tenant's kill switch, `switch`
    the one that ends the run, `stops` are both, `stopping` tells that it was seen to be on. `lease` is the
    run and the fencing number under which it is driven (None: nobody else could), `lease_until` the monotonic
    time from which on nothing may be sent under it and `lease_until_at` the same by the wall clock, `renew`
    what asks the store for more of it.
    `out_of_time` tells, while the run is being cancelled, whether that is because its time is up.
    `closed` are the calls of the answer that had their record, and no row, before a crash: an error code
    each, none for a stored result that was given again. `standing` are the rows of its calls that had no end
    then, by call id; None where a caller drives the run: they are looked up. `key` is the caller's own.
    """

    __slots__ = (
        "actor",
        "beginning",
        "budget",
        "carry",
        "catalogue",
        "closed",
        "closed_row",
        "closing",
        "emit",
        "ended",
        "inherited",
        "intent",
        "key",
        "lang",
        "lease",
        "lease_until",
        "lease_until_at",
        "memory",
        "nameless",
        "out_of_time",
        "principal",
        "profile",
        "purpose",
        "renew",
        "roles",
        "run_id",
        "scopes",
        "standing",
        "stop",
        "stopping",
        "stops",
        "switch",
        "texts",
        "token_limits",
        "watched",
    )

    def __init__(
        self,
        *,
        run_id: str,
        principal: Principal,
        catalogue: Catalogue,
        memory: RunMemory,
        profile: Profile,
        lang: str,
        purpose: str | None = None,
        intent: str | None = None,
        emit: Callable[[Any], None] | None = None,
    ) -> None:
        self.run_id = run_id
        self.act_for(principal)
        self.beginning: Beginning | None = None
        self.catalogue = catalogue
        self.memory = memory
        self.budget = memory.budget
        self.profile = profile
        self.lang = lang
        self.texts: Texts = profile.texts(lang)
        self.purpose = purpose
        self.intent = intent
        self.emit = emit or _nowhere
        self.watched = emit is not None
        self.token_limits: tuple[Limit, ...] = ()
        self.stop = f"tenant:{principal.tenant}"
        self.switch = RUN_SWITCH + run_id
        self.stops = (self.stop, self.switch)
        self.stopping = False
        self.lease: tuple[str, int] | None = None
        self.lease_until = float("inf")
        self.lease_until_at = float("inf")
        self.renew: Callable[[], Awaitable[bool]] | None = None
        self.closed: dict[str, str] = {}
        self.standing: dict[str, CallRow] | None = {}
        self.key: str | None = None
        self.carry: Batch | None = None
        self.closing: RunRow | None = None
        self.closed_row: RunRow | None = None
        self.inherited: RunRow | None = None
        self.nameless = False
        self.out_of_time: Callable[[], bool] = _never
        self.ended: dict[str, Result] = {}

    def act_for(self, who: Principal) -> None:
        """Have what is called from here on be called for `who`, of the same tenant."""
        self.actor: Actor | None = None
        self.principal = who
        self.roles = tuple(sorted(who.roles)) if who.roles else ()
        self.scopes = tuple(sorted(who.scopes)) if who.scopes else ()

    def acting(self) -> Actor:
        """Return the actor, who is the same from the first call on."""
        who, memory = self.principal, self.memory
        self.actor = Actor(
            who.user,
            who.team,
            who.agent,
            who.delegated_by,
            self.roles,
            self.scopes,
            memory.name,
            memory.marks,
        )
        return self.actor

    def ask_to_end(self) -> None:
        """Note that the run is to end because somebody asked for that."""
        self.stopping, self.out_of_time = True, _never

    def ends_as(self, state: str, at: float) -> tuple[RunRow, ...]:
        """Return the rows of the runs that end with this call, as they are then. `at` is in seconds since
        the epoch.
        """
        ending = (self.closing, self.inherited)
        return tuple(replace(row, state=state, updated_at=at) for row in ending if row is not None)

    def reopen(self) -> None:
        """Have a run of one call end anew: more is known of the call, or it is made again."""
        if self.closed_row is not None:
            self.closing, self.closed_row = self.closed_row, None

    def batch(self) -> Batch:
        """Return the batch that waits for the next commit, or a new one. The caller must commit it."""
        carried, self.carry = self.carry, None
        batch = Batch() if carried is None else carried
        batch.writer = self.memory.writer
        return batch

    def give_back(self, batch: Batch, letter: Message | None = None) -> None:
        """Keep what a batch carried that was not written; its last event was the failed attempt's own, and
        so was `letter`.
        """
        owed = Batch(
            runs=batch.runs,
            answers=batch.answers,
            events=batch.events[:-1],
            hold=batch.hold,
        )
        owed.messages = [message for message in batch.messages if message is not letter]
        if self.carry is not None:  # another call of the run left something meanwhile
            owed.runs = (*owed.runs, *self.carry.runs)
            owed.answers = (*owed.answers, *self.carry.answers)
            owed.events += self.carry.events
            owed.messages = (*owed.messages, *self.carry.messages)
        self.carry = owed
