"""Making a contract: everything that can be wrong with a definition is found here, when it is loaded."""

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, Unpack

import msgspec
from msgspec.structs import replace

from gerbang.contract.closing import close_objects
from gerbang.contract.consistent import check_consistent
from gerbang.contract.contradiction import contradiction
from gerbang.contract.document import ContractDocument, read_document
from gerbang.contract.fields import ContractFields
from gerbang.contract.schema import compile_schema
from gerbang.contract.versions import group_of
from gerbang.contract.wire import check_name
from gerbang.errors import ContractError
from gerbang.limits import MAX_ARGUMENT_DEPTH, TOOL_TIMEOUT_S
from gerbang.values import Contract, RiskClass
from gerbang.values.canonical import NotCanonical, digest, digest_of_plain, is_plain
from gerbang.values.contract_parts import Exposure, Guidance, ResourceRef, SideEffects


def make_contract(
    *,
    name: str,
    risk: str | RiskClass | None,
    description: str,
    parameters: dict[str, Any],
    origin: str = "",
    **more: Unpack[ContractFields],
) -> Contract:
    """Return a checked contract with its digest. `origin` names the place of the definition in errors.

    Raises ContractError: unknown or missing risk class, bad name, schema that is not an object's or
    does not compile, a field named that the schema does not have, or a value of a wrong type or out of range.
    """
    where = origin or f"tool {str(name)[:80]!r}"
    given = {"name": name, "risk": risk, "description": description, "parameters": parameters}
    fields = {key: value if key in _JSON else _plain(value) for key, value in more.items()}
    return contract_of(read_document(given | fields, where, ContractDocument), where)


def contract_of(document: ContractDocument, where: str) -> Contract:
    """Return the contract that a document describes. Raises ContractError like `make_contract`."""
    check_name(document.name, where)
    schema = _closed(document.parameters, where)
    if document.returns is not None:
        compile_schema(document.returns, f"{where}: returns")
    if document.timeout_ms is not None and document.timeout_s != TOOL_TIMEOUT_S:
        raise ContractError(f"{where}: timeout_s and timeout_ms say the same; leave one out.")
    text = document.description
    roles = _roles(document)
    contract = Contract(
        name=document.name,
        risk=document.risk,
        description=" ".join(text.split()) if "\n" not in text else text.strip(),
        parameters=schema,
        returns=document.returns,
        timeout_s=document.timeout_s if document.timeout_ms is None else document.timeout_ms / 1000,
        result_max_chars=document.result_max_chars,
        runtime_fields=document.runtime_fields | roles["runtime"] | _key_field(document),
        natural_key=document.natural_key,
        sensitive=document.sensitive | roles["sensitive"],
        cost_units=document.cost_units,
        origin=where,
        annotations=document.annotations,
        secrets=tuple(sorted(set(document.secrets))),
        control=document.control | roles["control"],
        content=document.content | roles["content"],
        resources=_resources(document, where),
        group=document.group or group_of(document.name),
        expose=_exposure(document, where),
        **{name: getattr(document, name) for name in _SAME},
    )
    check_consistent(contract, where)
    for place, given in (("parameters", schema), ("returns", document.returns)):
        said = None if given is None else contradiction(given)
        if said is not None:
            raise ContractError(f"{where}: {place}: the JSON Schema contradicts itself: {said}.")
    return sealed(contract)


def sealed(contract: Contract) -> Contract:
    """Return the contract with the digest of what it says now. Raises ContractError when that is not JSON."""
    return replace(contract, digest=_digest(contract, contract.origin))


_FIELDS: Final = [
    field for field in msgspec.structs.fields(Contract) if field.name not in ("origin", "digest")
]
_DIGESTED: Final = tuple(field.name for field in _FIELDS)
_DEFAULTS: Final = tuple({} if field.default_factory is dict else field.default for field in _FIELDS)
_FACTS: Final = attrgetter(*_DIGESTED)
_QUIET: Final = frozenset({str, bool, frozenset, RiskClass, Guidance, Exposure})
"""Types of fields that hold nothing but texts and flags: their sorted JSON is canonical as it is."""
_DEPTH: Final = MAX_ARGUMENT_DEPTH - 1  # they stand inside the contract
_JSON: Final = frozenset({"parameters", "returns", "annotations"})  # written as they are, or refused
_SAME: Final = (
    *("guidance", "side_effects", "retry", "honours_key", "key_argument", "probe", "concurrency", "rate"),
    "key_namespace",
    *("idle_timeout_s", "cancellation", "partial_result", "error_categories", "owner", "data_class"),
    *("scopes", "validators", "facts", "deprecated", "replaced_by", "retired", "body"),
)


def _plain(value: Any) -> Any:
    """Return a keyword's value as it would stand in a file. A generator is read once, here."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    return value


def _closed(given: dict[str, Any], where: str) -> dict[str, Any]:
    if given.get("type", "object") != "object":
        raise ContractError(f'{where}: parameters must be a JSON Schema with "type": "object".')
    try:
        closed = close_objects({"type": "object", "properties": {}, **given})
    except RecursionError:
        raise ContractError(f"{where}: the JSON Schema is nested too deeply.") from None
    compile_schema(closed, f"{where}: parameters")
    return closed


def _roles(document: ContractDocument) -> dict[str, frozenset[str]]:
    """Sort the arguments by what `arguments` says of each."""
    found: dict[str, set[str]] = {"control": set(), "content": set(), "runtime": set(), "sensitive": set()}
    for name, argument in document.arguments.items():
        if argument.role is not None:
            found[argument.role].add(name)
        if argument.sensitive:
            found["sensitive"].add(name)
    return {role: frozenset(names) for role, names in found.items()}


def _key_field(document: ContractDocument) -> frozenset[str]:
    return frozenset() if document.key_argument is None else frozenset({document.key_argument})


def _resources(document: ContractDocument, where: str) -> dict[str, ResourceRef]:
    found = dict(document.resources)
    for name, argument in document.arguments.items():
        if argument.resource is None:
            continue
        if name in found:
            raise ContractError(f"{where}: {name!r} stands in resources and has a resource in arguments.")
        said = argument.resource
        found[name] = ResourceRef(said) if isinstance(said, str) else said
    return found


def _exposure(document: ContractDocument, where: str) -> Exposure:
    if not document.intents:
        return document.expose
    if document.expose.intents:
        raise ContractError(f"{where}: intents and expose.intents say the same; leave one out.")
    return replace(document.expose, intents=document.intents)


def _short(value: Any) -> Any:
    """Write whole seconds as integers: their canonical text is the same, and found much faster."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_quiet(value: Any) -> bool:
    """Tell whether the sorted JSON of a field's value is canonical as it is."""
    if type(value) is SideEffects:
        return value.approval_s is None
    if type(value) is dict and all(type(item) is ResourceRef for item in value.values()):
        return all(map(str.isascii, value))
    return is_plain(value, max_depth=_DEPTH)


def _digest(contract: Contract, where: str) -> str:
    facts: dict[str, Any] = {}
    plain = True
    for name, value, default in zip(_DIGESTED, _FACTS(contract), _DEFAULTS, strict=True):
        if value is not default and value != default:
            facts[name] = value = _short(value)
            plain = plain and (type(value) in _QUIET or _is_quiet(value))
    try:
        if plain:
            return digest_of_plain(facts)
        for name, value in facts.items():
            if name not in _JSON:
                facts[name] = msgspec.to_builtins(value, order="sorted")
        return digest(facts)
    except NotCanonical as error:
        raise ContractError(
            f"{where}: the definition is not JSON at {error.path or 'the top'}: {error}"
        ) from None
