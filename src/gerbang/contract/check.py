"""Layer 1 of validation: do the arguments fit the contract? Answers with all findings at once."""

from typing import Any

import msgspec

from gerbang.contract.catalogue import Catalogue, Entry
from gerbang.contract.coerce import coerce
from gerbang.contract.schema import findings, pointer
from gerbang.limits import MAX_ARGUMENT_BYTES, MAX_CODE_TEXT, MAX_FINDINGS
from gerbang.values import CallError, InvalidField, Proposal, ValidCall
from gerbang.values.canonical import NotCanonical, canonical


def check(entry: Entry, proposal: Proposal) -> ValidCall | CallError:
    """Return the call as it may run, or the error that tells the model what to mend.

    Never raises on any arguments. Linear in their size.
    """
    if proposal.fault is not None:
        return proposal.fault
    arguments = proposal.arguments
    if not isinstance(arguments, dict):
        return CallError(
            "validation_error",
            "WRONG_TYPE",
            "The arguments must be one JSON object.",
            recoverable=True,
            suggested_fix="Send the arguments as an object with the tool's fields.",
        )
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
    """Return the error for a name that the catalogue does not have, with the nearest that it has."""
    names = catalogue.names
    near = catalogue.nearest(name)
    shown = near or tuple(sorted(names)[:20])
    hint = f"Did you mean {near[0]}?" if near else "Use one of the listed tools."
    return CallError(
        "unknown_tool",
        "TOOL_UNKNOWN",
        f"There is no tool called {name[:MAX_CODE_TEXT]!r}.",
        recoverable=True,
        suggested_fix=hint if names else "No tools are available: answer without one.",
        available=shown,
    )


def output_findings(entry: Entry, value: Any) -> tuple[InvalidField, ...]:
    """Return what is wrong with a tool's result by its own output schema; empty when there is none."""
    if entry.returns is None or entry.returns.is_valid(value):
        return ()
    return findings(entry.returns, value)[0]


def _invalid(entry: Entry, arguments: dict[str, Any]) -> CallError:
    fields, total = findings(entry.validator, arguments)
    codes = {field.code for field in fields}
    more = f" (the first {MAX_FINDINGS} of {total})" if total > len(fields) else ""
    names = ", ".join(field.path.removeprefix("/") or "arguments" for field in fields[:5])
    missing = "MISSING_FIELD" in codes
    known = ", ".join(entry.contract.parameters["properties"]) or "none"
    return CallError(
        "validation_error",
        "MISSING_FIELD" if missing else fields[0].code if fields else "SCHEMA_MISMATCH",
        f"The arguments do not fit {entry.contract.name}{more}: {names}.",
        recoverable=True,
        suggested_fix=f"Mend the listed fields and send the call again. Fields of this tool: {known[:500]}.",
        invalid_fields=fields,
    )


def _not_json(error: NotCanonical) -> CallError:
    return CallError(
        "validation_error",
        error.code,
        str(error),
        recoverable=True,
        suggested_fix="Send plain JSON values.",
        invalid_fields=(InvalidField(error.path, error.code, str(error)),),
    )


def _too_large(size: int) -> CallError:
    return CallError(
        "validation_error",
        "CALL_TOO_LARGE",
        f"The arguments are {size} bytes; the limit is {MAX_ARGUMENT_BYTES}.",
        recoverable=True,
        suggested_fix="Send less, or in several calls.",
    )


def _runtime_owned(entry: Entry, arguments: dict[str, Any]) -> CallError:
    """Refuse what the model may not send, and name what else is wrong in the same answer."""
    owned = entry.contract.runtime_fields
    names = sorted(owned.intersection(arguments))
    rest = {name: value for name, value in arguments.items() if name not in owned}
    others = () if entry.validator.is_valid(rest) else findings(entry.validator, rest)[0]
    return CallError(
        "validation_error",
        "RUNTIME_OWNED_FIELD",
        f"These fields are filled by the runtime and cannot be sent: {', '.join(names)}.",
        recoverable=True,
        suggested_fix="Leave these fields out.",
        invalid_fields=(
            *(
                InvalidField(pointer([name]), "RUNTIME_OWNED_FIELD", "Filled by the runtime.")
                for name in names
            ),
            *others[: MAX_FINDINGS - 1],
        ),
    )
