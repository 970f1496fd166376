"""Policy explained: what would be decided on a call, by which rule, and why the other rules did not count."""

import asyncio
from typing import Any, Final

import msgspec

from gerbang.errors import UsageError
from gerbang.policy.comparisons import MISSING
from gerbang.policy.explain import RuleTold, explain
from gerbang.policy.input import PolicyInput
from gerbang.policy.rules import RulesPolicy
from gerbang.policy.tool_facts import tool_facts
from gerbang.server.console import pages
from gerbang.server.console.approvals import own
from gerbang.server.console.cards import ballot_of, contract_of, hidden_of, masked, read_arguments, restored
from gerbang.server.console.tools import offered
from gerbang.server.console.visit import Page, Visit
from gerbang.server.operation import short
from gerbang.server.owners import owner_of
from gerbang.server.problems import not_found
from gerbang.server.replies import Reply
from gerbang.values import Contract, Principal
from gerbang.values.record import ApprovalRow

_ORDER: Final = ("error", "decided", "matched", "not")
_WIDTH: Final = 300


async def form(visit: Visit) -> Reply:
    """Show the form; for an approval, filled with its call and answered."""
    asked = visit.query(approval=short, tool=short)
    if "approval" not in asked:
        return _page(visit, tool=asked.get("tool", ""), arguments="{}")
    row = await own(visit, asked["approval"])
    contract = contract_of(visit, row.tool)
    written = pages.editable(masked(hidden_of(contract, row), read_arguments(row.arguments)))
    return await _answered(visit, row.tool, written, row)


async def ask(visit: Visit) -> Reply:
    """Explain the decision on the call of a form."""
    approval = visit.form.get("approval", "")
    row = await own(visit, approval) if approval else None
    return await _answered(visit, visit.form.get("tool", ""), visit.form.get("arguments", ""), row)


async def _answered(visit: Visit, tool: str, written: str, row: ApprovalRow | None) -> Reply:
    contract = next((one for one in offered(visit) if one.name == tool), None)
    if contract is None:
        raise not_found("tool of that name")
    given: dict[str, Any] = {"tool": tool, "arguments": written, "purpose": visit.form.get("purpose", "")}
    tainted = visit.form.get("tainted") == "on" or (row is not None and _is_tainted(row))
    try:
        arguments = msgspec.json.decode(written)
        if not isinstance(arguments, dict):
            raise UsageError(visit.said("not_object"))
        if row is not None and row.tool == tool:
            arguments = restored(hidden_of(contract, row), read_arguments(row.arguments), arguments)
        who = await _actor(visit, row)
        purpose = given["purpose"].strip() or None
        dry = await visit.gateway.dry_run(tool, arguments, principal=who, purpose=purpose)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        return _page(visit, **given, row=row, fault=visit.said("not_json", why=str(error)), status=422)
    except UsageError as error:
        return _page(visit, **given, row=row, fault=str(error), status=422)
    document = _document(contract, arguments, who, purpose, tainted, visit.now)
    told = await _told(visit.gateway.policy, document)
    return _page(visit, **given, row=row, tainted=tainted, actor=who, dry=dry, **told)


def _is_tainted(row: ApprovalRow) -> bool:
    ballot = ballot_of(row)
    return ballot is not None and ballot.terms.tainted


async def _actor(visit: Visit, row: ApprovalRow | None) -> Principal:
    """Return who the call is decided for: whom the run of an approval acts for, else the person here."""
    run = None if row is None else await visit.store.run(row.run_id)
    return visit.who if run is None else await owner_of(visit.service, run)


def _document(
    contract: Contract,
    arguments: dict[str, Any],
    who: Principal,
    purpose: str | None,
    tainted: bool,
    now: float,
) -> PolicyInput:
    """Return what policy sees of the call, without history, budgets and looked-up facts."""
    info = tool_facts(contract)
    return PolicyInput(
        tool=contract.name,
        risk=contract.risk,
        arguments=arguments,
        actor=who,
        purpose=purpose,
        tainted_run=tainted,
        time=now,
        info=info,
        risk_facts=dict.fromkeys(info.risk_facts, True),
    )


async def _told(policy: Any, document: PolicyInput) -> dict[str, Any]:
    """Return what the policy says of a document, and of each rule where there are rules."""
    rules = getattr(getattr(policy, "current", policy), "rules", None)
    if isinstance(rules, RulesPolicy):
        told = explain(rules, document)
        ordered = sorted(told.rules, key=lambda rule: _ORDER.index(rule.role))
        return {
            "decision": told.decision,
            "default": told.default,
            "floors": told.floors,
            "rules": [(rule, _text(rule.want), _got(rule)) for rule in ordered],
        }
    tell = getattr(policy, "tell", None)
    if tell is None:
        return {"decision": policy.decide(document)}
    said = await asyncio.to_thread(tell, document)
    return {"decision": said.decision, "detail": said.detail}


def _page(visit: Visit, *, status: int = 200, **values: Any) -> Reply:
    known = {
        "purpose": "",
        "row": None,
        "fault": None,
        "tainted": False,
        "actor": None,
        "dry": None,
        "decision": None,
        "default": None,
        "floors": (),
        "rules": None,
        "detail": "",
    }
    return visit.page(
        "policy.html",
        status=status,
        tools=[contract.name for contract in offered(visit)],
        version=visit.gateway.policy.version,
        **{**known, **values},
    )


def _got(rule: RuleTold) -> str | None:
    """Return what a condition found; None when there was nothing."""
    return None if rule.got is MISSING else _text(rule.got)


def _text(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()[:_WIDTH]
    except (TypeError, msgspec.MsgspecError):
        return str(value)[:_WIDTH]


PAGES: Final = (
    Page("GET", "/console/policy", "audit", form),
    Page("POST", "/console/policy", "audit", ask),
)
