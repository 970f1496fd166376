"""What a program gives to a gateway: addresses or objects, a policy or none, arguments as dict or text."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from gerbang import parse
from gerbang.adapters.approvals.folder_files import FolderFiles
from gerbang.compose.policy import Policy
from gerbang.contract.risk_facts import WorkingHours
from gerbang.contract.semantic import SemanticValidator
from gerbang.contract.validators import SHIPPED
from gerbang.errors import UsageError
from gerbang.ledger.keys import runtime_key
from gerbang.limits import MAX_ARGUMENT_BYTES
from gerbang.policy.rules import DenyAll
from gerbang.ports import ApproverLike, Clock, FileReader, Secrets, Store
from gerbang.ports import Policy as PolicyPort
from gerbang.runtime import refusals
from gerbang.runtime.lookups import Lookup
from gerbang.runtime.session import RunSession
from gerbang.values import CallError, Proposal, RiskClass, StepId
from gerbang.values.canonical import copied
from gerbang.values.text import clean_text

Named = Mapping[str, Lookup]
"""Functions that look something up, by name."""

OMITTED: Final = object()
"""Stands for a policy that was not given: the shipped one is meant, not none."""


def read_arguments(text: str) -> tuple[dict[str, Any], CallError | None]:
    """Return the arguments that a text says, or the error for the model."""
    if len(text) > MAX_ARGUMENT_BYTES:
        said = f"The arguments are {len(text)} characters; the limit is {MAX_ARGUMENT_BYTES}."
        return {}, refusals.unreadable("CALL_TOO_LARGE", said)
    arguments, fault = parse.arguments_from_json(text)
    if arguments is None:
        code, message = fault or ("CALL_NOT_JSON", "The arguments are not a JSON object.")
        return {}, refusals.unreadable(code, message)
    return arguments, None


def propose(
    session: RunSession, tool: str, arguments: dict[str, Any] | str, step: StepId, ordinal: int
) -> Proposal:
    """Return a program's call as a proposal: the same untrusted thing as a model's."""
    fault: CallError | None = None
    if isinstance(arguments, str):
        given, fault = read_arguments(arguments)
    else:
        given = copied(arguments)  # the caller may go on changing theirs
    return Proposal(
        session.run_id,
        step,
        ordinal,
        f"call_{runtime_key(session.principal.tenant, session.run_id, step, ordinal)[:12]}",
        session.catalogue.name_of(clean_text(str(tool))),
        given if fault is None else None,
        fault,
    )


def read_calls(calls: Any) -> list[tuple[str, Any]]:
    """Return the calls of an answer as pairs. Raises UsageError for what is none."""
    if isinstance(calls, str | Mapping) or not isinstance(calls, Iterable):
        raise UsageError("calls is a list of (tool name, arguments).")
    found = list(calls)
    for one in found:
        if not isinstance(one, list | tuple) or len(one) != 2 or not isinstance(one[0], str):
            raise UsageError(f"{one!r:.80} is no call. Give each as (tool name, arguments).")
    return found


def open_store(store: "str | Store", clock: Clock, seal: str | None = None) -> Store:
    """Return the store of an address, which goes by `clock`, or the one given. `seal`: see `Gateway`.

    Raises UsageError for what is no store, or a clock that is none.
    """
    if seal is not None and not isinstance(seal, str):
        raise UsageError(f"seal takes an address such as 'file:PATH', or None, not {seal!r:.80}.")
    _can(clock, "clock", "an object such as gerbang.testing.ManualClock, or None", "now", "monotonic")
    if not isinstance(store, str):
        _can(
            store,
            "store",
            "an address such as 'sqlite:gerbang.db' or 'memory:', or a Store",
            "open",
            "commit",
        )
    if not isinstance(store, str) and seal is None:
        return store
    from gerbang.adapters import stores

    if isinstance(store, str):
        return stores.open_store(store, clock, seal)
    return stores.sealed_by(store, seal or "")


def _can(given: object, name: str, wanted: str, *methods: str) -> None:
    if isinstance(given, type) or not all(callable(getattr(given, method, None)) for method in methods):
        raise UsageError(f"{name} takes {wanted}, not {given!r:.80}.")


def open_secrets(secrets: "str | Secrets") -> Secrets:
    """Return the secrets of an address, or those given. Raises UsageError."""
    if not isinstance(secrets, str):
        if not callable(getattr(secrets, "get", None)):
            raise UsageError("secrets takes an address, such as env:, or an object with get(name).")
        return secrets
    from gerbang.adapters import secrets as stores_of_secrets

    return stores_of_secrets.open_secrets(secrets)


def policy_of(policy: Any) -> PolicyPort:
    """Return the policy that is meant. Raises UsageError."""
    if policy is OMITTED:
        return Policy.default()
    if policy is None:
        return DenyAll()
    if not callable(getattr(policy, "decide", None)):
        raise UsageError(
            "policy takes a Policy, such as Policy.load('rules.yaml') or Policy.default(), "
            "or None to deny everything."
        )
    found: PolicyPort = policy
    return found


def read_risk(value: str) -> RiskClass:
    """Return the risk class of that name. Raises UsageError."""
    try:
        return RiskClass(value)
    except ValueError:
        raise UsageError(
            f"max_risk: {str(value)[:60]!r} is not a risk class. Use one of: {', '.join(RiskClass)}."
        ) from None


def read_approver(approver: "str | ApproverLike | None", secrets: Secrets) -> Any:
    """Return who is asked: as given, or a webhook of that address. Raises UsageError."""
    if isinstance(approver, str):
        from gerbang.adapters.approvals.webhook import Webhook

        approver = Webhook(approver)
    use = getattr(approver, "use_secrets", None)
    if use is not None:
        use(secrets)
    if approver is not None and not callable(getattr(approver, "ask", approver)):
        raise UsageError(
            "approver takes a function, an object with ask(request), or the address of a webhook."
        )
    return approver


def read_seconds(name: str, value: float) -> float:
    """Return a number of seconds. Raises UsageError."""
    if type(value) not in (int, float) or not 0 < value <= 1e9:
        raise UsageError(f"{name} is a number of seconds above 0, not {value!r}.")
    return float(value)


def read_lookups(readers: Any, owners: Any, facts: Any) -> tuple[Named, Named, Named]:
    """Return functions by name: readers, owners, facts. Raises UsageError for what is none."""
    for name, given in (("readers", readers), ("owners", owners), ("facts", facts)):
        named = isinstance(given, Mapping) and all(isinstance(key, str) for key in given)
        if given is not None and not (named and all(map(callable, given.values()))):
            raise UsageError(f"{name} takes a dict of names and functions, not {given!r:.80}.")
    return readers or {}, owners or {}, facts or {}


def read_validators(validators: Any) -> dict[str, SemanticValidator]:
    """Return the checks that contracts may name, those that ship among them. Raises UsageError."""
    given = list(validators) if isinstance(validators, Iterable) else [validators]
    for one in given:
        if not isinstance(one, SemanticValidator):
            raise UsageError(f"validators takes gerbang.SemanticValidator objects, not {one!r:.80}.")
    return {**SHIPPED, **{one.name: one for one in given}}


def read_hours(hours: Any) -> WorkingHours | None:
    """Return when people are there. Raises UsageError."""
    if hours is None or isinstance(hours, WorkingHours):
        return hours
    raise UsageError(f"hours takes gerbang.WorkingHours or None, not {hours!r:.80}.")


def read_files(files: Any) -> FileReader:
    """Return what reads the files that calls name: of a folder, or as given. Raises UsageError."""
    if files is None or isinstance(files, str | Path):
        return FolderFiles(files)
    _can(files, "files", "the path of a folder, or an object with digests(named)", "digests")
    reader: FileReader = files
    return reader
