"""Requests for approval as rows: what a person may change in one, and what may be kept of their words."""

import json
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gerbang.approval.terms import Terms, read_terms
from gerbang.audit.redact import MASK, redact
from gerbang.contract.catalogue import Entry
from gerbang.contract.check import check
from gerbang.ports import ApprovalAnswer
from gerbang.values import CallError, Principal, Proposal
from gerbang.values.canonical import NotCanonical, canonical
from gerbang.values.principal import unfit
from gerbang.values.record import ApprovalRow
from gerbang.values.sentences import said
from gerbang.values.text import clean_text

_SAID_CHARS: Final = 500
_VERDICTS: Final = ("approve", "refuse", "unavailable", "wait")


class Edited(Struct, frozen=True, gc=False):
    """A request with other arguments, bound to them. `checked`: they were found to fit the contract."""

    row: ApprovalRow
    checked: bool


def arguments_of(canonical_json: bytes) -> dict[str, Any]:
    """Return arguments from the JSON that was bound: a copy of our own, every digit kept."""
    value: dict[str, Any] = json.loads(canonical_json)
    return value


def shown_arguments(row: ApprovalRow) -> dict[str, Any]:
    """Return a request's arguments as people may see them: those that are to be masked are."""
    terms = read_terms(row.terms)
    hidden = () if terms is None else terms.masked
    return masked(arguments_of(row.arguments), hidden)


def masked(arguments: dict[str, Any], hidden: "tuple[str, ...] | frozenset[str]") -> dict[str, Any]:
    """Return the arguments with the values of those names masked."""
    if not hidden:
        return arguments
    return {name: MASK if name in hidden else value for name, value in arguments.items()}


def unmasked(
    arguments: dict[str, Any], before: dict[str, Any], hidden: "tuple[str, ...] | frozenset[str]"
) -> dict[str, Any]:
    """Return edited arguments with each mask that was left in place replaced by what it stands for."""
    return {
        name: before[name] if value == MASK and name in hidden and name in before else value
        for name, value in arguments.items()
    }


def said_text(text: str) -> str:
    """Return what a person wrote as it may be recorded and shown to a model: masked, clean, bounded."""
    return clean_text(redact(text[: _SAID_CHARS * 2]))[:_SAID_CHARS]


def is_answer(said: Any) -> bool:
    """Tell whether an approver's answer has the types that it promises, and names that can be recorded."""
    return (
        type(said) is ApprovalAnswer
        and said.verdict in _VERDICTS
        and type(said.by) is Principal
        and not unfit(said.by)
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
    approval: ApprovalRow, terms: Terms, entry: Entry | None, arguments: dict[str, Any]
) -> Edited | CallError:
    """Return the request with other arguments, bound to them; or what is wrong with them.

    They are checked now, and pass every layer again when the approval is used. Without the contract at
    hand they are checked only then.
    """
    asked = arguments_of(approval.arguments)
    arguments = unmasked(arguments, asked, terms.masked)
    if entry is None:
        text = canonical(arguments)
    else:
        proposal = Proposal(approval.run_id, "approval", 0, approval.key[:12], approval.tool, arguments)
        call = check(entry, proposal)
        if isinstance(call, CallError):
            return call
        moved = [name for name in entry.contract.natural_key if asked.get(name) != call.arguments.get(name)]
        if moved:
            return said("validation_error", "IDENTITY_CHANGED", {"names": ", ".join(moved)})
        text = call.canonical
    row = replace(approval, arguments=text, binding=terms.bind(approval.key, text))
    return Edited(row, entry is not None)
