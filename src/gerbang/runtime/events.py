"""What a running agent tells its caller while it works."""

from typing import Any

from msgspec import Struct

from gerbang.values import CallError, Decision, Result, ToolCall


class AnswerDelta(Struct, frozen=True, gc=False):
    """More of the text for the user. Never holds call markup."""

    text: str


class ReasoningSeen(Struct, frozen=True, gc=False):
    """More of the model's reasoning, for those who want to show it."""

    text: str


class ToolOpened(Struct, frozen=True, gc=False):
    """The model has begun to write a call, which may yet prove broken. `tool` is the name as it wrote it."""

    tool: str


class ToolCalled(Struct, frozen=True, gc=False):
    """The model proposed a call, complete. `arguments` is None when they could not be read."""

    step: int
    call_id: str
    tool: str
    arguments: dict[str, Any] | None


class DryRun(Struct, frozen=True, gc=False):
    """What would happen to a call: the decision, the error it would get, what an approver would be shown."""

    decision: Decision
    error: CallError | None = None
    preview: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "decision": self.decision.as_dict(),
            "error": None if self.error is None else self.error.as_dict(),
            "preview": self.preview,
        }


class Decided(Struct, frozen=True, gc=False):
    """The gate decided on a call."""

    call_id: str
    tool: str
    decision: Decision


class ApprovalNeeded(Struct, frozen=True, gc=False):
    """A call waits for a person."""

    call_id: str
    tool: str
    approval_id: str
    preview: str


class ToolFinished(Struct, frozen=True, gc=False):
    """A call has its result."""

    call_id: str
    tool: str
    result: Result


class Notice(Struct, frozen=True, gc=False):
    """Something the user should know, such as a shortened context."""

    code: str
    text: str


class Finished(Struct, frozen=True, gc=False):
    """The run is over; `result` is its `RunResult`."""

    result: "RunResult"


class RunResult(Struct, frozen=True, gc=False):
    """What a run gave. `status` is completed, max_steps, budget, denied, pending_approval, cancelled,
    model_error or client_calls; `steps` counts model answers; `calls` holds one Result for each proposal, in
    order. `client_calls` are for the client to run: the history of its next request has them and, as `tool`
    messages, their results. `finish_reason` is that of the last answer: `length` when it was cut off.

    `denied`: a kill switch stopped all of the run; or nothing that the model asked for was let through, its
    last calls were refused for good, and it had nothing to say.
    """

    answer: str
    status: str
    steps: int
    calls: tuple[Result, ...]
    run_id: str
    input_tokens: int = 0
    output_tokens: int = 0
    detail: str = ""
    client_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"


AgentEvent = (
    AnswerDelta
    | ReasoningSeen
    | ToolOpened
    | ToolCalled
    | Decided
    | ApprovalNeeded
    | ToolFinished
    | Notice
    | Finished
)
