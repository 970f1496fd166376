"""Making a contract: everything that can be wrong with a definition is found here, when it is loaded."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from gerbang.contract.schema import compile_schema
from gerbang.contract.wire import check_name
from gerbang.errors import ContractError
from gerbang.limits import RESULT_MAX_CHARS, TOOL_TIMEOUT_S
from gerbang.values import Contract, RiskClass
from gerbang.values.canonical import NotCanonical, digest

_MAX_TIMEOUT_S = 86_400.0


def make_contract(
    *,
    name: str,
    risk: str | RiskClass | None,
    description: str,
    parameters: dict[str, Any],
    returns: dict[str, Any] | None = None,
    timeout_s: float = TOOL_TIMEOUT_S,
    result_max_chars: int = RESULT_MAX_CHARS,
    runtime_fields: Iterable[str] = (),
    natural_key: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    intents: Iterable[str] = (),
    cost_units: float = 0.0,
    origin: str = "",
    annotations: Mapping[str, Any] | None = None,
) -> Contract:
    """Return a checked contract with its digest. `origin` names the place of the definition in errors.

    Raises ContractError: unknown or missing risk class, bad name, schema that is not an object's or
    does not compile, a field named that the schema does not have, or a bound out of range.
    """
    where = origin or f"tool {name!r}"
    check_name(name, where)
    if parameters.get("type", "object") != "object":
        raise ContractError(f'{where}: parameters must be a JSON Schema with "type": "object".')
    closed = close_objects({"type": "object", "properties": {}, **parameters})
    compile_schema(closed, where)
    if returns is not None:
        compile_schema(returns, where)
    if not 0 < timeout_s <= _MAX_TIMEOUT_S:
        raise ContractError(f"{where}: timeout_s must be above 0 and at most {_MAX_TIMEOUT_S:.0f} seconds.")
    if result_max_chars < 1:
        raise ContractError(f"{where}: result_max_chars must be at least 1.")
    known = closed["properties"].keys()
    for label, fields in (("natural_key", natural_key), ("sensitive", sensitive)):
        for field in fields:
            if field not in known:
                raise ContractError(f"{where}: {label} names {field!r}, which is not a parameter.")
    contract = Contract(
        name=name,
        risk=_risk(risk, where),
        description=" ".join(description.split()) if "\n" not in description else description.strip(),
        parameters=closed,
        returns=returns,
        timeout_s=float(timeout_s),
        result_max_chars=result_max_chars,
        runtime_fields=frozenset(runtime_fields),
        natural_key=tuple(natural_key),
        sensitive=frozenset(sensitive),
        intents=frozenset(intents),
        cost_units=cost_units,
        origin=where,
        annotations=dict(annotations or {}),
    )
    return replace(contract, digest=_digest(contract, where))


def close_objects(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with every plainly described object closed (`additionalProperties: false`).

    Objects that say something about other properties themselves, or are composed, are left as they are.
    """
    closed = dict(schema)
    composed = ("allOf", "anyOf", "oneOf", "$ref", "patternProperties", "unevaluatedProperties", "if")
    properties = closed.get("properties")
    if isinstance(properties, dict):
        closed["properties"] = {
            key: close_objects(item) if isinstance(item, dict) else item for key, item in properties.items()
        }
        if "additionalProperties" not in closed and not any(key in closed for key in composed):
            closed["additionalProperties"] = False
    items = closed.get("items")
    if isinstance(items, dict):
        closed["items"] = close_objects(items)
    return closed


def _risk(risk: str | RiskClass | None, where: str) -> RiskClass:
    try:
        return RiskClass(risk)  # type: ignore[arg-type]  # None and foreign types fail like unknown words
    except ValueError:
        said = "no risk class is given" if risk is None else f"{str(risk)[:60]!r} is not a risk class"
        raise ContractError(f"{where}: {said}. Use one of: {', '.join(RiskClass)}.") from None


def _digest(contract: Contract, where: str) -> str:
    facts = {
        "name": contract.name,
        "risk": str(contract.risk),
        "description": contract.description,
        "parameters": contract.parameters,
        "returns": contract.returns,
        "timeout_s": contract.timeout_s,
        "runtime_fields": sorted(contract.runtime_fields),
        "natural_key": list(contract.natural_key),
        "sensitive": sorted(contract.sensitive),
        "cost_units": float(contract.cost_units),
    }
    try:
        return digest(facts)
    except NotCanonical as error:
        raise ContractError(
            f"{where}: the definition is not JSON at {error.path or 'the top'}: {error}"
        ) from None
