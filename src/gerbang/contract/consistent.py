"""What the fields of a contract say about each other: names that must exist, claims that exclude others."""

from collections.abc import Iterable, Mapping
from typing import Final

from gerbang.contract.explain import nearest
from gerbang.contract.wire import check_name
from gerbang.errors import ContractError
from gerbang.values import Contract
from gerbang.values.contract_parts import Probe
from gerbang.values.failure import ERROR_TYPES
from gerbang.values.secret import NAME_RULE, is_secret_name

_OTHERS: Final = frozenset({"guidance.alternatives", "replaced_by", "probe.tool"})
CALL_KEY: Final = "@key"
"""In a probe's arguments: the idempotency key of the call."""


def check_consistent(contract: Contract, where: str) -> None:
    """Raise ContractError when fields of the contract contradict each other or name what is not there."""
    _check_arguments(contract, where)
    _check_names(contract, where)
    _check_effects(contract, where)
    _check_times(contract, where)
    if contract.probe is not None:
        _check_probe(contract, contract.probe, where)


def _check_arguments(contract: Contract, where: str) -> None:
    """Refuse fields that are named but no parameters, and those of the runtime that are."""
    schema = contract.parameters
    known = schema["properties"]
    named: Mapping[str, Iterable[str]] = {
        "natural_key": contract.natural_key,
        "sensitive": sorted(contract.sensitive),
        "control": sorted(contract.control),
        "content": sorted(contract.content),
        "resources": contract.resources,
    }
    for label, fields in named.items():
        for field in fields:
            if field not in known:
                raise ContractError(
                    f"{where}: {label} names {field!r}, which is not a parameter{nearest(field, known)}."
                )
    if contract.key_namespace and not contract.natural_key:
        raise ContractError(f"{where}: key_namespace is of no use without natural_key: name its arguments.")
    for field in sorted(contract.runtime_fields):
        if field in known or field in schema.get("required", ()):
            raise ContractError(
                f"{where}: {field!r} is filled by the runtime: it cannot be a parameter as well."
            )
    both = contract.control & contract.content
    if both:
        raise ContractError(f"{where}: {min(both)!r} cannot be both control and content.")


def _check_names(contract: Contract, where: str) -> None:
    effects = contract.side_effects
    action = None if effects is None else effects.compensating_action
    tools = {
        "guidance.alternatives": contract.guidance.alternatives,
        "replaced_by": () if contract.replaced_by is None else (contract.replaced_by,),
        "side_effects.compensating_action": () if action is None else (action,),
        "probe.tool": () if contract.probe is None else (contract.probe.tool,),
        "group": () if f"{contract.name}.".startswith(f"{contract.group}.") else (contract.group,),
    }
    for label, names in tools.items():
        for name in names:
            check_name(name, f"{where}: {label}")
            if name == contract.name and label in _OTHERS:
                raise ContractError(f"{where}: {label} names the tool itself.")
    for name in contract.secrets:
        if not is_secret_name(name):
            raise ContractError(f"{where}: {name[:80]!r} cannot name a secret: {NAME_RULE}")
    for name in contract.error_categories:
        if name not in ERROR_TYPES:
            raise ContractError(
                f"{where}: error_categories: {name!r} is no error type{nearest(name, ERROR_TYPES)}."
            )


def _check_effects(contract: Contract, where: str) -> None:
    effects = contract.side_effects
    if effects is None:
        return
    if contract.risk.is_read and (effects.kind != "none" or effects.resources):
        raise ContractError(
            f"{where}: side_effects says {effects.kind!r}, but the class {contract.risk} changes nothing. "
            "Choose a class that writes, or the kind 'none'."
        )
    if effects.reversible == "no" and effects.compensating_action is not None:
        raise ContractError(
            f"{where}: side_effects: what is not reversible has no compensating_action; "
            "say 'partially', or leave the action out."
        )


def _check_times(contract: Contract, where: str) -> None:
    if contract.retry.base_ms > contract.retry.max_ms:
        raise ContractError(f"{where}: retry.base_ms is above retry.max_ms.")
    if contract.idle_timeout_s is not None and contract.idle_timeout_s > contract.timeout_s:
        raise ContractError(f"{where}: idle_timeout_s is above the time-out of the whole call.")


def _check_probe(contract: Contract, probe: Probe, where: str) -> None:
    known = contract.parameters["properties"]
    if contract.risk.is_read:
        raise ContractError(f"{where}: probe: a reading tool is repeated, not probed; leave the probe out.")
    for name, source in probe.arguments.items():
        if source != CALL_KEY and source not in known:
            raise ContractError(
                f"{where}: probe.arguments.{name} takes {source!r}, which is not a parameter"
                f"{nearest(source, known)}. A fixed value stands in probe.values."
            )
    both = probe.arguments.keys() & probe.values.keys()
    if both:
        raise ContractError(f"{where}: probe: {min(both)!r} stands in arguments and in values.")
    if probe.happened == probe.not_happened:
        raise ContractError(f"{where}: probe: happened and not_happened are the same condition.")
    for label, condition in (("happened", probe.happened), ("not_happened", probe.not_happened)):
        if condition.path and not condition.path.startswith("/"):
            raise ContractError(
                f"{where}: probe.{label}.path: {condition.path[:80]!r} must be a JSON Pointer, as '/state'."
            )
        if condition.test == "in" and not isinstance(condition.value, list):
            raise ContractError(f"{where}: probe.{label}.value: the test 'in' takes a list.")
