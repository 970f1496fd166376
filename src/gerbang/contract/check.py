"""Layer 1 of validation: do the arguments fit the contract? Answers with all findings at once."""

from typing import Any

import msgspec
from msgspec import UNSET

from gerbang.contract.catalogue import Catalogue, Entry, Missing
from gerbang.contract.coerce import coerce
from gerbang.contract.fix import certain_fix, with_names
from gerbang.contract.schema import findings, pointer
from gerbang.limits import MAX_ARGUMENT_BYTES, MAX_CODE_TEXT, MAX_FINDINGS
from gerbang.values import CallError, InvalidField, Proposal, ValidCall
from gerbang.values.canonical import NotCanonical, canonical
from gerbang.values.sentences import field as finding
from gerbang.values.sentences import said


def check(entry: Entry, proposal: Proposal) -> ValidCall | CallError:
    """Return the call as it may run, or the error that tells the model what to mend.

    Never raises on any arguments. Linear in their size.
    """
    if proposal.fault is not None:
        return proposal.fault
    arguments = proposal.arguments
    if not isinstance(arguments, dict):
        return said("validation_error", "WRONG_TYPE", entry="WRONG_TYPE/arguments", recoverable=True)
    contract = entry.contract
    try:
        text = canonical(arguments)
    except NotCanonical as error:
        return _not_json(error)
    if len(text) > MAX_ARGUMENT_BYTES:
        return _too_large(len(text))
    try:
        fits = entry.validator.is_valid(arguments)
    except ValueError:  # a kind of text or number of the caller's own: plain JSON says the same
        arguments = msgspec.json.decode(text)
        fits = entry.validator.is_valid(arguments)
    if contract.runtime_fields and not contract.runtime_fields.isdisjoint(arguments):
        return _runtime_owned(entry, arguments)
    if fits:
        return ValidCall(proposal, contract, arguments, text)
    mended, changed = coerce(contract.parameters, arguments)
    if changed and entry.validator.is_valid(mended):
        try:
            return ValidCall(proposal, contract, mended, canonical(mended), changed)
        except NotCanonical as error:  # a JSON text inside a string can be deeper than arguments may be
            return _not_json(error)
    return _invalid(entry, arguments)


def unknown_tool(catalogue: Catalogue, name: str) -> CallError:
    """Return the error for a name that the catalogue does not give: retired, changed since it was approved,
    or unknown, with the nearest that it has.
    """
    missing = catalogue.missing(name)
    if missing is not None:
        return _missing(missing)
    near = catalogue.nearest(name)
    entry = "TOOL_UNKNOWN/near" if near else "TOOL_UNKNOWN" if catalogue.names else "TOOL_UNKNOWN/none"
    return said(
        "unknown_tool",
        "TOOL_UNKNOWN",
        {"name": repr(name[:MAX_CODE_TEXT]), "near": near[0] if near else ""},
        entry=entry,
        recoverable=True,
        available=near or tuple(sorted(catalogue.names)[:20]),
    )


def _missing(missing: Missing) -> CallError:
    name, successor = missing.entry.contract.name, missing.successor
    if missing.why == "changed":
        return said("permission_denied", "TOOL_CHANGED", {"name": name})
    return said(
        "unknown_tool",
        "TOOL_RETIRED",
        {"name": name, "successor": successor or ""},
        entry="TOOL_RETIRED" if successor else "TOOL_RETIRED/none",
        recoverable=True,
        available=(successor,) if successor else (),
    )


def output_findings(entry: Entry, value: Any) -> tuple[InvalidField, ...]:
    """Return what is wrong with a tool's result by its own output schema; empty when there is none."""
    if entry.returns is None or entry.returns.is_valid(value):
        return ()
    return findings(entry.returns, value)[0]


def _invalid(entry: Entry, arguments: dict[str, Any]) -> CallError:
    fields, total = findings(entry.validator, arguments)
    codes = {field.code for field in fields}
    known = ", ".join(entry.contract.parameters["properties"])
    params: dict[str, str | int | float] = {
        "tool": entry.contract.name,
        "names": ", ".join(field.path.removeprefix("/") or "arguments" for field in fields[:5]),
        "known": known[:500],
        "shown": MAX_FINDINGS,
        "total": total,
    }
    missing = "MISSING_FIELD" in codes
    sentence = "arguments/many" if total > len(fields) else "arguments"
    return said(
        "validation_error",
        "MISSING_FIELD" if missing else fields[0].code if fields else "SCHEMA_MISMATCH",
        params,
        entry=sentence if known else "arguments/none",
        recoverable=True,
        invalid_fields=with_names(entry, arguments, fields),
        fix=certain_fix(entry, arguments, fields) or UNSET,
    )


def _not_json(error: NotCanonical) -> CallError:
    entry = "CALL_TOO_LARGE/members" if error.code == "CALL_TOO_LARGE" else error.code
    return said(
        "validation_error",
        error.code,
        entry=entry,
        message=str(error),
        recoverable=True,
        invalid_fields=(InvalidField(error.path, error.code, str(error)),),
    )


def _too_large(size: int) -> CallError:
    return said(
        "validation_error",
        "CALL_TOO_LARGE",
        {"size": size, "limit": MAX_ARGUMENT_BYTES},
        entry="CALL_TOO_LARGE/bytes",
        recoverable=True,
    )


def _runtime_owned(entry: Entry, arguments: dict[str, Any]) -> CallError:
    """Refuse what the model may not send, and name what else is wrong in the same answer."""
    owned = entry.contract.runtime_fields
    names = sorted(owned.intersection(arguments))
    rest = {name: value for name, value in arguments.items() if name not in owned}
    others = () if entry.validator.is_valid(rest) else findings(entry.validator, rest)[0]
    fields = (
        *(finding(pointer([name]), "RUNTIME_OWNED_FIELD", "runtime") for name in names),
        *others[: MAX_FINDINGS - 1],
    )
    return said(
        "validation_error",
        "RUNTIME_OWNED_FIELD",
        {"names": ", ".join(names)},
        recoverable=True,
        invalid_fields=fields,
        fix=certain_fix(entry, arguments, fields) or UNSET,
    )
