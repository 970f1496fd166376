"""The values that travel down the street: from what a model proposed to what a person is told."""

from typing import Any, Literal, Protocol

from msgspec import Struct, to_builtins

from gerbang.errors import NotSent, ToolError
from gerbang.values.contract import Contract
from gerbang.values.decision import Decision
from gerbang.values.failure import CallError
from gerbang.values.principal import Principal
from gerbang.values.secret import is_secret_name
from gerbang.values.taint import Taint

StepId = int | str


class Proposal(Struct, frozen=True, gc=False):
    """A call as the model (or a program) asked for it. Nothing of it is trusted.

    `ordinal` is the position in the answer, from 0. Exactly one of `arguments` and `fault` is set:
    `fault` is what was wrong with the text of the call. `repaired` says that the reader mended it.
    `call_id` pairs the call with its result in the conversation.
    """

    run_id: str
    step_id: StepId
    ordinal: int
    call_id: str
    name: str
    arguments: dict[str, Any] | None = None
    fault: CallError | None = None
    repaired: bool = False


class ValidCall(Struct, frozen=True, gc=False):
    """A proposal that fits its contract. `arguments` is what will run, `canonical` its canonical JSON.

    `coerced` lists the JSON Pointers of values whose type was changed to the schema's only reading.
    """

    proposal: Proposal
    contract: Contract
    arguments: dict[str, Any]
    canonical: bytes
    coerced: tuple[str, ...] = ()


class Clearance(Protocol):
    """Says whether a call may still begin to have its effect. Each answer is a code; empty is a yes."""

    def lacks(self) -> str:
        """Return what stands against it, as far as is known here."""
        ...

    async def ask(self) -> str:
        """Return the same, having asked the store where that is needed."""
        ...

    def ask_from_thread(self) -> str:
        """Return what `ask` does, to a thread that may wait."""
        ...


class CallContext(Struct, frozen=True, gc=False):
    """Facts that the runtime adds to a call and a tool may ask for. Never comes from a model.

    `clearance` is what `confirm` asks; None for a call that nobody else could make meanwhile.
    """

    principal: Principal
    run_id: str
    step_id: StepId
    call_id: str
    idempotency_key: str
    purpose: str | None = None
    clearance: Clearance | None = None

    async def confirm(self) -> None:
        """Make sure that the call may still be sent: to be asked just before the first byte of its effect.

        The process may have slept since the call was decided on, and another one may have taken its run over.
        Raises NotSent, which is to be let pass: the record then says that nothing was sent.
        """
        code = "" if self.clearance is None else await self.clearance.ask()
        if code:
            raise NotSent(code)

    def confirm_sync(self) -> None:
        """Do `confirm` from a tool that is a plain function. It may wait for the store. Raises NotSent."""
        code = "" if self.clearance is None else self.clearance.ask_from_thread()
        if code:
            raise NotSent(code)

    def secret(self, name: str) -> str:
        """Return the value of a secret that the tool's contract names (`@tool(..., secrets=(name,))`).

        Raises ToolError with the code SECRET_MISSING for any other name. Ask when the value is needed
        and keep it nowhere: what the call returns or raises is searched for it, what it writes is not.
        """
        raise secret_missing(name)


def secret_missing(name: str) -> ToolError:
    """Return the error for a secret that the tool's contract does not name."""
    said = name[:80] if is_secret_name(name) else "of that name"
    return ToolError(
        f"The tool asked for the secret {said}, which its contract does not name.",
        code="SECRET_MISSING",
        error_type="permission_denied",
        suggested_fix=f"Tell the user: the tool has to be declared with secrets=({said!r},).",
    )


class Outcome(Struct, frozen=True, gc=False):
    """What came of an execution. `state` is the ledger's terminal state.

    `value` is the tool's JSON value; `error` is set instead when there is none.
    """

    state: Literal["SUCCEEDED", "FAILED", "UNCERTAIN", "CANCELLED", "REFUSED"]
    value: Any = None
    error: CallError | None = None


class Result(Struct, frozen=True, gc=False):
    """What the caller of the gate gets: exactly one for each proposal.

    `status` is `ok`, `error`, or `pending` (waits for approval; `approval_id` names it, None when the
    call waits behind another one). `for_model` is the bounded, framed text that a model may see.
    `event_id` names the record `RUN/SEQUENCE`. `replayed` means that nothing ran: the result is the
    stored one of the same key.
    """

    status: Literal["ok", "error", "pending"]
    tool: str
    run_id: str
    step_id: StepId
    call_id: str
    value: Any = None
    error: CallError | None = None
    replayed: bool = False
    taint: Taint | None = None
    event_id: str = ""
    for_model: str = ""
    approval_id: str | None = None
    decision: Decision | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form that `--json` and the server print."""
        return {
            "status": self.status,
            "tool": self.tool,
            "run_id": self.run_id,
            "step_id": self.step_id,
            "call_id": self.call_id,
            "value": self.value,
            "error": None if self.error is None else self.error.as_dict(),
            "replayed": self.replayed,
            "taint": None if self.taint is None else to_builtins(self.taint),
            "event_id": self.event_id,
            "for_model": self.for_model,
            "approval_id": self.approval_id,
            "decision": None if self.decision is None else self.decision.as_dict(),
        }
