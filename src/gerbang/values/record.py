"""Rows of the store and the batch that writes them. One batch is one atomic, durable commit.

Audit events are redacted and chained; the other rows are working state, needed to show and resume a run.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from gerbang.values.event import NewEvent, Said


class RunState(StrEnum):
    """How a run stands. `RUNNING` in a reopened store with no live owner means that it was cut off.

    `OPEN` is a run that a caller drives with an own loop: it has no end that we know of. `CLIENT_CALLS`
    ended with calls of the client's own tools; what the client makes of them is another run. `FAILED` is a
    run of one call that gave an error, or of which nobody knows what became.
    """

    RUNNING = "running"
    OPEN = "open"
    COMPLETED = "completed"
    MAX_STEPS = "max_steps"
    BUDGET = "budget"
    DENIED = "denied"
    PENDING_APPROVAL = "pending_approval"
    CANCELLED = "cancelled"
    MODEL_ERROR = "model_error"
    CLIENT_CALLS = "client_calls"
    FAILED = "failed"


class CallState(StrEnum):
    """States of the effect ledger (see `gerbang.ledger`)."""

    PLANNED = "PLANNED"
    DISPATCHED = "DISPATCHED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    UNCERTAIN = "UNCERTAIN"
    RESOLVED_SUCCEEDED = "RESOLVED_SUCCEEDED"
    RESOLVED_FAILED = "RESOLVED_FAILED"
    CANCELLED = "CANCELLED"
    REFUSED = "REFUSED"


class RunRow(Struct, frozen=True, gc=False):
    """One run. `started_at` and `updated_at` are seconds since the epoch.

    `salt` is what the commitments of its records are made with: 32 bytes that are set once and never shown,
    `ERASED` when its payloads were erased, empty in records of earlier versions.
    """

    run_id: str
    tenant: str
    user: str
    state: str
    started_at: float
    updated_at: float
    prompt: str = ""
    answer: str = ""
    model: str = ""
    profile: str = ""
    steps: int = 0
    events: int = 0
    salt: bytes = b""


ERASED = b"\0"
"""Stands in the place of a run's salt when its payloads were erased."""


class AnswerRow(Struct, frozen=True, gc=False):
    """A model answer, committed before any of its calls is dispatched. `message` is its JSON."""

    run_id: str
    step: int
    message: bytes

    def settled(self) -> "AnswerRow":
        """Return the row."""
        return self


class AnswerSaid(Struct, frozen=True, gc=False):
    """A model answer whose JSON is not written yet."""

    run_id: str
    step: int
    said: Said

    @property
    def message(self) -> bytes:
        """The JSON. Written each time that it is asked for."""
        return self.said.written()

    def settled(self) -> AnswerRow:
        """Return the row."""
        return AnswerRow(self.run_id, self.step, self.message)


class CallRow(Struct, frozen=True, gc=False):
    """One call in the ledger. `key` is unique in the store; `fingerprint` binds it to its arguments.

    `arguments` and `result` are JSON bytes; `for_model` the text that the model saw. `policy_input` is what
    policy decided on (`gerbang.policy.basis`).
    """

    key: str
    run_id: str
    step_id: str
    ordinal: int
    call_id: str
    tool: str
    state: str
    fingerprint: str
    arguments: bytes = b"{}"
    attempt: int = 0
    result: bytes = b""
    for_model: str = ""
    approval_id: str | None = None
    updated_at: float = 0.0
    policy_input: bytes = b""

    @property
    def is_denial(self) -> bool:
        """True for a call that policy denied, kept under a key of its own: it holds no other call's key."""
        return self.state == CallState.REFUSED and self.approval_id is None


class ApprovalRow(Struct, frozen=True, gc=False):
    """One request for a person's decision. `state` is a state of `gerbang.approval`.

    `binding` is the digest over arguments, contract, policy version and taint; `preview` what the
    person is shown; `arguments` the JSON that will run (as edited); `decided_by` who answered.

    `terms` is the JSON of what it was asked under, `votes` that of who said what. `seal` is made with the
    store's key over all the rest, and so differs after each change.
    """

    approval_id: str
    run_id: str
    key: str
    tool: str
    tenant: str
    state: str
    binding: str
    preview: str
    arguments: bytes
    reasons: str
    created_at: float
    expires_at: float
    decided_by: str | None = None
    decided_at: float | None = None
    note: str = ""
    terms: str = "{}"
    votes: str = "[]"
    seal: str = ""

    def answers_to(self, expected: str) -> bool:
        """Tell whether the request is in that state, or has that seal."""
        return expected in (self.state, self.seal)


class MessageState(StrEnum):
    """How a message to somebody outside stands. `DROPPED`: what it tells of was over before it was sent."""

    WAITING = "waiting"
    SENT = "sent"
    DROPPED = "dropped"
    GIVEN_UP = "given_up"


class Message(Struct, frozen=True, gc=False):
    """A message in the outbox, written in the commit of what it tells of.

    `message_id` stays the same however often it is sent; `channel` names where to, and is no address;
    `approval_id` is the request that it asks about. `body` is the JSON to be sent, empty once it is over.
    `attempts` have been made, the next is due at `due_at`, seconds since the epoch. `status` is the HTTP
    status that came back last, 0 for none, `error` why it was not taken.
    """

    message_id: str
    channel: str
    run_id: str
    kind: str
    state: str
    body: bytes
    created_at: float
    due_at: float
    approval_id: str | None = None
    attempts: int = 0
    status: int = 0
    error: str = ""


def outdates(former: Message, message: Message) -> bool:
    """Tell whether a message is written over the one of its id: only what happened to it since is.

    So a message that is put in again, by a process that does not know that it is there, changes nothing.
    """
    if former.state != MessageState.WAITING:
        return False
    return message.state != MessageState.WAITING or message.attempts > former.attempts


class EventRow(Struct, frozen=True, gc=False):
    """An audit event in its place. `digest` = SHA-256 of the former event's digest and this one's body."""

    run_id: str
    seq: int
    kind: str
    body: bytes
    digest: bytes


class HeadRow(Struct, frozen=True, gc=False):
    """The last event of a run: its number and digest. `place` is the run's number in the store."""

    place: int
    run_id: str
    seq: int
    digest: bytes


class Erase(Struct, frozen=True, gc=False):
    """Take the payloads of a run away: its prompt, answers, arguments, results, details of events, its salt.

    `result` is what stands in the place of stored results. Keys, states and the chain stay.
    """

    run_id: str
    result: bytes


class Kill(Struct, frozen=True, gc=False):
    """A kill switch that is on. `target`: `all`, `tool:NAME`, `group:NAME`, `tenant:NAME`; `at`: seconds."""

    target: str
    by: str
    reason: str
    at: float


RUN_SWITCH = "run:"
"""Begins the name of the switch that ends a run; the run's id follows. Nobody turns it as a kill switch."""


class Pin(Struct, frozen=True, gc=False):
    """The digest under which somebody approved a definition (a tool's contract, a policy). `at` seconds."""

    name: str
    digest: str
    by: str
    at: float


class Lease(Struct, frozen=True, gc=False):
    """The right of one holder to drive a run. `fence` is larger than that of every earlier lease.

    `expires_at` is in seconds since the epoch by the store's clock, which may differ from the holder's:
    a holder counts `ttl_s` on its own monotonic clock from before it asked.
    """

    run_id: str
    holder: str
    fence: int
    expires_at: float


class Hold(Struct, frozen=True, gc=False):
    """Take or extend a run's lease for `ttl_s` seconds, or give it back (`ttl_s` 0).

    `holder` names one driver of one run in one process, so that it meets itself only.
    """

    run_id: str
    holder: str
    ttl_s: float


class Take(Struct, frozen=True, gc=False):
    """Units to take from a rate limit. One unit comes back each `period_s` seconds, `burst` at most wait.

    Ten calls a minute, five of them at once: `period_s=6, burst=5`. The rule is GCRA, in microseconds.
    """

    key: str
    period_s: float
    burst: int
    cost: float = 1


class Spend(Struct, frozen=True, gc=False):
    """An amount to take from a budget: at most `limit` in each window of `window_s` seconds, or ever (None).

    Windows are counted from the epoch: a day's begins at midnight UTC. A negative amount gives back and is
    never refused; `limit` may be infinite, to count without bounding.
    """

    key: str
    window_s: float | None
    limit: float
    amount: float


class Limited(Struct, frozen=True, gc=False):
    """The limit that refused a batch. `retry_after_ms` is None when waiting does not help."""

    key: str
    retry_after_ms: int | None


NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Batch(Struct, gc=False):
    """What one commit writes, atomically: all of it or, when something stands against it, nothing.

    What is asked first, in this order; the first that fails is named by `Committed`:
    `stops` are the kill switches that stop this batch; `lease` is the run and fence that the writer holds;
    `knows`, unless it is below 0, is the last event of the run (that of the last event here) that the writer
    knows of, besides its own: those of batches with the same `writer`, a number above 0 of its process;
    `expects` names approvals and the state, or the seal, that each must still have; `claims` are new calls
    whose key must be free (a row in FAILED, CANCELLED, REFUSED or RESOLVED_FAILED counts as free and is
    replaced); `calls` are rows that are overwritten, each by one that follows it (`follows`); `takes` and
    `spends` are limits, all or none of which are drawn on; `hold` is a lease to take.

    The rest is written: `messages` are put into the outbox, or say what became of one (`outdates`); `kills`
    and `pins` are set, `revives` are switches to turn off, `erases` are done last.
    """

    runs: Sequence[RunRow] = ()
    answers: Sequence[AnswerRow | AnswerSaid] = ()
    claims: Sequence[CallRow] = ()
    calls: Sequence[CallRow] = ()
    approvals: Sequence[ApprovalRow] = ()
    events: list[NewEvent] = []
    expects: Mapping[str, str] = NOTHING
    stops: tuple[str, ...] = ()
    lease: tuple[str, int] | None = None
    takes: tuple[Take, ...] = ()
    spends: tuple[Spend, ...] = ()
    hold: Hold | None = None
    kills: tuple[Kill, ...] = ()
    revives: tuple[str, ...] = ()
    pins: tuple[Pin, ...] = ()
    erases: tuple[Erase, ...] = ()
    messages: Sequence[Message] = ()
    writer: int = 0
    knows: int = -1


class Committed(Struct, frozen=True, gc=False):
    """What a commit did. `taken` is the row that already holds a claimed key, or that a row of `calls` does
    not follow: then nothing was written.

    `stale` is the approval that was not in the state that the batch expected, `stopped` the kill switch
    that is on, `limited` the limit that is reached; `fenced` tells that the lease is another's, or nobody's,
    `behind` that the run has events that the writer does not know of. With any of these nothing was written
    either.

    `seq` is the sequence number of the batch's last event in its run (0 when it had none); `held` the lease
    that the batch took.
    """

    seq: int = 0
    taken: CallRow | None = None
    stale: ApprovalRow | None = None
    stopped: str | None = None
    fenced: bool = False
    limited: Limited | None = None
    held: Lease | None = None
    behind: bool = False

    @property
    def written(self) -> bool:
        """True when the batch was written."""
        return self.seq > 0 or not (
            self.taken or self.stale or self.stopped or self.fenced or self.limited or self.behind
        )


FREE_STATES = frozenset({CallState.FAILED, CallState.CANCELLED, CallState.REFUSED, CallState.RESOLVED_FAILED})
"""States in which a key may be claimed again: the effect is known not to have happened."""


OPEN_STATES = frozenset({CallState.PLANNED, CallState.DISPATCHED, CallState.UNCERTAIN})
"""States of a call that still waits for its outcome, or for somebody to find out what became of it."""
