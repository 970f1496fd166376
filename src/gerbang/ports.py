"""What the runtime needs from the outside world. Adapters implement these; tests may too.

Every method that can wait is a coroutine; none blocks the event loop.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import Struct

from gerbang.values import CallContext, Decision, Principal
from gerbang.values.model import ModelEvent, ModelRequest
from gerbang.values.record import (
    AnswerRow,
    ApprovalRow,
    Batch,
    CallRow,
    Committed,
    EventRow,
    HeadRow,
    Kill,
    Lease,
    Message,
    Pin,
    RunRow,
)


class Model(Protocol):
    """A language model. One instance serves many runs at once."""

    @property
    def name(self) -> str:
        """What records and the user are told, such as `openai:qwen3@http://127.0.0.1:8080/v1`. No secret."""
        ...

    @property
    def context_tokens(self) -> int | None:
        """Size of the context window in tokens, or None when unknown."""
        ...

    @property
    def writes_prose(self) -> bool:
        """False for a model that only picks tools: the runtime then composes the answer from results."""
        ...

    def answer(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield the answer's events, `ModelDone` last; closed early when a run is cancelled. Raises
        ModelFault when there is no answer.
        """
        ...

    async def aclose(self) -> None:
        """Free processes and connections. May be called more than once."""
        ...


class Tool(Protocol):
    """The body of a tool. It runs only through the executor, which runs only with a grant."""

    @property
    def blocking(self) -> bool:
        """True when `invoke_sync` must run in a thread; False when `invoke` is a coroutine function."""
        ...

    async def invoke(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Run the tool and return a JSON value. Raises ToolError with a text for the model."""
        ...

    def invoke_sync(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """The same for blocking tools; called in a worker thread."""
        ...


Named = Literal["run", "approval"]
"""What can be looked for by the beginning of its id."""


class Writing(asyncio.Future[Committed]):
    """A commit on its way to the disk. It cannot be called back, and neither can who waits for it.

    A task that is cancelled while it waits here gets its CancelledError once the commit is done: what it
    does next can go by what was written.
    """

    __slots__ = ()

    def cancel(self, msg: Any = None) -> bool:
        """Do nothing. The task that waits keeps its cancellation for later, as it does for a False here."""
        return False


class Store(Protocol):
    """Durable records. Whoever has waited for `commit` has the batch on disk."""

    @property
    def immediate(self) -> bool:
        """True when `commit` never suspends, so that a cancelled task cannot be inside it."""
        ...

    @property
    def has_own_clock(self) -> bool:
        """True when leases and limits go by a clock that is not this machine's."""
        ...

    async def open(self) -> None:
        """Open or create, migrate forward. Raises StoreUnavailable, StoreBusy, StoreTooNew."""
        ...

    async def close(self) -> None:
        """Finish what is queued and close. May be called more than once."""
        ...

    def commit(self, batch: Batch) -> Awaitable[Committed]:
        """Write the batch atomically; wait for what this returns, a coroutine or a `Writing`. It is handed
        in with the call or, by a coroutine, with its first step. Raises StoreError; then nothing of it was
        written. One exception, and its text says so: StoreUnavailable when the connection to a server broke
        in the commit and does not come back in time. It is not known then; nothing may be executed after it.
        """
        ...

    async def call(self, key: str) -> CallRow | None:
        """Return the ledger row of a key."""
        ...

    async def calls(self, run_id: str, *, newest: int | None = None) -> list[CallRow]:
        """Return a run's calls in the order they were proposed: all, or so many of the newest."""
        ...

    async def run(self, run_id: str) -> RunRow | None:
        """Return one run."""
        ...

    async def runs(
        self,
        *,
        limit: int = 50,
        tenant: str | None = None,
        state: str | None = None,
        before: str | None = None,
    ) -> list[RunRow]:
        """Return the newest runs first, after the run `before`. Raises UsageError when there is none such."""
        ...

    async def answers(self, run_id: str) -> list[AnswerRow]:
        """Return a run's committed answers by step."""
        ...

    async def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EventRow]:
        """Return a run's events with a sequence above `after`."""
        ...

    def stream(self, run_id: str, *, after: int = 0, page: int = 1000) -> AsyncIterator[EventRow]:
        """Yield the same one by one, up to the last that exists, `page` of them in memory at a time."""
        ...

    async def heads(self, *, after: int = 0, limit: int = 1000) -> list[HeadRow]:
        """Return the last events of runs, in the order in which the runs began to be recorded."""
        ...

    async def old_runs(self, before: float, *, after: str | None = None, limit: int = 100) -> list[RunRow]:
        """Return runs that began before a time and whose payloads are kept, oldest first."""
        ...

    async def approval(self, approval_id: str) -> ApprovalRow | None:
        """Return one approval request."""
        ...

    async def approvals(
        self,
        *,
        run_id: str | None = None,
        state: str | None = None,
        tenant: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[ApprovalRow]:
        """Return approval requests, newest first. `before` as in `runs`."""
        ...

    async def messages(
        self, channel: str | None = None, *, limit: int = 100, given_up: bool = False
    ) -> list[Message]:
        """Return messages that wait, or were given up, for that channel or any, earliest due first."""
        ...

    async def unfinished(self, limit: int = 100) -> list[RunRow]:
        """Return runs that are RUNNING and that nobody holds a lease of, oldest first."""
        ...

    async def open_calls(self, run_id: str) -> list[CallRow]:
        """Return the run's calls in PLANNED, DISPATCHED and UNCERTAIN, in the order they were proposed."""
        ...

    async def uncertain(self, limit: int = 100) -> list[CallRow]:
        """Return the calls in UNCERTAIN of all runs, oldest first."""
        ...

    async def sent(self, limit: int = 100) -> list[CallRow]:
        """Return the calls in DISPATCHED of runs that are not RUNNING and not leased, oldest first."""
        ...

    async def lease(self, run_id: str, holder: str, ttl_s: float) -> Lease | None:
        """Take a run's lease, or extend it when the holder has it. None: another holds it."""
        ...

    async def renew(self, lease: Lease, ttl_s: float) -> Lease | None:
        """Extend a lease, past its end too when nobody took it. None: it is another's, or given back."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give a lease back. A lease that is another's by now stays as it is."""
        ...

    async def kill(self, target: str, by: str, reason: str, at: float) -> None:
        """Turn a kill switch on: from the return on no commit whose `stops` name it writes anything."""
        ...

    async def revive(self, target: str) -> bool:
        """Turn a kill switch off; False when it was not on."""
        ...

    async def kills(self) -> list[Kill]:
        """Return the kill switches that are on, by target."""
        ...

    async def pin(self, name: str, digest: str, by: str, at: float) -> None:
        """Record that a definition is approved in the form that has this digest. Replaces an earlier pin."""
        ...

    async def pins(self) -> list[Pin]:
        """Return the pins, by name."""
        ...

    async def spent(self, key: str, window_s: float | None) -> float:
        """Return what was spent of a budget in the current window (see `Spend`)."""
        ...

    async def named(self, kind: Named, beginning: str, limit: int = 10) -> list[str]:
        """Return the ids of runs, or of approvals, that begin so, in order."""
        ...

    async def time(self) -> float:
        """Return the time of the clock that leases and limits go by, in seconds since the epoch."""
        ...

    async def secret_key(self) -> bytes:
        """Return the store's own 32 random bytes, made when the store is created (for HMACs)."""
        ...


class ApprovalRequest(Struct, frozen=True):
    """What a person is asked. `preview` says in plain words what will happen, secrets masked.

    `obligations` are the duties of the decision (`two_person`, `approvers:ops`), `votes` the people who have
    agreed already, `tainted` tells that the run has read something from outside. `masked` names arguments
    that are not to be shown; a masked value that comes back in an edit stands for the one that was there.
    `expires_at` is in seconds since the epoch.
    """

    approval_id: str
    run_id: str
    tool: str
    risk: str
    arguments: dict[str, Any]
    preview: str
    reasons: tuple[str, ...]
    principal: Principal
    obligations: tuple[str, ...] = ()
    votes: tuple[str, ...] = ()
    tainted: bool = False
    masked: tuple[str, ...] = ()
    expires_at: float = 0.0


class ApprovalAnswer(Struct, frozen=True):
    """What the person said. `arguments` is set when they changed the call; it is checked again in full.

    `wait` leaves the request in the store, for somebody to decide later.
    """

    verdict: Literal["approve", "refuse", "unavailable", "wait"]
    by: Principal
    reason: str = ""
    arguments: dict[str, Any] | None = None


class Approver(Protocol):
    """Asks a person. `unavailable` means nobody could be asked; the call is then refused."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask and wait. May be cancelled at any time."""
        ...


Answered = ApprovalAnswer | bool
ApproverLike = Approver | Callable[[ApprovalRequest], Awaitable[Answered] | Answered]
"""An Approver, or a function (sync or async) that returns a bool or an ApprovalAnswer."""


class FileReader(Protocol):
    """Says what files hold, so that an approval can be tied to their content."""

    async def digests(self, named: Mapping[str, str]) -> dict[str, str]:
        """Return a digest of each file by its name, `absent` for one that is not there. `named` maps names to
        paths, inside the reader's folder unless absolute. Raises UnreadableFile for one that leads out of it,
        or cannot be read in reasonable time.
        """
        ...


class UnreadableFile(Exception):
    """A file that cannot be read as it should. `args[0]` is its name."""


class Policy(Protocol):
    """Decides. Pure and fast; an exception counts as a denial with POLICY_ERROR."""

    @property
    def version(self) -> str:
        """Digest of the policy's text."""
        ...

    def decide(self, document: Any) -> Decision:
        """Return the decision for one policy input (`gerbang.policy.input.PolicyInput`)."""
        ...


class Clock(Protocol):
    """Time as the runtime sees it."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class Secrets(Protocol):
    """Values that only the executor and the model adapters see."""

    def get(self, name: str) -> str | None:
        """Return the secret's value, or None when there is none of that name."""
        ...


AskPassphrase = Callable[[Path, bool], str | None]
"""Asks a person for the passphrase of a file, twice when it is a new one. None: nobody can be asked."""


class SecretStore(Secrets, Protocol):
    """A place of secrets that the command line can manage. Methods raise ConfigError and UsageError."""

    @property
    def address(self) -> str:
        """The address that opens it."""
        ...

    @property
    def immediate(self) -> bool:
        """True when `get` never waits for a person, a derivation or another program."""
        ...

    @property
    def writable(self) -> bool:
        """True when `set` and `remove` can work."""
        ...

    def unlock(self) -> None:
        """Open what has to be opened, asking a person where that is the way."""
        ...

    def names(self) -> list[str]:
        """Return the names of the secrets, sorted."""
        ...

    def set(self, name: str, value: str) -> None:
        """Set a value."""
        ...

    def remove(self, name: str) -> bool:
        """Remove a value; False when there is none of that name."""
        ...


class Speaker(Protocol):
    """A voice. Sentences come one by one; several may be asked for at the same time."""

    async def say(self, sentence: str) -> bytes:
        """Return a sentence as a WAVE file. Raises SpeechError. Cancelling ends what makes the sound."""
        ...

    async def play(self, sentence: str) -> None:
        """Say a sentence on this machine, and return when it has been said. Raises SpeechError."""
        ...
