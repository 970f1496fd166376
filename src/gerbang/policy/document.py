"""Reading a policy document back from its JSON form: for cases that people write, and for replays."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from gerbang.errors import PolicyError
from gerbang.policy.history import KEPT, CallStatus, History
from gerbang.policy.input import (
    INPUT_VERSION,
    RISK_FACTS,
    ArgumentTaint,
    BudgetFacts,
    PolicyInput,
    Provenance,
    ResourceFacts,
)
from gerbang.policy.tool_facts import ToolFacts, make_tool_facts
from gerbang.values import Principal, RiskClass


class _Form(Struct, frozen=True, forbid_unknown_fields=True):
    """What all parts of the form share: a field that nobody knows is an error."""


class _Effects(_Form, frozen=True):
    kind: str
    resources: list[str] = []
    reversible: str | None = None
    compensating_action: str | None = None
    idempotency_required: bool = False


class _Tool(_Form, frozen=True):
    name: str
    risk_class: RiskClass
    version: str | None = None
    group: str = ""
    side_effects: _Effects | None = None
    resources: tuple[str, ...] = ()
    data_class: str | None = None
    owner: str = ""
    origin: str = ""
    defined_by: str = ""
    deprecated: bool = False
    risk_facts: tuple[str, ...] = ()
    requires_approval: bool = False
    control: tuple[str, ...] = ()
    contract: str = ""


class _Actor(_Form, frozen=True):
    user: str = "local"
    tenant: str = "local"
    roles: list[str] = []
    scopes: list[str] = []
    agent: str | None = None


class _Resource(_Form, frozen=True):
    kind: str
    id: str = ""
    tenant: str | None = None
    argument: str = ""


class _Run(_Form, frozen=True):
    id: str = ""
    step: str | int = ""


class _Past(_Form, frozen=True):
    tool: str
    risk_class: RiskClass = RiskClass.COMPUTE
    status: CallStatus = "ok"
    group: str = ""
    step: str = ""
    resources: tuple[str, ...] = ()
    data_class: str | None = None
    number: int = 0


class _History(_Form, frozen=True):
    calls: list[_Past] = []
    total: int = 0
    in_flight: int = 0
    by_tool: dict[str, Any] = {}
    by_class: dict[str, Any] = {}
    by_group: dict[str, Any] = {}
    by_resource: dict[str, Any] = {}


class _Budget(_Form, frozen=True):
    calls: int = 0
    calls_of_tool: int = 0
    calls_left: int | None = None
    cost: float = 0.0
    cost_left: float | None = None
    tokens: int = 0
    tokens_left: int | None = None
    seconds_left: float | None = None


class _Argument(_Form, frozen=True):
    provenance: Provenance
    sources: tuple[str, ...] = ()
    trust_level: str | None = None
    control: bool = False


class _Taint(_Form, frozen=True):
    run: bool = False
    by_argument: dict[str, _Argument] = {}


class _Document(_Form, frozen=True):
    tool: _Tool
    input_version: int = INPUT_VERSION
    arguments: dict[str, Any] = {}
    actor: _Actor = _Actor()
    purpose: str | None = None
    intent: str | None = None
    resource: _Resource | None = None
    resources: list[_Resource] = []
    facts: dict[str, Any] = {}
    risk_facts: dict[str, bool | str | None] = {}
    run: _Run = _Run()
    history: _History = _History()
    budget: _Budget = _Budget()
    taint: _Taint = _Taint()
    time: float = 0.0
    repaired: bool = False
    coerced: bool = False


_EXAMPLE: Final = "The input is a mapping, such as {tool: {name: notes.read.v1, risk_class: read_internal}}."
FIELDS: Final = _Document.__struct_fields__
"""The fields of the document."""


def read_document(data: Any, where: str, history: History | None = None) -> PolicyInput:
    """Return the input that a document describes. All but `tool.name` and `tool.risk_class` may be absent.

    Past calls are fed to a fresh history, the oldest first, unless `history` is given. Raises PolicyError,
    naming the place, for unknown fields, wrong types and another version of the format.
    """
    try:
        form = msgspec.convert(data, _Document)
    except msgspec.ValidationError as error:
        form_of = "" if isinstance(data, dict) else f" {_EXAMPLE}"
        raise PolicyError(f"{where}: {_readable(str(error))}{form_of}") from None
    if form.input_version != INPUT_VERSION:
        raise PolicyError(
            f"{where}: input_version {form.input_version} is not known; this is {INPUT_VERSION}."
        )
    for name in (*form.risk_facts, *form.tool.risk_facts):
        if name not in RISK_FACTS:
            raise PolicyError(f"{where}: unknown risk fact {name[:80]!r}. Known: {', '.join(RISK_FACTS)}.")
    resources = form.resources or ([form.resource] if form.resource is not None else [])
    budget = form.budget
    return PolicyInput(
        form.tool.name,
        form.tool.risk_class,
        form.arguments,
        Principal(
            form.actor.user,
            form.actor.tenant,
            scopes=form.actor.scopes,
            roles=form.actor.roles,
            agent=form.actor.agent,
        ),
        purpose=form.purpose,
        intent=form.intent,
        run_id=form.run.id,
        repaired=form.repaired,
        coerced=form.coerced,
        tainted_run=form.taint.run,
        calls_before=budget.calls,
        calls_of_tool=budget.calls_of_tool,
        time=form.time,
        step=form.run.step,
        info=_tool(form.tool),
        resources=tuple(ResourceFacts(item.kind, item.id, item.tenant, item.argument) for item in resources),
        facts=form.facts,
        risk_facts=form.risk_facts,
        history=_history(form.history, where) if history is None else history,
        budget=BudgetFacts(
            budget.calls,
            budget.calls_left,
            budget.cost,
            budget.cost_left,
            budget.tokens,
            budget.tokens_left,
            budget.seconds_left,
        ),
        taint={
            name: ArgumentTaint(said.provenance, said.sources, said.trust_level, said.control)
            for name, said in form.taint.by_argument.items()
        },
    )


def _readable(said: str) -> str:
    """Return what is wrong, with the words that there are for a class of risk."""
    said = said.removesuffix(".")
    if "enum value" in said and "risk_class" in said:
        return f"{said}. Use one of: {', '.join(RiskClass)}."
    return f"{said}."


def _tool(form: _Tool) -> ToolFacts:
    known = {name: getattr(form, name) for name in form.__struct_fields__[2:]}
    if form.version is None:
        del known["version"]
    if form.side_effects is not None:
        known["side_effects"] = msgspec.to_builtins(form.side_effects)
    return make_tool_facts(form.name, str(form.risk_class), **known)


def _history(form: _History, where: str) -> History:
    """Build the history from the calls that the form lists. The counts follow from them."""
    if len(form.calls) > KEPT or form.total > len(form.calls):
        listed = f"lists {len(form.calls)} calls" + (f" of {form.total}" if form.total else "")
        raise PolicyError(
            f"{where}: the history {listed}. List all of them, at most {KEPT}, and leave `total` out."
        )
    return History.of(
        (
            make_tool_facts(
                past.tool,
                str(past.risk_class),
                group=past.group,
                resources=past.resources,
                data_class=past.data_class,
            ),
            past.status,
            past.step,
        )
        for past in form.calls
    )
