"""Gerbang: the trusted runtime between a language model and everything it could change or leak.

The model only proposes tool calls. Gerbang reads them out of any model's output, validates them against
contracts, authorises them by policy, asks a person when needed, executes them once, treats their output
as data, and records everything.
"""

from gerbang import parse
from gerbang.adapters.tools.python import tool
from gerbang.compose.agent import Agent
from gerbang.compose.events import (
    AnswerDelta,
    ApprovalNeeded,
    Decided,
    Finished,
    Notice,
    ReasoningSeen,
    RunResult,
    ToolCalled,
    ToolFinished,
)
from gerbang.compose.gateway import Gateway
from gerbang.compose.policy import Policy
from gerbang.errors import (
    CallerError,
    ConfigError,
    ContractError,
    GerbangError,
    ModelFault,
    PolicyError,
    StoreError,
    ToolError,
    UsageError,
)
from gerbang.ports import ApprovalAnswer, ApprovalRequest
from gerbang.values import CallContext, CallError, Contract, Decision, Message, Principal, Result, RiskClass

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AnswerDelta",
    "ApprovalAnswer",
    "ApprovalNeeded",
    "ApprovalRequest",
    "CallContext",
    "CallError",
    "CallerError",
    "ConfigError",
    "Contract",
    "ContractError",
    "Decided",
    "Decision",
    "Finished",
    "Gateway",
    "GerbangError",
    "Message",
    "ModelFault",
    "Notice",
    "Policy",
    "PolicyError",
    "Principal",
    "ReasoningSeen",
    "Result",
    "RiskClass",
    "RunResult",
    "StoreError",
    "ToolCalled",
    "ToolError",
    "ToolFinished",
    "UsageError",
    "parse",
    "tool",
]
