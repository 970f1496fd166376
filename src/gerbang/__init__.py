"""Gerbang: the trusted runtime between a language model and everything it could change or leak.

The model only proposes tool calls. Gerbang reads them out of any model's output, validates them against
contracts, authorises them by policy, asks a person when needed, executes them once, treats their output
as data, and records everything.

Importing this package loads nothing else: each public name is loaded when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gerbang import parse
    from gerbang.adapters.tools.contract_files import load_contracts
    from gerbang.adapters.tools.http_file import load_tools
    from gerbang.adapters.tools.python import tool
    from gerbang.compose.agent import Agent
    from gerbang.compose.client_tools import Client
    from gerbang.compose.events import (
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
    from gerbang.compose.gateway import Gateway
    from gerbang.compose.policy import Policy
    from gerbang.contract.client_tools import ClientTool
    from gerbang.contract.document import Argument
    from gerbang.contract.risk_facts import WorkingHours
    from gerbang.contract.semantic import Finding, ReadAsked, SemanticFacts, SemanticValidator
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
    from gerbang.values import (
        CallContext,
        CallError,
        Contract,
        Decision,
        Message,
        Principal,
        Result,
        RiskClass,
    )
    from gerbang.values.limit import Limit

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AnswerDelta",
    "ApprovalAnswer",
    "ApprovalNeeded",
    "ApprovalRequest",
    "Argument",
    "CallContext",
    "CallError",
    "CallerError",
    "Client",
    "ClientTool",
    "ConfigError",
    "Contract",
    "ContractError",
    "Decided",
    "Decision",
    "DryRun",
    "Finding",
    "Finished",
    "Gateway",
    "GerbangError",
    "Limit",
    "Message",
    "ModelFault",
    "Notice",
    "Policy",
    "PolicyError",
    "Principal",
    "ReadAsked",
    "ReasoningSeen",
    "Result",
    "RiskClass",
    "RunResult",
    "SemanticFacts",
    "SemanticValidator",
    "StoreError",
    "ToolCalled",
    "ToolError",
    "ToolFinished",
    "ToolOpened",
    "UsageError",
    "WorkingHours",
    "load_contracts",
    "load_tools",
    "parse",
    "tool",
]

_HOMES: Final = {
    "gerbang.adapters.tools.http_file": ("load_tools",),
    "gerbang.adapters.tools.contract_files": ("load_contracts",),
    "gerbang.adapters.tools.python": ("tool",),
    "gerbang.compose.client_tools": ("Client",),
    "gerbang.contract.client_tools": ("ClientTool",),
    "gerbang.contract.document": ("Argument",),
    "gerbang.contract.risk_facts": ("WorkingHours",),
    "gerbang.contract.semantic": ("Finding", "ReadAsked", "SemanticFacts", "SemanticValidator"),
    "gerbang.values.limit": ("Limit",),
    "gerbang.compose.agent": ("Agent",),
    "gerbang.compose.events": (
        *("AnswerDelta", "ApprovalNeeded", "Decided", "DryRun", "Finished", "Notice"),
        *("ReasoningSeen", "RunResult", "ToolCalled", "ToolFinished", "ToolOpened"),
    ),
    "gerbang.compose.gateway": ("Gateway",),
    "gerbang.compose.policy": ("Policy",),
    "gerbang.errors": (
        *("CallerError", "ConfigError", "ContractError", "GerbangError", "ModelFault"),
        *("PolicyError", "StoreError", "ToolError", "UsageError"),
    ),
    "gerbang.ports": ("ApprovalAnswer", "ApprovalRequest"),
    "gerbang.values": (
        *("CallContext", "CallError", "Contract", "Decision", "Message", "Principal", "Result", "RiskClass"),
    ),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562)."""
    if name == "parse":
        return importlib.import_module("gerbang.parse")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'gerbang' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
