"""Short ways to a contract, an entry and a proposal."""

from typing import Any

from gerbang.contract.build import make_contract
from gerbang.contract.catalogue import Catalogue, Entry
from gerbang.contract.check import check
from gerbang.values import CallError, Contract, Proposal, ValidCall


def contract(parameters: dict[str, Any] | None = None, **changes: Any) -> Contract:
    given = {"name": "box.open.v1", "risk": "read_internal", "description": "Opens a box."}
    return make_contract(**{**given, "parameters": {} if parameters is None else parameters, **changes})


def entry(parameters: dict[str, Any] | None = None, **changes: Any) -> Entry:
    return next(iter(Catalogue([contract(parameters, **changes)])))


def proposal(arguments: Any, name: str = "box.open.v1") -> Proposal:
    return Proposal("r1", 1, 0, "call_1", name, arguments)


def checked(parameters: dict[str, Any], arguments: Any, **changes: Any) -> ValidCall | CallError:
    return check(entry(parameters, **changes), proposal(arguments))


def found(parameters: dict[str, Any], arguments: Any, **changes: Any) -> list[tuple[str, str]]:
    """Return (path, code) of every finding; empty when the call is valid."""
    answer = checked(parameters, arguments, **changes)
    return [] if isinstance(answer, ValidCall) else [(f.path, f.code) for f in answer.invalid_fields]
