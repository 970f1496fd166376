"""What the runtime needs from the outside world. Adapters implement these; tests may too.

Every method that can wait is a coroutine; none blocks the event loop.
"""

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
        """Yield the answer's events, `ModelDone` last.

        Raises ModelFault when there is no answer. The iterator is closed early when a run is cancelled.
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


class Store(Protocol):
    """Durable records. `commit` returns when the batch is on disk; StoreError means it is not."""

    @property
    def immediate(self) -> bool:
        """True when `commit` never suspends, so that a cancelled task cannot be inside it."""
        ...

    async def open(self) -> None:
        """Open or create, migrate forward. Raises StoreUnavailable, StoreBusy, StoreTooNew."""
        ...

    async def close(self) -> None:
        """Finish what is queued and close. May be called more than once."""
        ...

    async def commit(self, batch: Batch) -> Committed:
        """Write the batch atomically. Raises StoreError; then nothing of it was written."""
        ...

    async def call(self, key: str) -> CallRow | None:
        """Return the ledger row of a key."""
        ...

    async def calls(self, run_id: str) -> list[CallRow]:
        """Return a run's calls in the order they were proposed."""
        ...

    async def run(self, run_id: str) -> RunRow | None:
        """Return one run."""
        ...

    async def runs(self, *, limit: int = 50, tenant: str | None = None) -> list[RunRow]:
        """Return the newest runs first."""
        ...

    async def answers(self, run_id: str) -> list[AnswerRow]:
        """Return a run's committed answers by step."""
        ...

    async def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EventRow]:
        """Return a run's events with a sequence above `after`."""
        ...

    async def approval(self, approval_id: str) -> ApprovalRow | None:
        """Return one approval request."""
        ...

    async def approvals(
        self, *, run_id: str | None = None, state: str | None = None, limit: int = 100
    ) -> list[ApprovalRow]:
        """Return approval requests, newest first."""
        ...

    async def secret_key(self) -> bytes:
        """Return the store's own 32 random bytes, made when the store is created (for HMACs)."""
        ...


class ApprovalRequest(Struct, frozen=True):
    """What a person is asked. `preview` says in plain words what will happen, secrets masked."""

    approval_id: str
    run_id: str
    tool: str
    risk: str
    arguments: dict[str, Any]
    preview: str
    reasons: tuple[str, ...]
    principal: Principal


class ApprovalAnswer(Struct, frozen=True):
    """What the person said. `arguments` is set when they changed the call; it is checked again in full."""

    verdict: Literal["approve", "refuse", "unavailable"]
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
