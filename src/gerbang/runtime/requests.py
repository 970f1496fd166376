"""Requests for approval as rows: what a person may change in one, and what may be kept of their words."""

import json
from typing import Any, Final

from msgspec.structs import replace

from gerbang.approval.machine import ApprovalEvent, advance, binding
from gerbang.audit.redact import redact
from gerbang.contract.catalogue import Entry
from gerbang.contract.check import check
from gerbang.errors import UsageError
from gerbang.ports import ApprovalAnswer
from gerbang.values import CallError, Principal, Proposal
from gerbang.values.canonical import NotCanonical, canonical
from gerbang.values.record import ApprovalRow
from gerbang.values.sentences import said
from gerbang.values.text import clean_text

_SAID_CHARS: Final = 500


def arguments_of(canonical_json: bytes) -> dict[str, Any]:
    """Return arguments from the JSON that was bound: a copy of our own, every digit kept."""
    value: dict[str, Any] = json.loads(canonical_json)
    return value


def said_text(text: str) -> str:
    """Return what a person wrote as it may be recorded and shown to a model: masked, clean, bounded."""
    return clean_text(redact(text[: _SAID_CHARS * 2]))[:_SAID_CHARS]


def is_answer(said: Any) -> bool:
    """Tell whether an approver's answer has the types that it promises."""
    return (
        type(said) is ApprovalAnswer
        and said.verdict in ("approve", "refuse", "unavailable")
        and type(said.by) is Principal
        and type(said.reason) is str
        and (said.arguments is None or type(said.arguments) is dict)
    )


def not_json(arguments: dict[str, Any]) -> str:
    """Return why the arguments that a person wrote are no JSON; empty when they are."""
    try:
        canonical(arguments)
    except NotCanonical as error:
        return f"at {error.path or 'the top'}: {error}"
    return ""


def edit(
    approval: ApprovalRow, entry: Entry, arguments: dict[str, Any], policy_version: str
) -> ApprovalRow | CallError:
    """Return the request with other arguments, bound to them; or what is wrong with them.

    They are checked now, and pass every layer again when the approval is used.
    """
    proposal = Proposal(approval.run_id, "approval", 0, approval.key[:12], approval.tool, arguments)
    call = check(entry, proposal)
    if isinstance(call, CallError):
        return call
    asked = arguments_of(approval.arguments)
    moved = [name for name in entry.contract.natural_key if asked.get(name) != call.arguments.get(name)]
    if moved:
        return said("validation_error", "IDENTITY_CHANGED", {"names": ", ".join(moved)})
    bound = binding(
        key=approval.key,
        arguments=call.canonical,
        contract=entry.contract.digest,
        policy_version=policy_version,
    )
    whose = approval.binding.rpartition(".")[0]
    return replace(approval, arguments=call.canonical, binding=f"{whose}.{bound}")


def decide_row(
    approval: ApprovalRow, what: ApprovalEvent, by: str | None, note: str, at: float
) -> ApprovalRow:
    """Return the approval after an event. Raises UsageError when it was decided before."""
    state = advance(approval.state, what)
    if state is None:
        raise UsageError(f"Approval {approval.approval_id} is {approval.state} already; nothing was changed.")
    return replace(approval, state=state, decided_by=by, decided_at=at, note=said_text(note))
