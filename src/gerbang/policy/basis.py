"""What a decision was made on, as the working state keeps it: enough to make the decision again.

Only what no other record of the call tells, so that it costs a few bytes a call: arguments lie in the call's
row, past calls are the run's earlier records, and the tool's facts are told with the first call of a run.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from gerbang.policy.input import (
    INPUT_VERSION,
    NO_BUDGET,
    ArgumentTaint,
    BudgetFacts,
    PolicyInput,
    ResourceFacts,
)
from gerbang.policy.tool_facts import ToolFacts
from gerbang.values import StepId

_ENCODER: Final = msgspec.json.Encoder()
_NOTHING: Final[dict[str, Any]] = {}


class Basis(Struct, frozen=True, gc=False, omit_defaults=True):
    """What is kept of one decision. `tool` is the JSON of the tool's facts; `time` is in seconds since the
    epoch. `budget` None: nobody asked for it.
    """

    time: float
    tool: Raw | UnsetType = UNSET
    calls: int = 0
    calls_of_tool: int = 0
    step: StepId = ""
    roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    agent: str | None = None
    purpose: str | None = None
    intent: str | None = None
    resources: tuple[ResourceFacts, ...] = ()
    facts: Mapping[str, Any] | UnsetType = UNSET
    risk_facts: Mapping[str, Any] | UnsetType = UNSET
    budget: BudgetFacts | None = None
    tainted: bool = False
    taint: Mapping[str, ArgumentTaint] | UnsetType = UNSET
    repaired: bool = False
    coerced: bool = False


_DECODER: Final = msgspec.json.Decoder(Basis)


def facts_text(facts: ToolFacts) -> bytes:
    """Return a tool's facts as JSON."""
    return _ENCODER.encode(facts.as_dict())


def kept(seen: PolicyInput, roles: tuple[str, ...], scopes: tuple[str, ...], tool: bytes | None) -> bytes:
    """Return what is to be kept. `tool` is `facts_text` of the tool, None when the run has it on record."""
    budget = seen.budget
    return _ENCODER.encode(
        Basis(
            seen.time,
            UNSET if tool is None else Raw(tool),
            seen.calls_before,
            seen.calls_of_tool,
            seen.step,
            roles,
            scopes,
            seen.actor.agent,
            seen.purpose,
            seen.intent,
            seen.resources,
            seen.facts or UNSET,
            seen.risk_facts or UNSET,
            None if budget is NO_BUDGET else budget,
            seen.tainted_run,
            seen.taint or UNSET,
            seen.repaired,
            seen.coerced,
        )
    )


def read(data: bytes) -> Basis | None:
    """Return what was kept; None for what is none, such as what erasure leaves."""
    try:
        return _DECODER.decode(data) if data else None
    except msgspec.MsgspecError:
        return None


def tool_of(basis: Basis) -> dict[str, Any] | None:
    """Return the facts of the tool, where they were kept with this decision."""
    if basis.tool is UNSET:
        return None
    facts: dict[str, Any] = msgspec.json.decode(basis.tool)
    return facts


def record_of(basis: Basis, tool: Mapping[str, Any], user: str, tenant: str, run_id: str) -> dict[str, Any]:
    """Return the policy document of then, as `PolicyInput.record` gives it. `tool` are the tool's facts."""
    resources = [resource.as_dict() for resource in basis.resources]
    budget = basis.budget or NO_BUDGET
    taint = _NOTHING if basis.taint is UNSET else basis.taint
    return {
        "input_version": INPUT_VERSION,
        "tool": dict(tool),
        "actor": {
            "user": user,
            "tenant": tenant,
            "roles": sorted(basis.roles),
            "scopes": sorted(basis.scopes),
            "agent": basis.agent,
        },
        "purpose": basis.purpose,
        "intent": basis.intent,
        "resource": resources[0] if resources else None,
        "resources": resources,
        "facts": _NOTHING if basis.facts is UNSET else dict(basis.facts),
        "risk_facts": _NOTHING if basis.risk_facts is UNSET else dict(basis.risk_facts),
        "run": {"id": run_id, "step": str(basis.step)},
        "budget": budget.as_dict()
        | {"calls": basis.calls or budget.calls, "calls_of_tool": basis.calls_of_tool},
        "taint": {
            "run": basis.tainted,
            "by_argument": {name: said.as_dict() for name, said in taint.items()},
        },
        "time": basis.time,
        "repaired": basis.repaired,
        "coerced": basis.coerced,
    }
