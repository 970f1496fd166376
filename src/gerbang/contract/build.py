"""Making a contract: everything that can be wrong with a definition is found here, when it is loaded."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from gerbang.contract.schema import compile_schema
from gerbang.contract.wire import check_name
from gerbang.errors import ContractError
from gerbang.limits import RESULT_MAX_CHARS, TOOL_TIMEOUT_S
from gerbang.values import Contract, RiskClass
from gerbang.values.canonical import NotCanonical, digest
from gerbang.values.contract_parts import Exposure
from gerbang.values.secret import NAME_RULE, is_secret_name

_MAX_TIMEOUT_S: Final = 86_400.0
_MAX_COST: Final = 1e9


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
    secrets: Iterable[str] = (),
) -> Contract:
    """Return a checked contract with its digest. `origin` names the place of the definition in errors.

    Raises ContractError: unknown or missing risk class, bad name, schema that is not an object's or
    does not compile, a field named that the schema does not have, or a bound out of range.
    """
    where = origin or f"tool {str(name)[:80]!r}"
    check_name(name, where)
    _check_kinds(where, description, parameters, returns)
    if parameters.get("type", "object") != "object":
        raise ContractError(f'{where}: parameters must be a JSON Schema with "type": "object".')
    try:
        closed = close_objects({"type": "object", "properties": {}, **parameters})
    except RecursionError:
        raise ContractError(f"{where}: the JSON Schema is nested too deeply.") from None
    compile_schema(closed, where)
    if returns is not None:
        compile_schema(returns, where)
    _check_bounds(where, timeout_s, result_max_chars, cost_units)
    keyed, hidden = _names(natural_key, "natural_key", where), _names(sensitive, "sensitive", where)
    filled, wanted = _names(runtime_fields, "runtime_fields", where), _names(intents, "intents", where)
    _check_fields(closed, where, {"natural_key": keyed, "sensitive": hidden}, filled)
    contract = Contract(
        name=name,
        risk=_risk(risk, where),
        description=" ".join(description.split()) if "\n" not in description else description.strip(),
        parameters=closed,
        returns=returns,
        timeout_s=float(timeout_s),
        result_max_chars=result_max_chars,
        runtime_fields=frozenset(filled),
        natural_key=keyed,
        sensitive=frozenset(hidden),
        expose=Exposure(intents=frozenset(wanted)),
        cost_units=float(cost_units),
        origin=where,
        annotations=dict(annotations or {}),
        secrets=_secrets(secrets, where),
    )
    return replace(contract, digest=_digest(contract, where))


def _check_fields(
    schema: dict[str, Any], where: str, named: Mapping[str, Iterable[str]], filled: Iterable[str]
) -> None:
    """Refuse fields that are named but no parameters, and those of the runtime that are."""
    known = schema["properties"].keys()
    for label, fields in named.items():
        for field in fields:
            if field not in known:
                raise ContractError(f"{where}: {label} names {field!r}, which is not a parameter.")
    for field in filled:
        if field in known or field in schema.get("required", ()):
            raise ContractError(
                f"{where}: {field!r} is filled by the runtime: it cannot be a parameter as well."
            )


def close_objects(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with every plainly described object closed (`additionalProperties: false`).

    Objects that say something about other properties themselves, or are composed, are left as they are;
    so are definitions, when some part of the schema puts them together with further properties.
    """
    closed: dict[str, Any] = _close(schema, not _composes(schema))
    return closed


_MIXES: Final = frozenset({"allOf", "if", "not", "dependentSchemas", "$dynamicRef"})
_REFERS: Final = frozenset({"$ref", "anyOf", "oneOf"})
_COMPOSED: Final = _MIXES | _REFERS | {"patternProperties", "unevaluatedProperties"}
_MAPS: Final = ("properties", "$defs")
_LISTS: Final = ("prefixItems", "anyOf", "oneOf")
_SINGLES: Final = ("items", "additionalProperties")


def _close(schema: Any, definitions: bool) -> Any:
    if not isinstance(schema, dict):
        return schema
    closed = dict(schema)
    for key in _MAPS:
        members = closed.get(key)
        if isinstance(members, dict) and (definitions or key != "$defs"):
            closed[key] = {name: _close(item, definitions) for name, item in members.items()}
    for key in _LISTS:
        branches = closed.get(key)
        if isinstance(branches, list) and (key == "prefixItems" or "properties" not in closed):
            closed[key] = [_close(item, definitions) for item in branches]
    for key in _SINGLES:
        if isinstance(closed.get(key), dict):
            closed[key] = _close(closed[key], definitions)
    plain = isinstance(closed.get("properties"), dict) and _COMPOSED.isdisjoint(closed)
    if plain and "additionalProperties" not in closed:
        closed["additionalProperties"] = False
    return closed


def _composes(schema: Any) -> bool:
    """Tell whether a closed definition could clash with properties that stand elsewhere."""
    if isinstance(schema, list):
        return any(_composes(item) for item in schema)
    if not isinstance(schema, dict):
        return False
    if not _MIXES.isdisjoint(schema) or ("properties" in schema and not _REFERS.isdisjoint(schema)):
        return True
    return any(_composes(item) for item in schema.values())


def _check_kinds(where: str, description: Any, parameters: Any, returns: Any) -> None:
    if not isinstance(description, str):
        raise ContractError(f"{where}: the description must be text.")
    if not isinstance(parameters, dict):
        raise ContractError(f"{where}: parameters must be a JSON Schema, not a {type(parameters).__name__}.")
    if returns is not None and not isinstance(returns, dict):
        raise ContractError(f"{where}: returns must be a JSON Schema, not a {type(returns).__name__}.")


def _check_bounds(where: str, timeout_s: Any, result_max_chars: Any, cost_units: Any) -> None:
    if not _is_number(timeout_s) or not 0 < timeout_s <= _MAX_TIMEOUT_S:
        raise ContractError(
            f"{where}: timeout_s must be a number above 0 and at most {_MAX_TIMEOUT_S:.0f} (seconds)."
        )
    if not _is_number(result_max_chars) or isinstance(result_max_chars, float) or result_max_chars < 1:
        raise ContractError(f"{where}: result_max_chars must be a whole number, at least 1.")
    if not _is_number(cost_units) or not 0 <= cost_units <= _MAX_COST:
        raise ContractError(f"{where}: cost_units must be a number from 0 to {_MAX_COST:.0f}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _names(value: Any, label: str, where: str) -> tuple[str, ...]:
    """Return names as a tuple. One text is refused: it would be read letter by letter."""
    names = value if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise ContractError(f"{where}: {label} takes a list of names.")
    return names


def _secrets(value: Any, where: str) -> tuple[str, ...]:
    names = sorted(set(_names(value, "secrets", where)))
    for name in names:
        if not is_secret_name(name):
            raise ContractError(f"{where}: {name[:80]!r} cannot name a secret: {NAME_RULE}")
    return tuple(names)


def _risk(risk: str | RiskClass | None, where: str) -> RiskClass:
    try:
        return RiskClass(risk)  # type: ignore[arg-type]  # None and foreign types fail like unknown words
    except ValueError:
        said = "no risk class is given" if risk is None else f"{str(risk)[:60]!r} is not a risk class"
        raise ContractError(f"{where}: {said}. Use one of: {', '.join(RiskClass)}.") from None


_JSON: Final = frozenset({"parameters", "returns", "annotations"})  # written as they are, or refused
_DEFAULTS: Final = {
    field.name: field.default
    for field in msgspec.structs.fields(Contract)
    if field.name not in ("origin", "digest")
}


def _short(value: Any) -> Any:
    """Write whole seconds as integers: their canonical text is the same, and found much faster."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _digest(contract: Contract, where: str) -> str:
    facts = {
        name: value if name in _JSON else _short(msgspec.to_builtins(value, order="sorted"))
        for name, default in _DEFAULTS.items()
        if (value := getattr(contract, name)) != default
    }
    try:
        return digest(facts)
    except NotCanonical as error:
        raise ContractError(
            f"{where}: the definition is not JSON at {error.path or 'the top'}: {error}"
        ) from None
