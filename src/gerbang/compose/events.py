"""The events of `Agent.stream`, under the name that users import them by."""

from gerbang.runtime.events import (
    AgentEvent,
    AnswerDelta,
    ApprovalNeeded,
    Decided,
    DryRun,
    Finished,
    Notice,
    ReasoningSeen,
    RunResult,
    ToolCalled,
    ToolFinished,
    ToolOpened,
)

__all__ = [
    "AgentEvent",
    "AnswerDelta",
    "ApprovalNeeded",
    "Decided",
    "DryRun",
    "Finished",
    "Notice",
    "ReasoningSeen",
    "RunResult",
    "ToolCalled",
    "ToolFinished",
    "ToolOpened",
]
