"""The frozen values that stages hand to each other. No behaviour beyond checking and rendering themselves."""

from gerbang.values.call import CallContext, Outcome, Proposal, Result, StepId, ValidCall
from gerbang.values.contract import Contract
from gerbang.values.decision import Decision, Verdict
from gerbang.values.failure import CallError, Effect, InvalidField
from gerbang.values.message import Message, ToolCall
from gerbang.values.principal import LOCAL, Principal
from gerbang.values.risk import READS, RiskClass
from gerbang.values.taint import Taint

__all__ = [
    "LOCAL",
    "READS",
    "CallContext",
    "CallError",
    "Contract",
    "Decision",
    "Effect",
    "InvalidField",
    "Message",
    "Outcome",
    "Principal",
    "Proposal",
    "Result",
    "RiskClass",
    "StepId",
    "Taint",
    "ToolCall",
    "ValidCall",
    "Verdict",
]
